package report_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/browser-sidecar/conformance/report"
)

// TestPlantedSecretIsInNoOutput runs a whole report whose every field that a target or a user can fill holds a secret, and
// looks for it in every file and in what the console printed.
func TestPlantedSecretIsInNoOutput(t *testing.T) {
	const (
		token   = "planted-token-0123456789abcdef&<\"0123456789"
		unknown = "planted-unknown-0123456789abcdef"
	)
	planted := token + " " + base64.StdEncoding.EncodeToString([]byte("user:"+token)) + " Authorization: Bearer " + unknown
	rd := redactor(t, report.Secret{Label: "token", Value: token})

	results := make([]report.ClauseResult, 0, len(report.Outcomes()))
	for i, o := range report.Outcomes() {
		c := clause("a."+strings.ToLower(string(o)), report.Must)
		if o == report.Warn {
			c.Level, o = report.Should, report.Fail
		}
		s := spec(o)
		s.Name, s.Reason = "spec "+planted, planted
		s.Failure = &report.Failure{Did: planted, Want: []string{planted, planted}, Got: planted, Message: planted, Location: planted}
		if i%2 == 1 {
			s.Failure = nil
		}
		results = append(results, report.Combine(c, []report.SpecResult{s}))
	}
	results = append(results, report.Omit(clause("a.omitted", report.Must), report.Filtered, planted))

	for _, whole := range []func(*report.Run){
		func(*report.Run) {},
		func(r *report.Run) { r.TargetNeverReady = planted },
		func(r *report.Run) { r.HarnessError = planted },
	} {
		run := unfinished(append([]report.ClauseResult(nil), results...)...)
		run.Target.Identity, run.Target.Version = planted, planted
		run.Options = []report.Option{{Name: "target", Value: planted, Source: "flag"}}
		run.Scope.Selection = []string{planted}
		whole(run)

		dir := t.TempDir()
		e, err := report.NewEvidence(dir, rd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Save("a.fail", token+".txt", []byte(planted)); err != nil {
			t.Fatal(err)
		}
		run.Evidence = e.Files()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}

		// The console sees results as they come, before the run as a whole is redacted.
		var console bytes.Buffer
		c := report.NewConsole(&console, report.ConsoleOptions{Redactor: rd})
		c.Begin(run, nil, len(run.Clauses))
		c.Start(planted)
		for _, result := range run.Clauses {
			c.Done(result)
		}
		run.Redact(rd)
		if err := run.Finish(started); err != nil {
			t.Fatal(err)
		}
		if err := c.Finish(run, planted); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "report.json"), func(w io.Writer) error { return report.WriteJSON(w, run) })
		write(t, filepath.Join(dir, "junit.xml"), func(w io.Writer) error { return report.WriteJUnit(w, run) })
		write(t, filepath.Join(dir, "console.txt"), func(w io.Writer) error { _, err := w.Write(console.Bytes()); return err })

		looked := 0
		err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte("planted")) || strings.Contains(path, "planted") {
				t.Errorf("%s holds the secret:\n%s", path, text)
			}
			if !bytes.Contains(text, []byte("[redacted:")) {
				t.Errorf("%s shows nothing redacted", path)
			}
			looked++
			return err
		})
		if err != nil || looked != 4 {
			t.Errorf("looked at %d files, %v", looked, err)
		}
	}
}

func write(t *testing.T, path string, to func(io.Writer) error) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := to(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
