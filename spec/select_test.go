package spec

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func doors() *Contract {
	clause := func(id, section, profile string, level Level) Clause {
		return Clause{ID: id, Section: section, Profile: profile, Level: level, Since: 1, Sentence: "It does."}
	}
	return &Contract{
		Name: "doors", Version: 1,
		Clauses: []Clause{
			clause("door.opens", "doors", "core", Must),
			clause("door.shuts", "doors", "core", Should),
			clause("gate.opens", "gates", "yard", Must),
		},
		Pending: []string{"gate.opens"},
	}
}

func TestContractKnowsItsParts(t *testing.T) {
	c := doors()
	if got := c.Profiles(); !slices.Equal(got, []string{"core", "yard"}) {
		t.Errorf("got the profiles %v", got)
	}
	if got := c.Sections(); !slices.Equal(got, []string{"doors", "gates"}) {
		t.Errorf("got the sections %v", got)
	}
	if got, ok := c.Clause("gate.opens"); !ok || got.Section != "gates" {
		t.Errorf("got %+v, %v", got, ok)
	}
	if got, ok := c.Clause("gate"); ok {
		t.Errorf("got %+v for an unknown clause", got)
	}
}

func TestSelect(t *testing.T) {
	for _, test := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"everything", Filter{}, "door.opens door.shuts gate.opens"},
		{"a profile", Filter{Profiles: []string{"core"}}, "door.opens door.shuts"},
		{"two profiles add up", Filter{Profiles: []string{"yard", "core"}}, "door.opens door.shuts gate.opens"},
		{"a section", Filter{Sections: []string{"gates"}}, "gate.opens"},
		{"clauses in the contract's order", Filter{Clauses: []string{"gate.opens", "door.opens"}}, "door.opens gate.opens"},
		{"a section narrows clauses", Filter{Sections: []string{"doors"}, Clauses: []string{"gate.opens", "door.opens"}}, "door.opens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := doors().Select(test.filter)
			if err != nil {
				t.Fatal(err)
			}
			if ids := join(got); ids != test.want {
				t.Errorf("got %s, want %s", ids, test.want)
			}
		})
	}
}

func join(clauses []Clause) string {
	ids := make([]string, len(clauses))
	for i, c := range clauses {
		ids[i] = c.ID
	}
	return strings.Join(ids, " ")
}

func TestSelectRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"an unknown clause", Filter{Clauses: []string{"gate.open"}}, []string{`unknown clause "gate.open"; the nearest are gate.opens, door.opens, door.shuts`}},
		{"an unknown section", Filter{Sections: []string{"door"}}, []string{`unknown section "door"; the nearest are doors, gates`}},
		{"an unknown profile", Filter{Profiles: []string{""}}, []string{`unknown profile ""; the nearest are core, yard`}},
		{"every unknown name", Filter{Profiles: []string{"a"}, Clauses: []string{"b", "door.opens", "c"}}, []string{`"a"`, `"b"`, `"c"`}},
		{"an empty selection", Filter{Profiles: []string{"yard"}, Sections: []string{"doors"}}, []string{"the selection is empty", "profile yard, section doors"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := doors().Select(test.filter)
			if err == nil {
				t.Fatalf("no error, got %v", got)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			}
			if empty := test.name == "an empty selection"; errors.Is(err, ErrEmptySelection) != empty {
				t.Errorf("errors.Is(ErrEmptySelection) is %v for %v", !empty, err)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"ab", "ba", 2}, {"axbc", "abc", 1}, {"abc", "xabc", 1}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) is %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
