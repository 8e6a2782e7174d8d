package config

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/suites/engine"
)

// refuseWithin bounds a spec that starts some dozens of containers.
const refuseWithin = SpecTimeout(2 * time.Minute)

// refusals tries the contract's table. The control of each spec is a start with values at the bounds of the same keys.
func refusals(l *lab.Lab) {
	// "A value outside its type or bound in the tables above, a required key that is missing, and a text that is not one
	// JSON object are refused, each by itself."
	It("refuses a text that is not one JSON object", engine.Clause("config.refuses"), refuseWithin, func(ctx SpecContext) {
		refused(ctx, l, textFaults())
		c, err := base(l, vault{})
		engine.Harness(err)
		accepted(ctx, l, "a value for every key that has keys of its own", c)
	})

	It("refuses a token and an app outside their bounds", engine.Clause("config.refuses"), refuseWithin, func(ctx SpecContext) {
		refused(ctx, l, slices.Concat(tokenFaults(), appFaults()))
		c, err := l.BaseConfig()
		engine.Harness(err)
		accepted(ctx, l, "a token of 32 characters and an app_url with path, query and fragment",
			c.With("token", "!"+secret(29)+"~_").With("app_url", l.AppURL("/pages/index.html?a=b#c")))
	})

	It("refuses every other key of the top outside its bounds", engine.Clause("config.refuses"), refuseWithin, func(ctx SpecContext) {
		refused(ctx, l, topFaults())
		c, err := l.BaseConfig()
		engine.Harness(err)
		sandbox, chosen := c["chromium_sandbox"]
		if !chosen {
			sandbox = true
		}
		accepted(ctx, l, "the greatest values of the top", c.With("mode", "headless").With("port", 65535).
			With("capabilities", []string{"pdf", "testing", "vision", "pdf", "pdf"}).With("host", "localhost").
			With("allowed_hosts", []string{"Browser", "browser.test:8080", "[::1]:1"}).With("stop_at", time.Now().AddDate(10, 0, 0).UnixMilli()).
			With("chromium_sandbox", sandbox))
		accepted(ctx, l, "the least values of the top", c.With("token", secret(40)).With("port", 0).With("capabilities", []string{}).
			With("allowed_hosts", []string{}).With("stop_at", time.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339)))
		nulls := c.With("token", secret(41))
		for _, key := range []string{"mode", "capabilities", "host", "port", "allowed_hosts", "stop_at", "recording", "live", "storage_state"} {
			nulls = withNull(nulls, key)
		}
		accepted(ctx, l, "null for every key that has a default", nulls)
	})

	It("refuses a recording outside its bounds", engine.Clause("config.refuses"), refuseWithin, func(ctx SpecContext) {
		refused(ctx, l, recordingFaults())
		c, err := l.BaseConfig()
		engine.Harness(err)
		accepted(ctx, l, "the least values of recording", c.With("recording", map[string]any{
			"url": closedURL, "token": secret(32), "batch_events": 1, "batch_bytes": 1,
		}))
	})

	It("refuses a live view outside its bounds", engine.Clause("config.refuses"), refuseWithin, func(ctx SpecContext) {
		refused(ctx, l, liveFaults())
		c, err := l.BaseConfig()
		engine.Harness(err)
		accepted(ctx, l, "the least values of live, and null in recording", c.With("live", map[string]any{
			"session_id": "s", "origins": []string{"http://localhost:3000"}, "agent_wait_ms": 0, "release_grace_ms": 1,
			"upload_max_file_bytes": 1, "upload_max_files": 0, "upload_max_session_bytes": 1,
		}).With("recording", map[string]any{"url": "https://ingest.test/", "token": secret(60), "batch_events": nil, "batch_bytes": nil}))
		accepted(ctx, l, "great values of live and recording", c.With("token", secret(40)).With("live", map[string]any{
			"session_id": "7f9a2c1e-4b5d-4e6f-8a9b-0c1d2e3f4a5b", "origins": []string{"https://dashboard.test", "http://127.0.0.1:65535", "https://dashboard.test"},
			"agent_wait_ms": 45000, "release_grace_ms": 3600000, "upload_max_file_bytes": 1 << 40, "upload_max_files": 1 << 20,
			"upload_max_session_bytes": 1 << 41,
		}).With("recording", map[string]any{"url": closedURL, "token": secret(200), "batch_events": 1 << 20, "batch_bytes": 1 << 30}))
	})

	It("refuses a storage state outside its form", engine.Clause("config.refuses"), refuseWithin, func(ctx SpecContext) {
		refused(ctx, l, storageFaults())
		c, err := l.BaseConfig()
		engine.Harness(err)
		cookie := func(name string, more map[string]any) map[string]any {
			full := map[string]any{"name": name, "value": secret(20), "domain": l.AppAddr().Addr().String(), "path": "/"}
			for key, value := range more {
				full[key] = value
			}
			return full
		}
		accepted(ctx, l, "a storage state with every key, and some MiB of it", c.With("storage_state", map[string]any{
			"cookies": []any{
				cookie("plain", nil),
				cookie("session", map[string]any{"expires": -1, "httpOnly": true, "secure": false, "sameSite": "Strict"}),
				cookie("lasting", map[string]any{"expires": 4102444800.5, "httpOnly": false, "secure": false, "sameSite": "Lax"}),
				cookie("wide", map[string]any{"expires": 4102444800, "secure": true, "sameSite": "None"}),
				cookie("other", map[string]any{"domain": ".other.test", "path": "/path", "value": ""}),
			},
			"origins": []any{
				map[string]any{"origin": l.AppURL(""), "localStorage": []any{map[string]any{"name": "n", "value": secret(20)}}},
				map[string]any{"origin": "https://other.test", "localStorage": []any{map[string]any{"name": "n", "value": strings.Repeat("v", 4<<20)}}},
				map[string]any{"origin": "https://third.test", "localStorage": []any{}},
			},
		}))
	})
}

// withNull sets a key to null, which With would take away.
func withNull(c lab.Config, key string) lab.Config {
	c = c.With(key, "null")
	c[key] = nil
	return c
}
