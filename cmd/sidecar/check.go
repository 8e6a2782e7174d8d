package main

import (
	"encoding/json"
	"io"
	"runtime"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

const checkText = `Print, as JSON, this version, the Go version that it was built with, and the Chromium that a start would use:

  {"version": "…", "go": "…", "chromium": {"installed": true, "executable": "…"}}

Chromium is looked for in this order: the file that SIDECAR_CHROMIUM names (and nowhere else when it is set); Debian's
binary in /usr/lib/chromium; the usual commands in /usr/bin, /usr/local/bin and /opt; the newest chromium-* folder below
PLAYWRIGHT_BROWSERS_PATH, where install-browser puts one.`

func check(stdout io.Writer) error {
	type chromium struct {
		Installed  bool    `json:"installed"`
		Executable *string `json:"executable"`
	}
	report := struct {
		Version  string   `json:"version"`
		Go       string   `json:"go"`
		Chromium chromium `json:"chromium"`
	}{Version: buildVersion(), Go: runtime.Version()}
	if path, found := browser.Find(); path != "" {
		report.Chromium = chromium{found, &path}
	}
	enc := json.NewEncoder(stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}
