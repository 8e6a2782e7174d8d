// Package mutants breaks the reference one clause at a time: each patch beside this file takes one protection away, and
// the specs of the clause that it names must notice. The reference itself carries no fault hooks.
//
// A patch is a unified diff below a head like this:
//
//	Clause: egress.link-local
//	Breaks: the policy forgets 169.254.0.0/16
package mutants

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Mutant is one patch.
type Mutant struct {
	// Name is the patch's file name without ".patch".
	Name string
	// Clause is the id of the clause that it breaks, and Breaks says how.
	Clause, Breaks string

	files []*gitdiff.File
}

// Load reads every patch of a directory, in the order of their names.
func Load(dir fs.FS) ([]*Mutant, error) {
	paths, err := fs.Glob(dir, "*.patch")
	if err != nil {
		return nil, fmt.Errorf("listing the mutants: %w", err)
	}
	slices.Sort(paths)
	var all []*Mutant
	for _, p := range paths {
		text, err := fs.ReadFile(dir, p)
		if err != nil {
			return nil, fmt.Errorf("reading the mutant %s: %w", p, err)
		}
		m, err := Parse(strings.TrimSuffix(path.Base(p), ".patch"), text)
		if err != nil {
			return nil, fmt.Errorf("reading the mutant %s: %w", p, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// Parse reads one patch.
func Parse(name string, text []byte) (*Mutant, error) {
	files, head, err := gitdiff.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parsing the patch: %w", err)
	}
	m := &Mutant{Name: name, files: files}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, ":")
		switch key {
		case "Clause":
			m.Clause = strings.TrimSpace(value)
		case "Breaks":
			m.Breaks = strings.TrimSpace(value)
		}
	}
	switch {
	case m.Clause == "":
		return nil, errors.New(`the head has no line "Clause: <id>"`)
	case m.Breaks == "":
		return nil, errors.New(`the head has no line "Breaks: <what>"`)
	case len(files) == 0:
		return nil, errors.New("the patch changes no file")
	}
	for _, f := range files {
		if f.IsNew || f.IsDelete || f.IsRename || f.IsCopy || f.IsBinary {
			return nil, fmt.Errorf("the patch may only change lines of files that are there, not %s", f.NewName+f.OldName)
		}
	}
	return m, nil
}

// Overlay writes the changed files below dir and returns what "go build -overlay" needs: where each file of the checkout
// at root is replaced. A patch that no longer applies is an error.
func (m *Mutant) Overlay(root, dir string) (map[string]string, error) {
	replaced := make(map[string]string)
	for i, f := range m.files {
		original := filepath.Join(root, filepath.FromSlash(f.OldName))
		source, err := os.ReadFile(original)
		if err != nil {
			return nil, fmt.Errorf("applying the mutant %s: %w", m.Name, err)
		}
		var changed bytes.Buffer
		if err := gitdiff.Apply(&changed, bytes.NewReader(source), f); err != nil {
			return nil, fmt.Errorf("the mutant %s no longer applies to %s: %w", m.Name, f.OldName, err)
		}
		copied := filepath.Join(dir, fmt.Sprintf("%d-%s", i, path.Base(f.OldName)))
		if err := os.WriteFile(copied, changed.Bytes(), 0o600); err != nil {
			return nil, fmt.Errorf("writing the mutant %s: %w", m.Name, err)
		}
		replaced[original] = copied
	}
	return replaced, nil
}
