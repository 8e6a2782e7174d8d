package tools_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/mcp"
)

// Two sessions, each with a tab of its own: where one is led is no business of the other's call.
func TestACallIsNotWithheldForAnotherSessionsTab(t *testing.T) {
	b := setUp(t, escapes())
	b.open("/")
	mine := b.browser.Pages()[0]
	other, err := b.browser.NewPage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan mcp.Result, 1)
	go func() {
		answered <- b.session.Call(t.Context(), "browser_evaluate", []byte(`{"function": "() => new Promise((r) => { window.answer = r })"}`))
	}()
	evaluate := func(code string) string {
		text, err := mine.Evaluate(t.Context(), code, nil)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(10 * time.Second); evaluate("() => !!window.answer") != "true"; <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the call never began")
		}
	}
	if _, err := other.Navigate(t.Context(), b.app+"/to?url="+url.QueryEscape(b.other+"/secret")); err == nil {
		t.Error("the redirect was followed")
	}
	<-other.Closed()
	evaluate("() => { window.answer('as ever') }")
	if result := <-answered; result.IsError || len(result.Content) != 1 {
		t.Errorf("the call got %+v", result)
	} else {
		wants(t, result.Content[0].Text, `"as ever"`)
	}
}
