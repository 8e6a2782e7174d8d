package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/browser-sidecar/conformance/report"
)

// suites is JUnit as a reader sees it.
type suites struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name       string `xml:"name,attr"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Cases []struct {
			Name      string    `xml:"name,attr"`
			Classname string    `xml:"classname,attr"`
			Failures  []problem `xml:"failure"`
			Errors    []problem `xml:"error"`
			Skipped   []problem `xml:"skipped"`
			Output    string    `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func junit(t *testing.T, run *report.Run) suites {
	t.Helper()
	var out bytes.Buffer
	if err := report.WriteJUnit(&out, run); err != nil {
		t.Fatal(err)
	}
	// The whole document must be well-formed, to its end.
	decoder := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v\n%s", err, out.Bytes())
		}
	}
	var read suites
	if err := xml.Unmarshal(out.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestJUnit(t *testing.T) {
	read := junit(t, sample(t))
	if read.Tests != 11 || read.Failures != 2 || read.Errors != 1 || read.Skipped != 5 {
		t.Errorf("counts: %d tests, %d failures, %d errors, %d skipped", read.Tests, read.Failures, read.Errors, read.Skipped)
	}
	var sections, cases []string
	for _, s := range read.Suites {
		sections = append(sections, s.Name)
		for _, c := range s.Cases {
			kind := "passed"
			switch {
			case len(c.Failures) == 1:
				kind = "failure " + c.Failures[0].Type
			case len(c.Errors) == 1:
				kind = "error " + c.Errors[0].Type
			case len(c.Skipped) == 1:
				kind = "skipped " + c.Skipped[0].Message
			case c.Output != "":
				kind = "told"
			}
			if want := "sidecar." + s.Name; c.Classname != want {
				t.Errorf("%s has the classname %q, want %q", c.Name, c.Classname, want)
			}
			cases = append(cases, c.Name+": "+kind)
		}
	}
	if got := strings.Join(sections, " "); got != "a b c" {
		t.Errorf("testsuites %q, want one for each section", got)
	}
	want := []string{
		"a.pass: passed",
		"a.fail: failure FAIL",
		"a.warn: told",
		"b.flaky: told",
		"b.timeout: failure TIMEOUT",
		"b.harness: error HARNESS_ERROR",
		"b.could-not: skipped COULD_NOT_RUN: no display",
		"c.foreign: skipped NOT_APPLICABLE: profile live is not claimed",
		"c.pending: skipped pending: no spec yet",
		"c.filtered: skipped filtered: --section a",
		"c.long: skipped long: needs --long",
	}
	if !slices.Equal(cases, want) {
		t.Errorf("testcases:\n got %s\nwant %s", strings.Join(cases, "\n     "), strings.Join(want, "\n     "))
	}
	failure := read.Suites[0].Cases[1].Failures[0]
	for _, part := range []string{
		"must      the sentence of a.fail", "did       asked", "- 403", "- 502",
		"got       200", "evidence  evidence/a.b/transcript.txt",
	} {
		if !strings.Contains(failure.Text, part) {
			t.Errorf("the failure lacks %q:\n%s", part, failure.Text)
		}
	}
	if p := read.Suites[2].Properties[0]; p.Name != "verdict" || p.Value != "not conformant" {
		t.Errorf("first property %+v", p)
	}
}

func TestJUnitSurvivesHostileText(t *testing.T) {
	hostile := "a\x00b\x1b[31m\xff\ufffe]]><&\"'\r\n\u2028end"
	c := report.Combine(clause("a.fail", report.Must), []report.SpecResult{{
		Name: hostile, Outcome: report.Fail,
		Failure: &report.Failure{Did: hostile, Want: []string{hostile}, Got: hostile},
	}})
	skipped := report.NotRun(clause("a.skip", report.Must), report.CouldNotRun, hostile)
	run := unfinished(c, skipped)
	run.Target.Identity = hostile
	if err := run.Finish(started); err != nil {
		t.Fatal(err)
	}
	text := junit(t, run).Suites[0].Cases[0].Failures[0].Text
	for _, part := range []string{`a\u0000b\u001b[31m\xff\ufffe]]><&"'`, "end"} {
		if !strings.Contains(text, part) {
			t.Errorf("the failure lacks %q:\n%q", part, text)
		}
	}
}

func TestWriteJUnitRefuses(t *testing.T) {
	if err := report.WriteJUnit(io.Discard, unfinished()); err == nil {
		t.Error("an unfinished run: want an error")
	}
	if err := report.WriteJUnit(brokenWriter{}, sample(t)); err == nil {
		t.Error("a broken writer: want an error")
	}
}
