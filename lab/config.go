package lab

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
)

// Config is a start configuration on its way to a sidecar: JSON keys and values, so that a spec may put anything there.
type Config map[string]any

// With returns a copy with one key set, or taken away where the value is nil.
func (c Config) With(key string, value any) Config {
	changed := maps.Clone(c)
	if value == nil {
		delete(changed, key)
	} else {
		changed[key] = value
	}
	return changed
}

// JSON encodes the configuration.
func (c Config) JSON() ([]byte, error) {
	b, err := json.Marshal(map[string]any(c))
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	return b, nil
}

// Token is the bearer token of the configuration.
func (c Config) Token() string {
	token, _ := c["token"].(string)
	return token
}

// newToken makes a token that the contract accepts: 32 characters or more without whitespace.
func newToken() string { return "lab_" + rand.Text() + rand.Text() }
