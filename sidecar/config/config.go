// Package config reads the sidecar's start configuration: one JSON object, every key of the contract's section config
// with its type, default and bound.
//
// A problem is reported for the first key that has one, in the order of [Parse]. Messages name the key and what it must
// be, and never what it was: the text that is wrong may be a secret in the wrong place.
package config

import (
	"math"
	"net/url"
	"time"
)

// Config is a checked configuration. Absent keys have their defaults.
type Config struct {
	Token           Secret
	AppURL          *url.URL // the app's origin: scheme and host, normalised, nothing else
	Mode            Mode
	Capabilities    []string // some of testing, vision, pdf; no duplicates
	Host            string   // an IP address or a host name
	Port            int      // 0 picks a free one
	AllowedHosts    []string
	Workdir         string    // empty: a temporary directory
	StopAt          time.Time // zero: never
	ChromiumSandbox bool
	Recording       *Recording    // nil: nothing is recorded
	Live            *Live         // nil: no live view
	StorageState    *StorageState // nil: the browser starts empty
}

// Mode says whether the browser shows a window.
type Mode string

// The modes.
const (
	Headless Mode = "headless"
	Headed   Mode = "headed"
)

// Recording says where recorded events go, and how many at once the ingest takes.
type Recording struct {
	URL         *url.URL
	Token       Secret
	BatchEvents int64
	BatchBytes  int64
}

// Live configures the live view.
type Live struct {
	SessionID             string
	Origins               []string // normalised origins, no duplicates
	AgentWait             time.Duration
	ReleaseGrace          time.Duration
	UploadMaxFileBytes    int64
	UploadMaxFiles        int64 // 0: no uploads
	UploadMaxSessionBytes int64
}

// Secret is a token. It prints as a mark, so that no log line or error shows it by accident.
type Secret string

// Reveal returns the token itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a mark in the token's place.
func (Secret) String() string { return "[secret]" }

// GoString returns a mark in the token's place.
func (Secret) GoString() string { return "[secret]" }

// MarshalText returns a mark in the token's place, for JSON and structured logs.
func (Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }

// Warning is a text about something that is ignored, such as a key that this version doesn't know.
type Warning string

// maxInteger is the largest integer that every JSON implementation reads exactly (RFC 8259 §6).
const maxInteger = 1<<53 - 1

// Parse reads a configuration. A byte order mark before it is ignored (RFC 8259 §8.1); anything behind it, a name that
// stands twice in one object and text that is not UTF-8 are refused, so that nobody can read it in another way. Absent
// and null are the same, but for chromium_sandbox, which is true or false when it is named. Unknown keys don't stop a
// start; each is a warning.
func Parse(data []byte) (*Config, []Warning, error) {
	root, err := decode(data)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{ignored: make(map[string]bool)}
	in := object{path: "", fields: root}
	c := &Config{
		Mode:            Mode(r.choice(in, "mode", string(Headless), []string{string(Headless), string(Headed)})),
		Capabilities:    r.capabilities(in),
		AllowedHosts:    r.allowedHosts(in),
		Host:            r.host(in),
		Port:            int(r.integer(in, "port", 0, 0, 65535)),
		ChromiumSandbox: r.chromiumSandbox(in),
		Workdir:         r.workdir(in),
		AppURL:          r.appURL(in),
		StorageState:    r.storageState(in),
		Token:           r.token(in),
		StopAt:          r.stopAt(in),
		Recording:       r.recording(in),
		Live:            r.live(in),
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	r.unknown(in, "token", "app_url", "mode", "capabilities", "host", "port", "allowed_hosts", "workdir", "stop_at",
		"chromium_sandbox", "recording", "live", "storage_state")
	return c, r.warnings(), nil
}

func (r *reader) recording(in object) *Recording {
	sub, ok := r.object(in, "recording")
	if !ok {
		return nil
	}
	r.unknown(sub, "url", "token", "batch_events", "batch_bytes")
	return &Recording{
		URL:         r.httpURL(sub, "url"),
		Token:       r.token(sub),
		BatchEvents: r.integer(sub, "batch_events", 1000, 1, maxInteger),
		BatchBytes:  r.integer(sub, "batch_bytes", 1<<20, 1, maxInteger),
	}
}

func (r *reader) live(in object) *Live {
	sub, ok := r.object(in, "live")
	if !ok {
		return nil
	}
	r.unknown(sub, "session_id", "origins", "agent_wait_ms", "release_grace_ms", "upload_max_file_bytes",
		"upload_max_files", "upload_max_session_bytes")
	return &Live{
		SessionID:             r.sessionID(sub),
		Origins:               r.origins(sub),
		AgentWait:             milliseconds(r.integer(sub, "agent_wait_ms", 20000, 0, 45000)),
		ReleaseGrace:          milliseconds(r.integer(sub, "release_grace_ms", 10000, 1, maxInteger)),
		UploadMaxFileBytes:    r.integer(sub, "upload_max_file_bytes", 25<<20, 1, maxInteger),
		UploadMaxFiles:        r.integer(sub, "upload_max_files", 10, 0, maxInteger),
		UploadMaxSessionBytes: r.integer(sub, "upload_max_session_bytes", 250<<20, 1, maxInteger),
	}
}

// milliseconds caps what a Duration can't hold, 292 years.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
