package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The files of a contract's folder that have a duty by their name.
const (
	readmeFile   = "README.md"
	excludedFile = "excluded.md"
	pendingFile  = "pending.txt"
)

var (
	idForm     = regexp.MustCompile(`^[a-z]+(\.[a-z0-9-]+)+$`)
	titleForm  = regexp.MustCompile(`^(\S.*) · version ([1-9][0-9]{0,3})$`)
	headerForm = regexp.MustCompile("^Ids: `([a-z]+)\\.\\*` · Profile: ([a-z]+)$")
)

// place is where something stands, for errors: "file:line".
type place struct {
	file string
	line int
}

func (p place) String() string { return p.file + ":" + strconv.Itoa(p.line) }

// loader collects a contract and everything that is wrong with it, so that a writer sees all faults at once.
type loader struct {
	contract *Contract
	// ids has where each id stands, clauses and exclusions alike.
	ids map[string]place
	// prefixes has the header that declares each prefix of ids.
	prefixes map[string]place
	profiles map[string]bool
	faults   []error
}

// Load reads the contract in the top level of a folder. Its error has a line for each fault: "file:line: what is wrong".
func Load(name string, fsys fs.FS) (*Contract, error) {
	l := &loader{
		contract: &Contract{Name: name},
		ids:      map[string]place{},
		prefixes: map[string]place{},
		profiles: map[string]bool{},
	}
	if err := l.folder(fsys); err != nil {
		return nil, fmt.Errorf("reading the contract %s: %w", name, err)
	}
	if len(l.faults) > 0 {
		return nil, fmt.Errorf("the contract %s: %w", name, errors.Join(l.faults...))
	}
	return l.contract, nil
}

// folder reads the README for the version, then the sections for the ids, then what refers to them.
func (l *loader) folder(fsys fs.FS) error {
	names, err := fs.Glob(fsys, "*.md")
	if err != nil {
		return err
	}
	readme, err := fs.ReadFile(fsys, readmeFile)
	if err != nil {
		return err
	}
	l.readme(l.cut(readmeFile, readme))
	var excluded []block
	for _, name := range names {
		if name == readmeFile {
			continue
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if name == excludedFile {
			excluded = l.cut(name, text)
			continue
		}
		l.markdown(name, l.cut(name, text))
	}
	l.checkProfiles()
	l.exclusions(excluded)
	pending, err := fs.ReadFile(fsys, pendingFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l.pending(string(pending))
	return nil
}

func (l *loader) fault(at place, format string, args ...any) {
	l.faults = append(l.faults, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
}

func (l *loader) cut(file string, text []byte) []block {
	if !utf8.Valid(text) {
		l.fault(place{file, 1}, "the file is not valid UTF-8")
		return nil
	}
	return blocks(string(text), func(line int, format string, args ...any) { l.fault(place{file, line}, format, args...) })
}

// readme takes the title and the version.
func (l *loader) readme(all []block) {
	at := place{readmeFile, 1}
	if len(all) == 0 || all[0].kind != heading || all[0].level != 1 {
		l.fault(at, "the file must begin with \"# <title> · version <n>\"")
		return
	}
	found := titleForm.FindStringSubmatch(all[0].text)
	if found == nil {
		l.fault(place{readmeFile, all[0].line}, "the title %q must end with \" · version <n>\", n from 1 to 9999", all[0].text)
		return
	}
	l.contract.Title = found[1]
	l.contract.Version, _ = strconv.Atoi(found[2]) // the form allows nothing that fails
	l.document(readmeFile, all[1:])
}

// markdown reads a section or, without a section's header, a document.
func (l *loader) markdown(file string, all []block) {
	if len(all) == 0 || all[0].kind != heading || all[0].level != 1 {
		l.fault(place{file, 1}, "the file must begin with a heading of the first level")
		return
	}
	if len(all) > 1 && strings.HasPrefix(all[1].text, "Ids:") {
		l.section(file, all[1:])
		return
	}
	l.document(file, all[1:])
}

// document makes sure that no clause hides where none is read.
func (l *loader) document(file string, all []block) {
	for _, b := range all {
		if b.kind == heading && idForm.MatchString(b.text) {
			l.fault(place{file, b.line}, "the clause %s stands in a file without a line \"Ids: …\" below its title", b.text)
		}
	}
}

// claim notes where an id stands and refuses a malformed or doubled one.
func (l *loader) claim(id string, at place) bool {
	if !idForm.MatchString(id) {
		l.fault(at, "bad id %q: want words such as section.what-it-says", id)
		return false
	}
	if first, taken := l.ids[id]; taken {
		l.fault(at, "duplicate id %s: it stands at %s too", id, first)
		return false
	}
	l.ids[id] = at
	return true
}

// checkProfiles finds the clauses whose profile no section declares, such as a mistyped one.
func (l *loader) checkProfiles() {
	for _, c := range l.contract.Clauses {
		if !l.profiles[c.Profile] {
			l.fault(l.ids[c.ID], "the profile %q of %s is declared by no section", c.Profile, c.ID)
		}
	}
}

func (l *loader) exclusions(all []block) {
	for len(all) > 0 {
		b := all[0]
		all = all[1:]
		if b.kind != heading || b.level < 2 {
			continue
		}
		at := place{excludedFile, b.line}
		if !l.claim(b.text, at) {
			continue
		}
		prefix, _, _ := strings.Cut(b.text, ".")
		if _, known := l.prefixes[prefix]; !known {
			l.fault(at, "no section has ids that begin with %s.", prefix)
		}
		e := Exclusion{ID: b.text}
		if len(all) > 0 && all[0].kind == paragraph {
			e.Sentence, all = all[0].text, all[1:]
		}
		if len(all) > 0 && all[0].kind == quote {
			e.Reason, _ = strings.CutPrefix(all[0].text, "Reason: ")
			if e.Reason == all[0].text {
				e.Reason = ""
			}
			all = all[1:]
		}
		if e.Sentence == "" || e.Reason == "" {
			l.fault(at, "%s needs a sentence and a quote that begins with \"Reason: \"", e.ID)
			continue
		}
		l.contract.Excluded = append(l.contract.Excluded, e)
	}
}

// pending reads ids, one a line; the rest of a line from a hash on is a comment.
func (l *loader) pending(text string) {
	listed := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		id, _, _ := strings.Cut(line, "#")
		id = strings.TrimSpace(id)
		at := place{pendingFile, i + 1}
		switch {
		case id == "":
		case !idForm.MatchString(id):
			l.fault(at, "bad id %q: want one id a line, and # before a comment", id)
		case listed[id]:
			l.fault(at, "%s is listed twice", id)
		default:
			listed[id] = true
			l.contract.Pending = append(l.contract.Pending, id)
		}
	}
}
