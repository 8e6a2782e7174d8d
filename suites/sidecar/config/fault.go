package config

import (
	"strings"
)

// fault is one way in which a configuration is wrong.
type fault struct {
	// at is the path of the key whose value is replaced; "" where the whole text is.
	at string
	// is the JSON in its place, absent to take the key away; or the whole text. Both may hold marks, see newTrial.
	is string
	// names are words of which the message must hold one.
	names []string
}

const absent = ""

func (f fault) String() string {
	is := f.is
	switch {
	case f.at == "":
		return "the text " + abridged(is)
	case is == absent:
		return f.at + " left out"
	}
	return f.at + " " + abridged(is)
}

// abridged shows enough of a text to find it in the table.
func abridged(s string) string {
	const most = 100
	if s = strings.ReplaceAll(s, "\n", `\n`); len(s) > most {
		return s[:most] + "…"
	}
	return "«" + s + "»"
}

// at makes a fault of each value of one key. The message must name the key by the last word of its path: how a path is
// written is free, as in "live.origins", "origins of live" or "live: origins".
func at(path string, values ...string) []fault {
	return about(path, []string{path[strings.LastIndexByte(path, '.')+1:]}, values...)
}

// about is at for values inside which the fault lies: any of the names will do.
func about(path string, names []string, values ...string) []fault {
	faults := make([]fault, 0, len(values))
	for _, v := range values {
		faults = append(faults, fault{at: path, is: v, names: names})
	}
	return faults
}

// texts makes faults of whole texts, which have no key to name.
func texts(all ...string) []fault {
	faults := make([]fault, 0, len(all))
	for _, t := range all {
		faults = append(faults, fault{is: t})
	}
	return faults
}
