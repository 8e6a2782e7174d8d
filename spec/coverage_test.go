package spec

import (
	"strings"
	"testing"
)

func TestCheckCoverage(t *testing.T) {
	proved := func(more ...string) map[string][]string {
		all := map[string][]string{"door.opens": {"opens when asked"}, "door.shuts": {"shuts when asked", "shuts at night"}}
		for _, id := range more {
			all[id] = []string{"does " + id}
		}
		return all
	}
	for _, test := range []struct {
		name    string
		pending []string
		proved  map[string][]string
		want    []string
	}{
		{"all is covered", []string{"gate.opens"}, proved(), nil},
		{"nothing is pending", nil, proved("gate.opens"), nil},
		{"a clause is forgotten", nil, proved(), []string{"the clause gate.opens has neither a spec nor an entry in pending.txt"}},
		{
			"a clause has an empty list of specs",
			[]string{"gate.opens"},
			map[string][]string{"door.opens": {}, "door.shuts": {"shuts"}},
			[]string{"the clause door.opens has neither a spec nor an entry in pending.txt"},
		},
		{
			"a proved clause is still pending",
			[]string{"door.shuts", "gate.opens"},
			proved(),
			[]string{`pending.txt lists door.shuts, which has a spec: "shuts when asked", "shuts at night"`},
		},
		{
			"the list names an unknown clause",
			[]string{"gate.open", "gate.opens"},
			proved(),
			[]string{"pending.txt: the clause gate.open is unknown; the nearest are gate.opens"},
		},
		{
			"a spec names an unknown clause",
			[]string{"gate.opens"},
			proved("door.open"),
			[]string{`the spec "does door.open": the clause door.open is unknown; the nearest are door.opens`},
		},
		{
			"both name an unknown clause",
			[]string{"gate.opens", "x.y"},
			proved("x.y"),
			[]string{`pending.txt and the spec "does x.y": the clause x.y is unknown`},
		},
		{"an unknown clause has no spec either", []string{"gate.opens"}, map[string][]string{
			"door.opens": {"opens"}, "door.shuts": {"shuts"}, "x.y": nil,
		}, []string{"the suite: the clause x.y is unknown"}},
		{"several faults, in order", nil, map[string][]string{"door.opens": {"opens"}}, []string{"door.shuts has neither", "gate.opens has neither"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := doors()
			c.Pending = test.pending
			err := c.CheckCoverage(test.proved)
			if len(test.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("got %d faults, want %d:\n%v", len(lines), len(test.want), err)
			}
			for i, want := range test.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
		})
	}
}
