package aria_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// page opens one page made of the HTML.
func page(t *testing.T, html string) *browser.Page {
	t.Helper()
	b := start(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never" {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, html)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	p := b.Pages()[0]
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d, err := p.Navigate(ctx, s.URL+"/")
	if err == nil {
		err = p.WaitFor(ctx, d, "DOMContentLoaded")
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDeepPageIsCutNotLost(t *testing.T) {
	p := page(t, `<button>Top</button><script>
let at = document.body;
for (let i = 0; i < 2000; i++) at = at.appendChild(document.createElement("section"));
at.textContent = "deep";
</script><a href="#">`+strings.Repeat("<b>", 400)+"x</a>")
	text := take(t, p, nil)
	if !strings.Contains(text, `button "Top"`) || !strings.Contains(text, "nested too deeply") {
		t.Errorf("got %.600s", text)
	}
	if again := take(t, p, nil); again != text {
		t.Error("the next snapshot differs")
	}
}

func TestLargePage(t *testing.T) {
	p := page(t, `<ul id=u></ul><script>u.innerHTML = Array.from({length: 10000}, (_, i) => "<li><a href=#>Item " + i + "</a></li>").join("")</script>`)
	began := time.Now()
	text := take(t, p, nil)
	t.Logf("20,000 elements in %v", time.Since(began))
	if n := strings.Count(text, "listitem"); n != 10000 {
		t.Errorf("%d items", n)
	}
}

func TestFrameThatNeverLoadsDelaysNobody(t *testing.T) {
	p := page(t, `<iframe src="/never"></iframe><iframe srcdoc="<script>for(;;);</script>" sandbox="allow-scripts" loading=lazy></iframe><button>Here</button>`)
	began := time.Now()
	text := take(t, p, nil)
	if took := time.Since(began); took > 5*time.Second || !strings.Contains(text, `button "Here"`) {
		t.Errorf("after %v: %s", took, text)
	}
}

func TestHostilePage(t *testing.T) {
	p := page(t, `<script>
JSON.stringify = Array.from = Array.prototype.map = String.prototype.replace = () => { throw new Error("hostile") };
Element.prototype.getAttribute = () => "hostile"; Object.defineProperty(Node.prototype, "childNodes", { get() { return [] } });
window.walker = null;
</script><button aria-label="Fine">x</button><input type=password value=planted-secret aria-label=Password>
<form><input name=getAttribute><input name=children><input name=childNodes><button>In form</button></form>
<p>lone `+"\xed\xa0\x80"+` end</p>`)
	text := take(t, p, nil)
	for _, want := range []string{`button "Fine"`, `textbox "Password" [ref=e3]: ••••••••`, `button "In form"`} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "planted-secret") || strings.Contains(text, "hostile") {
		t.Errorf("got\n%s", text)
	}
}

func TestRefsArePerSessionAndCanBeForgotten(t *testing.T) {
	p := page(t, `<button>One</button>`)
	take(t, p, func(o *aria.Options) { o.Session = "a" })
	find := func(session string) error {
		e, err := aria.Find(t.Context(), p, session, "e2")
		if err == nil {
			e.Release()
		}
		return err
	}
	var missing *aria.RefError
	if err := find("a"); err != nil {
		t.Error(err)
	}
	if err := find("b"); !errors.As(err, &missing) {
		t.Errorf("another session: %v", err)
	}
	aria.Forget(t.Context(), p, "a")
	if err := find("a"); !errors.As(err, &missing) {
		t.Errorf("a forgotten session: %v", err)
	}
}

// BenchmarkSnapshot measures whole snapshots, the browser's work included.
func BenchmarkSnapshot(b *testing.B) {
	br := start(b)
	url := serve(b)
	p := br.Pages()[0]
	b.Run("index", func(b *testing.B) {
		open(b, p, url+"/index.html")
		for b.Loop() {
			take(b, p, nil)
		}
	})
	b.Run("5000 elements", func(b *testing.B) {
		open(b, p, url+"/two.html")
		if _, err := p.Evaluate(b.Context(), `() => { document.body.innerHTML = Array.from({length: 1250}, (_, i) =>
"<div><h3>Row " + i + "</h3><p>Some <b>text</b></p><button>Open " + i + "</button></div>").join("") }`, nil); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			take(b, p, nil)
		}
	})
}
