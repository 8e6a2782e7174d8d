package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// The JUnit elements that readers agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		duration   time.Duration
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Classname string        `xml:"classname,attr"`
		Time      string        `xml:"time,attr"`
		Failure   *junitProblem `xml:"failure"`
		Error     *junitProblem `xml:"error"`
		Skipped   *junitSkipped `xml:"skipped"`
		Output    string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	junitSkipped struct {
		Message string `xml:"message,attr"`
	}
)

// WriteJUnit writes a finished run for tools that show JUnit: a testsuite for each section, a testcase for each clause,
// named by its id. A broken MUST is a <failure>, an error of the suite itself an <error>, whatever did not run is
// <skipped> with its reason; a broken SHOULD passes, as in the verdict, and tells of itself in <system-out>.
func WriteJUnit(w io.Writer, r *Run) error {
	if r.Verdict.Value == "" {
		return fmt.Errorf("writing the JUnit report: the run is not finished")
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(r.junit()); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	return nil
}

func (r *Run) junit() junitSuites {
	all := junitSuites{
		Name: visible(r.Contract.Name + " " + r.Contract.Version),
		Time: seconds(r.Finished.Sub(r.Started)),
	}
	places := make(map[string]int)
	for i := range r.Clauses {
		c := &r.Clauses[i]
		at, known := places[c.Section]
		if !known {
			at = len(all.Suites)
			places[c.Section] = at
			all.Suites = append(all.Suites, junitSuite{
				Name:       visible(c.Section),
				Timestamp:  r.Started.UTC().Format("2006-01-02T15:04:05"),
				Properties: r.properties(),
			})
		}
		all.Suites[at].add(r.junitCase(c), time.Duration(c.Duration))
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		s.Time = seconds(s.duration)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
	}
	return all
}

func (s *junitSuite) add(c junitCase, took time.Duration) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	s.duration += took
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func (r *Run) junitCase(c *ClauseResult) junitCase {
	result := junitCase{
		Name:      visible(c.ID),
		Classname: visible(r.Contract.Name + "." + c.Section),
		Time:      seconds(time.Duration(c.Duration)),
	}
	problem := func() *junitProblem {
		return &junitProblem{
			Message: clip(visible(c.Reason), 300),
			Type:    string(c.Outcome),
			Text:    visible(strings.Join(c.story(""), "\n")),
		}
	}
	switch {
	case c.Breaks():
		result.Failure = problem()
	case c.Outcome == HarnessError:
		result.Error = problem()
	case c.Outcome.broken():
		result.Output = visible(string(c.Outcome) + "\n" + strings.Join(c.story(""), "\n"))
	case !c.Executed():
		result.Skipped = &junitSkipped{Message: visible(string(c.Outcome) + string(c.Omitted) + ": " + c.Reason)}
	}
	return result
}

// properties repeat the verdict in each testsuite, since readers know them nowhere else.
func (r *Run) properties() []junitProperty {
	properties := []junitProperty{
		{"verdict", string(r.Verdict.Value)},
		{"grade", string(r.Verdict.Grade)},
		{"verdict_text", r.Verdict.Text},
		{"suite", r.Suite.Name + " " + r.Suite.Version},
		{"target", string(r.Target.Kind) + " " + r.Target.Identity},
		{"target_version", r.Target.Version},
		{"profiles", strings.Join(r.Profiles, ",")},
		{"seed", strconv.FormatInt(r.Seed, 10)},
	}
	for i := range properties {
		properties[i].Value = visible(properties[i].Value)
	}
	return properties
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', 3, 64)
}
