// Package seccomp holds the profile with which Chromium's own sandbox works in a container of an ordinary user: an allow
// list in Docker's format that permits new user, process and network namespaces, and no others.
package seccomp

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed chromium.json
var chromium []byte

// SecurityOption is the profile as an engine's API takes it: "seccomp=" and the JSON itself, not a path to it.
func SecurityOption() (string, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, chromium); err != nil {
		return "", fmt.Errorf("reading the seccomp profile: %w", err)
	}
	return "seccomp=" + compact.String(), nil
}
