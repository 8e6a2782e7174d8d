package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// reader takes typed values out of decoded JSON. It keeps the first problem; after one, values mean nothing.
type reader struct {
	err     error
	ignored map[string]bool // paths of unknown keys
}

// object is a decoded object and where it stands in the configuration.
type object struct {
	path   string
	fields map[string]any
}

func (r *reader) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// object returns the object under key; ok is false where there is none.
func (r *reader) object(in object, key string) (sub object, ok bool) {
	v := in.fields[key]
	if v == nil {
		return object{}, false
	}
	fields, ok := v.(map[string]any)
	if !ok {
		r.failf("%s must be an object", join(in.path, key))
	}
	return object{path: join(in.path, key), fields: fields}, ok
}

// unknown notes the keys of in that aren't among known.
func (r *reader) unknown(in object, known ...string) {
	for key := range in.fields {
		if !slices.Contains(known, key) {
			r.ignored[join(in.path, key)] = true
		}
	}
}

// warnings lists the unknown keys, a bounded number of them.
func (r *reader) warnings() []Warning {
	const most = 20
	var out []Warning
	for i, path := range slices.Sorted(maps.Keys(r.ignored)) {
		if i == most {
			out = append(out, Warning(fmt.Sprintf("%d more unknown keys are ignored", len(r.ignored)-most)))
			break
		}
		out = append(out, Warning("unknown key "+quoted(path)+" is ignored"))
	}
	return out
}

// text returns the string under key; ok is false where there is none, or something else.
func text(in object, key string) (s string, ok bool) {
	s, ok = in.fields[key].(string)
	return s, ok
}

// texts returns the list of strings under key, nil where it is absent; ok is false where there is something else.
func texts(in object, key string) (list []string, ok bool) {
	v := in.fields[key]
	if v == nil {
		return nil, true
	}
	items, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, true
}

func (r *reader) choice(in object, key, otherwise string, choices []string) string {
	if in.fields[key] == nil {
		return otherwise
	}
	s, ok := text(in, key)
	if !ok || !slices.Contains(choices, s) {
		r.failf("%s must be one of %s", join(in.path, key), strings.Join(choices, ", "))
	}
	return s
}

// integer accepts every spelling of a whole number that JSON has, 1e3 and 5.0 too.
func (r *reader) integer(in object, key string, otherwise, least, most int64) int64 {
	v := in.fields[key]
	if v == nil {
		return otherwise
	}
	n, ok := v.(json.Number)
	var f float64
	if ok {
		f, ok = finite(n)
	}
	if !ok || f != math.Trunc(f) || f < float64(least) || f > float64(most) {
		path := join(in.path, key)
		switch {
		case most < maxInteger:
			r.failf("%s must be an integer from %d to %d", path, least, most)
		case least == 1:
			r.failf("%s must be a positive integer", path)
		default:
			r.failf("%s must be an integer of at least %d", path, least)
		}
		return 0
	}
	return int64(f)
}

func finite(n json.Number) (float64, bool) {
	f, err := strconv.ParseFloat(n.String(), 64)
	return f, err == nil
}

func (r *reader) capabilities(in object) []string {
	list, ok := texts(in, "capabilities")
	var out []string
	for _, s := range list {
		if ok = slices.Contains([]string{"testing", "vision", "pdf"}, s); !ok {
			break
		}
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if !ok {
		r.failf("capabilities may only name testing, vision, pdf")
	}
	return out
}

func (r *reader) allowedHosts(in object) []string {
	list, ok := texts(in, "allowed_hosts")
	for _, s := range list {
		ok = ok && word(s)
	}
	if !ok {
		r.failf("allowed_hosts must be a list of host names")
	}
	return list
}

// chromiumSandbox is the one key for which null is not the same as absent: a security switch isn't guessed.
func (r *reader) chromiumSandbox(in object) bool {
	v, named := in.fields["chromium_sandbox"]
	if !named {
		return true
	}
	on, ok := v.(bool)
	if !ok {
		r.failf("chromium_sandbox must be true or false")
	}
	return on
}

// workdir only looks at the text; whether the directory is there is known when it is used.
func (r *reader) workdir(in object) string {
	if in.fields["workdir"] == nil {
		return ""
	}
	s, ok := text(in, "workdir")
	if !ok || s == "" || strings.ContainsRune(s, 0) {
		r.failf("workdir must be a directory path")
	}
	return s
}

func (r *reader) token(in object) Secret {
	s, ok := text(in, "token")
	if !ok || len([]rune(s)) < 32 || !word(s) {
		r.failf("%s must be a string of at least 32 characters without whitespace", join(in.path, "token"))
	}
	return Secret(s)
}

func (r *reader) sessionID(in object) string {
	s, ok := text(in, "session_id")
	if !ok || s == "" {
		r.failf("%s must name the sandbox session", join(in.path, "session_id"))
	}
	return s
}

// word reports a text without blanks and control characters, which could stand in no header.
func word(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) })
}

// maxTime is the end of JavaScript's time, which the dashboard's values come from, in milliseconds.
const maxTime = 8.64e15

// timeForms are the ISO 8601 forms that are taken. Without a zone a time is local, a date alone is UTC, as in JavaScript.
func timeForms() []string {
	return []string{
		time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999Z0700",
		"2006-01-02T15:04:05.999999999", "2006-01-02T15:04",
	}
}

func (r *reader) stopAt(in object) time.Time {
	switch v := in.fields["stop_at"].(type) {
	case nil:
		return time.Time{}
	case json.Number:
		if ms, ok := finite(v); ok && math.Abs(ms) <= maxTime {
			return time.UnixMilli(int64(ms))
		}
	case string:
		for _, form := range timeForms() {
			if t, err := time.ParseInLocation(form, v, time.Local); err == nil {
				return t
			}
		}
		if t, err := time.Parse(time.DateOnly, v); err == nil {
			return t
		}
	}
	r.failf("stop_at must be epoch milliseconds or an ISO 8601 time")
	return time.Time{}
}
