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
	// process is what run has started.
	process *target.Process
	// dir is the workdir and the temporary directory.
	dir string
}

// vault holds the secrets of one spec, each under the name that stands for it. A spec has some dozens of starts, and the lab
// must know each secret in order to hide it, so that they share what they can.
type vault map[string]string

func (v vault) get(name string, made func() string) string {
	if _, ok := v[name]; !ok {
		v[name] = made()
	}
	return v[name]
}

func (v vault) text(name string, n int) string {
	return v.get(name, func() string { return secret(n) })
}

// hide takes all of it out of what leaves the lab.
func (v vault) hide(l *lab.Lab) error {
	for _, s := range v {
		if len(s) < leastSecret {
			continue
		}
		if err := l.Hide("secret", s); err != nil {
			return err
		}
	}
	return nil
}

// base is a valid configuration with every key that holds a secret or has keys of its own.
func base(l *lab.Lab, v vault) (lab.Config, error) {
	c, err := l.BaseConfig()
	if err != nil {
		return nil, err
	}
	c["token"] = v.text("token", 40)
	c["recording"] = map[string]any{"url": closedURL, "token": v.text("recording.token", 40)}
	c["live"] = map[string]any{"session_id": "session", "origins": []string{"http://localhost:3000"}}
	c["storage_state"] = map[string]any{
		"cookies": []any{map[string]any{
			"name": "sid", "value": v.text("cookie", 40), "domain": l.AppAddr().Addr().String(), "path": "/",
		}},
		"origins": []any{map[string]any{
			"origin": l.AppURL(""), "localStorage": []any{map[string]any{"name": "key", "value": v.text("localStorage", 40)}},
		}},
	}
	return c, v.hide(l)
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

// newTrial writes the faulty configuration. Of the marks in a fault, ${n} is a secret of n characters and ${#n} one of n
// digits; ${config} is the valid configuration; ${file} a file that is there, ${missing} a path that isn't.
func newTrial(l *lab.Lab, v vault, f fault) (*trial, error) {
	c, err := base(l, v)
	if err != nil {
		return nil, err
	}
	t := &trial{fault: f}
	t.dir, _ = c["workdir"].(string)
	valid, err := c.JSON()
	if err != nil {
		return nil, err
	}
	is, err := t.fill(l, v, f.is, valid)
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
	return t, nil
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

func (t *trial) fill(l *lab.Lab, v vault, is string, valid []byte) (string, error) {
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
			return v.get(mark, func() string { return number(n) })
		default:
			return v.text(mark, n)
		}
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
func (t *trial) run(ctx context.Context, l *lab.Lab, v vault, o target.Options) (wrong string, err error) {
	if o.Args == nil {
		o.Stdin = t.text
	}
	o.Env = append(o.Env, "TMPDIR="+t.dir)
	p, err := l.Run(ctx, o)
	if err != nil {
		return "", err
	}
	t.process = p
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
	case v.shown(said) != "":
		wrong = fmt.Sprintf("stderr shows a secret, %s: %q", v.shown(said), said)
	case !holdsWord(said, t.names):
		wrong = fmt.Sprintf("stderr has none of the words %q: %q", t.names, said)
	case len(left) > 0:
		wrong = fmt.Sprintf("it left %s in the workdir or the temporary directory", left[0].Name())
	}
	return wrong, nil
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

// shown says in which form a text shows a secret of the vault; "" where it shows none.
func (v vault) shown(said string) string {
	for _, s := range v {
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
