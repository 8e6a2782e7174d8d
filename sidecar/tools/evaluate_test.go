package tools_test

import (
	"testing"
)

func TestEvaluate(t *testing.T) {
	b := setUp(t, map[string]string{"/": `<meta http-equiv=Content-Security-Policy content="default-src 'none'"><title>E</title><p id=p>para</p>`})
	b.open("/")
	for code, want := range map[string]string{
		"document.title":                       `"E"`,
		"() => {}":                             "undefined",
		"() => null":                           "null",
		"async () => { await null; return 7 }": "7",
		"() => ({a: NaN, d: new Date(0), m: new Map([[1, 2]])})": "{\n  \"a\": null,\n  \"d\": \"1970-01-01T00:00:00.000Z\",\n  \"m\": {}\n}",
		"() => document.body": `"ref: <Node>"`,
		"() => window":        `"ref: <Window>"`,
		"() => '\\ud800'":     `"\ud800"`,
	} {
		if got := b.eval(code); got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	wants(t, b.must("browser_evaluate", arg{"target": "#p", "function": "(el) => el.textContent"}), `"para"`, "await page.getByText('para').evaluate(")
	wants(t, b.must("browser_evaluate", arg{"function": "document.title"}), "await page.evaluate('() => (document.title)');")
	wants(t, b.refused("Error: boom", "browser_evaluate", arg{"function": "() => { throw new Error('boom') }"}), "### Error\nError: boom")
	b.refused("SyntaxError", "browser_evaluate", arg{"function": "() => {"})
	b.refused("Do not know how to serialize a BigInt", "browser_evaluate", arg{"function": "() => 10n"})
	b.refused("Converting circular structure to JSON", "browser_evaluate", arg{"function": "() => { const a = {}; a.a = a; return a }"})
}
