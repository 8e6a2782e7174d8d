package aria_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t testing.TB) *browser.Browser {
	t.Helper()
	if _, ok := browser.Find(); !ok {
		if os.Getenv("CI") == "true" {
			t.Fatal("Chromium is missing")
		}
		t.Skip("Chromium is missing")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	b, err := browser.Start(ctx, browser.Options{
		Profile: t.TempDir(), Sandbox: os.Geteuid() != 0, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return b
}

// serve serves testdata on two ports; pages name the second one __PORT2__.
func serve(t testing.TB) string {
	t.Helper()
	var port2 string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		text, err := os.ReadFile(filepath.Join("testdata", filepath.Base(name)))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if strings.HasSuffix(name, ".svg") {
			w.Header().Set("Content-Type", "image/svg+xml")
		}
		fmt.Fprint(w, strings.ReplaceAll(string(text), "__PORT2__", port2))
	})
	first, second := httptest.NewServer(handler), httptest.NewServer(handler)
	t.Cleanup(first.Close)
	t.Cleanup(second.Close)
	var err error
	if _, port2, err = net.SplitHostPort(second.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return first.URL
}

func open(t testing.TB, p *browser.Page, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	d, err := p.Navigate(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.WaitFor(ctx, d, "load"); err != nil {
		t.Fatal(err)
	}
}

func take(t testing.TB, p *browser.Page, change func(*aria.Options)) string {
	t.Helper()
	o := aria.Options{Session: "test", Depth: -1}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s, err := aria.Take(ctx, p, o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Text
}

var refs = regexp.MustCompile(`\[ref=(f\d+)?e\d+\]`)

// normal takes out the numbers of refs, and the values of passwords: the contract hides them (tool.passwords).
func normal(text string) []string {
	text = refs.ReplaceAllString(text, "[ref]")
	for _, secret := range []string{"s3cret", "secret"} {
		text = strings.ReplaceAll(text, "[ref]: "+secret, "[ref]: ••••••••")
	}
	return strings.Split(text, "\n")
}

// TestGoldens compares with what @playwright/mcp 0.0.83 printed for the same pages.
func TestGoldens(t *testing.T) {
	b := start(t)
	url := serve(t)
	for _, name := range []string{"index", "gram"} {
		t.Run(name, func(t *testing.T) {
			open(t, b.Pages()[0], url+"/"+name+".html")
			golden, err := os.ReadFile("testdata/" + name + ".snapshot.txt")
			if err != nil {
				t.Fatal(err)
			}
			want, got := normal(strings.TrimRight(string(golden), "\n")), normal(take(t, b.Pages()[0], nil))
			if strings.Join(want, "\n") != strings.Join(got, "\n") {
				t.Errorf("differs (- want, + got):\n%s", diff(want, got))
			}
		})
	}
}

// diff lists the lines that only one side has, by their longest common subsequence.
func diff(want, got []string) string {
	common := make([][]int, len(want)+1)
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out strings.Builder
	for i, j := 0, 0; i < len(want) || j < len(got); {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			i, j = i+1, j+1
		case j == len(got) || (i < len(want) && common[i+1][j] >= common[i][j+1]):
			fmt.Fprintf(&out, "-%s\n", want[i])
			i++
		default:
			fmt.Fprintf(&out, "+%s\n", got[j])
			j++
		}
	}
	return out.String()
}

// TestBundleIsCurrent makes the bundle again and compares.
func TestBundleIsCurrent(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "tool", "esbuild", "walker/main.ts", "--bundle", "--format=iife",
		"--global-name=walker", "--target=chrome120", "--charset=utf8", "--legal-comments=none", "--log-level=warning").Output()
	if err != nil {
		t.Fatalf("bundling the walker: %v", err)
	}
	committed, err := os.ReadFile("walker.js")
	if err != nil {
		t.Fatal(err)
	}
	if string(out) != string(committed) {
		t.Error("walker.js is not what walker/*.ts makes: run go generate ./sidecar/aria")
	}
}
