package config

import (
	"maps"

	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/attack"
	"github.com/browser-sidecar/conformance/suites/engine"
)

func unknownKeys(l *lab.Lab) {
	// "A key that the contract does not know, at the top or inside an object, does not stop a start."
	DescribeTable("starts with keys that it doesn't know", engine.Clause("config.unknown-keys"),
		func(ctx SpecContext, keys map[string]map[string]any) {
			c, err := base(l, vault{})
			engine.Harness(err)
			for at, unknown := range keys {
				maps.Copy(inside(c, at), unknown)
			}
			accepted(ctx, l, "unknown keys", c)
		},
		Entry("at the top", map[string]map[string]any{"the top": {
			"theme": "dark", "retries": 3, "nothing": nil, "feature": map[string]any{"token": "short", "port": -1}, "list": []any{1, nil, []any{}},
		}}),
		Entry("in recording and live", map[string]map[string]any{
			"recording": {"compress": true, "nothing": nil, "live": map[string]any{}},
			"live":      {"upload_max_total": "much", "nothing": nil, "token": "short"},
		}),
		Entry("in the storage state, a cookie and an origin", map[string]map[string]any{
			"storage_state": {"version": 2, "nothing": nil},
			"a cookie":      {"sourceScheme": "Secure", "nothing": nil, "size": []any{}},
			"an origin":     {"sessionStorage": []any{}, "nothing": nil},
			"an entry":      {"type": "text", "nothing": nil},
		}),
	)

	// A key in another case is another key: a parser that takes it for the known one lets the later of two tokens win.
	It("takes a key in another case for one that it doesn't know", engine.Clause("config.unknown-keys"), func(ctx SpecContext) {
		c, err := l.BaseConfig()
		engine.Harness(err)
		decoy := secret(40)
		c = c.With("Token", 17).With("TOKEN", decoy).With("toKen", nil).With("Port", "none").With("Mode", "headed").
			With("Host", "").With("App_Url", "ftp://").With("Live", true).With("Recording", "")
		s, err := l.Start(ctx, c)
		if err != nil {
			engine.Fail("starting with Token, Port, Mode … beside the keys that the contract has", []string{"a ready line"}, err.Error())
		}
		attack.Refused(ctx, s, s.Get("/health"), []attack.Attack{
			{Did: "GET /health with the value of TOKEN", Request: s.Get("/health").Set("Authorization", "Bearer "+decoy), Want: []int{401, 403}},
		})
	})
}

// inside finds the object of a configuration that a test speaks of.
func inside(c lab.Config, at string) map[string]any {
	state, _ := c["storage_state"].(map[string]any)
	first := func(of map[string]any, key string) map[string]any { return of[key].([]any)[0].(map[string]any) }
	switch at {
	case "the top":
		return c
	case "a cookie":
		return first(state, "cookies")
	case "an origin":
		return first(state, "origins")
	case "an entry":
		return first(first(state, "origins"), "localStorage")
	default:
		return c[at].(map[string]any)
	}
}
