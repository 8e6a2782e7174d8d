package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// listed is a clause in the JSON of [List].
type listed struct {
	Clause
	// Specs are the names of the specs that prove the clause; empty while it is pending.
	Specs []string `json:"specs"`
	// Pending tells that no spec proves the clause yet.
	Pending bool `json:"pending,omitempty"`
}

// List prints clauses with their facts and the specs that prove them, as aligned lines for a terminal or as a JSON array.
// A clause without a spec in proved is "pending".
func List(w io.Writer, clauses []Clause, proved map[string][]string, asJSON bool) error {
	all := make([]listed, len(clauses))
	for i, c := range clauses {
		specs := append([]string{}, proved[c.ID]...)
		all[i] = listed{Clause: c, Specs: specs, Pending: len(specs) == 0}
	}
	var err error
	if asJSON {
		err = listJSON(w, all)
	} else {
		err = listText(w, all)
	}
	if err != nil {
		return fmt.Errorf("listing the clauses: %w", err)
	}
	return nil
}

func listJSON(w io.Writer, all []listed) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(all)
}

// listText prints a table and its sum.
func listText(w io.Writer, all []listed) error {
	var rows strings.Builder
	rows.WriteString("CLAUSE\tLEVEL\tPROFILE\tTIME\tSOURCE\tPROVED BY\n")
	levels := map[Level]int{}
	pending := 0
	for _, c := range all {
		levels[c.Level]++
		time, specs := "fast", c.Specs
		if c.Long {
			time = "long"
		}
		if c.Pending {
			pending++
			specs = []string{"pending"}
		}
		fmt.Fprintf(&rows, "%s\t%s\t%s\t%s\t%s\t%s\n", c.ID, c.Level, c.Profile, time, cmp.Or(c.Source, "-"), specs[0])
		for _, spec := range specs[1:] {
			fmt.Fprintf(&rows, "\t\t\t\t\t%s\n", spec)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, rows.String()); err != nil {
		return err
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d clauses: %d MUST, %d SHOULD, %d MAY; %d with a spec, %d pending\n",
		len(all), levels[Must], levels[Should], levels[May], len(all)-pending, pending)
	return err
}
