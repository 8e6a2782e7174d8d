package spec

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	sourceForm = regexp.MustCompile(`^(doc §\S.*|RFC [1-9][0-9]* §[0-9]+(\.[0-9]+)*|invariant)$`)
	sinceForm  = regexp.MustCompile(`^since ([1-9][0-9]{0,3})$`)
	// listForm matches what Markdown shows as a list or a table.
	listForm = regexp.MustCompile(`^([-*+|] |[0-9]+[.)] |\|)`)
)

// factsForm is what the line of facts has to look like, for errors.
const factsForm = "<level> · <profile> · fast|long · since <n> [· <source>]…"

// section reads the blocks below a section's title: its header, and then clauses with prose between the groups.
func (l *loader) section(file string, all []block) {
	at := place{file, all[0].line}
	header := headerForm.FindStringSubmatch(all[0].text)
	if header == nil {
		l.fault(at, "bad header %q: want \"Ids: `<prefix>.*` · Profile: <profile>\"", all[0].text)
		return
	}
	prefix := header[1]
	if first, taken := l.prefixes[prefix]; taken {
		l.fault(at, "the prefix %s is the one of %s too", prefix, first)
		return
	}
	l.prefixes[prefix] = at
	l.profiles[header[2]] = true

	before := len(l.faults)
	found := false
	for all = all[1:]; len(all) > 0; {
		b := all[0]
		all = all[1:]
		at := place{file, b.line}
		switch {
		case b.kind != heading:
		case b.level == 2 && !idForm.MatchString(b.text):
		case b.level == 3:
			found = true
			n := clauseLength(all)
			l.clause(at, prefix, b.text, all[:n])
			all = all[n:]
		default:
			l.fault(at, "the heading %q has level %d: a group has 2, a clause 3", b.text, b.level)
		}
	}
	if !found && len(l.faults) == before {
		l.fault(at, "the section has no clause")
	}
}

// clauseLength is the number of blocks up to the next heading.
func clauseLength(all []block) int {
	for i, b := range all {
		if b.kind == heading {
			return i
		}
	}
	return len(all)
}

// clause reads the blocks below a clause's heading.
func (l *loader) clause(at place, prefix, id string, body []block) {
	if !l.claim(id, at) {
		return
	}
	if !strings.HasPrefix(id, prefix+".") {
		l.fault(at, "%s does not begin with the section's prefix %s.", id, prefix)
		return
	}
	c := Clause{ID: id, Section: strings.TrimSuffix(at.file, ".md")}
	if len(body) == 0 || body[0].kind != paragraph {
		l.fault(at, "%s has no line of facts: want %s", id, factsForm)
		return
	}
	if !l.facts(place{at.file, body[0].line}, &c, body[0]) {
		return
	}
	if len(body) < 2 || body[1].kind != paragraph || listForm.MatchString(body[1].text) {
		l.fault(at, "%s has no sentence: want a plain paragraph below its facts", id)
		return
	}
	c.Sentence = body[1].text
	rest := body[2:]
	if len(rest) > 0 && rest[0].kind == quote {
		note, ok := strings.CutPrefix(rest[0].text, "Note: ")
		if !ok {
			l.fault(place{at.file, rest[0].line}, "the quote below %s must begin with \"Note: \"", id)
		}
		c.Note = note
		rest = rest[1:]
	}
	if len(rest) > 0 {
		l.fault(place{at.file, rest[0].line}, "unexpected text below %s: it has one paragraph and at most one note", id)
		return
	}
	l.contract.Clauses = append(l.contract.Clauses, c)
}

// facts reads the line of facts into c. It reports false when there is a fault.
func (l *loader) facts(at place, c *Clause, b block) bool {
	parts := strings.Split(b.text, " · ")
	if b.lines != 1 || len(parts) < 4 {
		l.fault(at, "bad facts %q: want one line %s and an empty line", b.text, factsForm)
		return false
	}
	before := len(l.faults)
	switch c.Level = Level(parts[0]); c.Level {
	case Must, Should, May:
	default:
		l.fault(at, "unknown level %q: want MUST, SHOULD or MAY", parts[0])
	}
	c.Profile = parts[1]
	switch parts[2] {
	case "fast":
	case "long":
		c.Long = true
	default:
		l.fault(at, "unknown time class %q: want fast or long", parts[2])
	}
	if since := sinceForm.FindStringSubmatch(parts[3]); since == nil {
		l.fault(at, "bad version %q: want \"since <n>\"", parts[3])
	} else if c.Since, _ = strconv.Atoi(since[1]); c.Since > l.contract.Version && l.contract.Version > 0 {
		l.fault(at, "since %d is later than the contract's version %d", c.Since, l.contract.Version)
	}
	for _, source := range parts[4:] {
		if !sourceForm.MatchString(source) {
			l.fault(at, "bad source %q: want \"doc §<heading>\", \"RFC <n> §<m>\" or \"invariant\"", source)
		}
	}
	c.Source = strings.Join(parts[4:], " · ")
	if c.Level == Must && c.Source == "" {
		l.fault(at, "%s is a MUST without a source", c.ID)
	}
	return len(l.faults) == before
}
