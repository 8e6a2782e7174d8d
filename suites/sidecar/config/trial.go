package config

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/browser-sidecar/conformance/lab"
	"github.com/browser-sidecar/conformance/report"
	"github.com/browser-sidecar/conformance/target"
)

// endWithin bounds the end of a start that must fail. The contract gives no bound; a container takes a second or two to
// start, and several start at once.
const endWithin = 20 * time.Second

// trial is one start with one fault in its configuration.
type trial struct {
	fault
	text []byte
	// dir is the workdir and the temporary directory.
	dir     string
	secrets []string
}

// base is a valid configuration with every key that holds a secret or has keys of its own.
func base(l *lab.Lab) (lab.Config, error) {
	c, err := l.BaseConfig()
	if err != nil {
		return nil, err
	}
	c["recording"] = map[string]any{"url": closedURL, "token": secret(40)}
	c["live"] = map[string]any{"session_id": "session", "origins": []string{"http://localhost:3000"}}
	c["storage_state"] = map[string]any{
		"cookies": []any{map[string]any{"name": "sid", "value": secret(40), "domain": l.AppAddr().Addr().String(), "path": "/"}},
		"origins": []any{map[string]any{
			"origin": l.AppURL(""), "localStorage": []any{map[string]any{"name": "key", "value": secret(40)}},
		}},
	}
	return c, nil
}

// closedURL is an ingest that isn't there.
const closedURL = "http://127.0.0.1:1/events?sandbox=1"

// secret is a random text of n characters.
func secret(n int) string {
	text := ""
	for len(text) < n {
		text += rand.Text()
	}
	return text[:n]
}

// newTrial writes the faulty configuration. Of the marks in a fault, ${n} is a fresh secret of n characters and ${#n} one
// of n digits; ${config} is the valid configuration; ${file} a file that is there, ${missing} a path that isn't.
func newTrial(l *lab.Lab, f fault) (*trial, error) {
	c, err := base(l)
	if err != nil {
		return nil, err
	}
	t := &trial{fault: f, secrets: secretsOf(c)}
	t.dir, _ = c["workdir"].(string)
	valid, err := c.JSON()
	if err != nil {
		return nil, err
	}
	is, err := t.fill(l, f.is, valid)
	if err != nil {
		return nil, err
	}
	t.text = []byte(is)
	if f.at != "" {
		set(c, strings.Split(f.at, "."), is)
		if t.text, err = c.JSON(); err != nil {
			return nil, err
		}
	}
	for _, s := range t.secrets {
		if len(s) < leastSecret {
			continue
		}
		if err := l.Hide("secret", s); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// secretsOf lists what cli.invalid-config calls secrets.
func secretsOf(c lab.Config) []string {
	found := []string{c.Token()}
	if r, ok := c["recording"].(map[string]any); ok {
		found = append(found, r["token"].(string))
	}
	if s, ok := c["storage_state"].(map[string]any); ok {
		found = append(found, s["cookies"].([]any)[0].(map[string]any)["value"].(string))
		entry := s["origins"].([]any)[0].(map[string]any)["localStorage"].([]any)[0].(map[string]any)
		found = append(found, entry["value"].(string))
	}
	return found
}

// set puts JSON at a path, or takes away what is there.
func set(in map[string]any, path []string, is string) {
	if len(path) > 1 {
		set(in[path[0]].(map[string]any), path[1:], is)
		return
	}
	if is == absent {
		delete(in, path[0])
		return
	}
	in[path[0]] = json.RawMessage(is)
}

func (t *trial) fill(l *lab.Lab, is string, valid []byte) (string, error) {
	var failed error
	filled := regexp.MustCompile(`\$\{[^}]+\}`).ReplaceAllStringFunc(is, func(mark string) string {
		name := strings.Trim(mark, "${}")
		digits, decimal := strings.CutPrefix(name, "#")
		n, err := strconv.Atoi(digits)
		switch {
		case name == "config":
			return string(valid)
		case name == "config-as-text":
			quoted := strconv.Quote(string(valid))
			return quoted[1 : len(quoted)-1]
		case name == "missing":
			return filepath.Join(t.dir, "missing")
		case name == "file":
			path, err := l.ConfigFile(lab.Config{})
			failed = errors.Join(failed, err)
			return path
		case err != nil:
			failed = errors.Join(failed, fmt.Errorf("the table's mark %s: %w", mark, err))
			return ""
		case decimal:
			t.secrets = append(t.secrets, number(n))
		default:
			t.secrets = append(t.secrets, secret(n))
		}
		return t.secrets[len(t.secrets)-1]
	})
	return filled, failed
}

// number is a random one of n digits.
func number(n int) string {
	least := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n-1)), nil)
	some, err := rand.Int(rand.Reader, new(big.Int).Mul(least, big.NewInt(9)))
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	return some.Add(some, least).String()
}

// run starts the target with the faulty configuration and says what is wrong with how it refuses it; nothing where all is
// right. The context's end and what is the suite's own fault are errors.
func (t *trial) run(ctx context.Context, l *lab.Lab, o target.Options) (wrong string, err error) {
	if o.Args == nil {
		o.Stdin = t.text
	}
	o.Env = append(o.Env, "TMPDIR="+t.dir)
	p, err := l.Run(ctx, o)
	if err != nil {
		return "", err
	}
	_, err = p.ReadyLine(ctx, endWithin)
	var died *target.DiedError
	switch {
	case err == nil:
		return fmt.Sprintf("it printed %q on stdout, and said %q", p.Stdout, p.Stderr.Tail(3)), nil
	case errors.Is(err, target.ErrNotReady):
		return fmt.Sprintf("it neither ended nor spoke within %s, and said %q", endWithin, p.Stderr.Tail(3)), nil
	case !errors.As(err, &died):
		return "", err
	}
	left, err := os.ReadDir(t.dir)
	if err != nil {
		return "", fmt.Errorf("listing the workdir: %w", err)
	}
	said := p.Stderr.String()
	switch {
	case died.Exit.Code == 0 || died.Exit.Signal != 0:
		wrong = died.Exit.String()
	case p.Stdout.String() != "":
		wrong = fmt.Sprintf("%q on stdout", p.Stdout)
	case strings.Count(strings.TrimRight(said, "\n"), "\n") > 0 || strings.TrimSpace(said) == "":
		wrong = fmt.Sprintf("not one line on stderr, but %q", said)
	case t.shown(said) != "":
		wrong = fmt.Sprintf("stderr shows a secret, %s: %q", t.shown(said), said)
	case !holdsWord(said, t.names):
		wrong = fmt.Sprintf("stderr has none of the words %q: %q", t.names, said)
	case len(left) > 0:
		wrong = fmt.Sprintf("it left %s in the workdir or the temporary directory", left[0].Name())
	}
	if wrong != "" {
		return wrong, nil // what it said stays for the evidence
	}
	return "", l.Discard(ctx, p)
}

// holdsWord looks for a key as a word of its own: "port" is not named by "unsupported".
func holdsWord(said string, names []string) bool {
	for _, name := range names {
		if regexp.MustCompile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(name) + `($|[^A-Za-z0-9_])`).MatchString(said) {
			return true
		}
	}
	return len(names) == 0
}

const (
	// leastSecret is the length from which a secret can be told from other text.
	leastSecret = 12
	// pieceOfSecret is how much of a secret counts as the secret: a message that is cut off still shows it.
	pieceOfSecret = 16
)

// shown says which form of a secret a text shows.
func (t *trial) shown(said string) string { return shown(said, t.secrets) }

func shown(said string, secrets []string) string {
	for _, s := range secrets {
		if len(s) < leastSecret {
			continue
		}
		for from := 0; from == 0 || from+pieceOfSecret <= len(s); from++ {
			if piece := s[from:min(from+pieceOfSecret, len(s))]; strings.Contains(said, piece) {
				return "in plain text"
			}
		}
		const label = "conformance-secret"
		forms, err := report.NewRedactor(report.Secret{Label: label, Value: s})
		if err != nil {
			return err.Error()
		}
		if strings.Contains(forms.String(said), label) {
			return "in an encoded form"
		}
	}
	return ""
}
