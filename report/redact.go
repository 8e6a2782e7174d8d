package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
)

// minSecret is the shortest secret that can be told from ordinary text.
const minSecret = 8

// Secret is a value that no output may show, and the label that stands in its place.
type Secret struct {
	// Label is shown instead; letters, digits, dots, hyphens and underscores.
	Label string
	Value string
}

// Redactor replaces secrets by "[redacted:label]" wherever text leaves the suite: each as it is, and as JSON, XML, Go
// quoting, percent-encoding, hex and base64 (all three alignments, both alphabets) write it. Without being told, it also
// replaces what follows "Authorization: Bearer", and any bearer token of 16 characters or more. A nil Redactor changes
// nothing. Its methods may be used at once.
type Redactor struct {
	mu      sync.RWMutex
	first   [256][]form // by first byte, longest first
	longest int
}

// form is one way in which a secret may be written.
type form struct {
	text  []byte
	label string
}

// NewRedactor knows the given secrets; more may be added.
func NewRedactor(secrets ...Secret) (*Redactor, error) {
	r := &Redactor{}
	for _, s := range secrets {
		if err := r.Add(s); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Add makes the redactor know one more secret. One of fewer than 8 bytes would blot out ordinary text and is refused; the
// error shows its label only.
func (r *Redactor) Add(s Secret) error {
	if len(s.Value) < minSecret {
		return fmt.Errorf("redacting %q: a secret of %d bytes is too short to be told from other text: want %d or more",
			s.Label, len(s.Value), minSecret)
	}
	if !plainLabel(s.Label) {
		return fmt.Errorf("redacting %q: the label must be made of letters, digits, '.', '-' and '_'", s.Label)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range writings(s.Value) {
		known := &r.first[text[0]]
		if slices.ContainsFunc(*known, func(f form) bool { return bytes.Equal(f.text, text) }) {
			continue
		}
		*known = append(*known, form{text: text, label: s.Label})
		slices.SortStableFunc(*known, func(a, b form) int { return cmp.Compare(len(b.text), len(a.text)) })
		r.longest = max(r.longest, len(text))
	}
	return nil
}

func plainLabel(label string) bool {
	for _, c := range []byte(label) {
		if !isAlphanumeric(c) && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return label != ""
}

// Bytes is text without the secrets.
func (r *Redactor) Bytes(text []byte) []byte {
	if r == nil {
		return text
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	var s scan
	clean, _ := r.sweep(&s, nil, text, true)
	return clean
}

// String is text without the secrets.
func (r *Redactor) String(text string) string {
	if r == nil {
		return text
	}
	return string(r.Bytes([]byte(text)))
}

// Writer passes on to w what is written, without the secrets, also those that are split across writes. It holds back the
// last bytes, which may begin a secret, until Close, which writes them and leaves w open.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser {
	return &redactingWriter{r: r, w: w}
}

type redactingWriter struct {
	r *Redactor
	w io.Writer

	mu   sync.Mutex
	held []byte
	scan scan
}

func (w *redactingWriter) Write(p []byte) (int, error) {
	if err := w.pass(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *redactingWriter) Close() error { return w.pass(nil, true) }

func (w *redactingWriter) pass(p []byte, last bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := slices.Concat(w.held, p)
	clean, used := text, len(text)
	if w.r != nil {
		w.r.mu.RLock()
		clean, used = w.r.sweep(&w.scan, nil, text, last)
		w.r.mu.RUnlock()
	}
	w.held = bytes.Clone(text[used:])
	if _, err := w.w.Write(clean); err != nil {
		return fmt.Errorf("writing redacted text: %w", err)
	}
	return nil
}
