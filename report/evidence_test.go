package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/browser-sidecar/conformance/report"
)

func evidence(t *testing.T, r *report.Redactor) (*report.Evidence, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	e, err := report.NewEvidence(dir, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, dir
}

func TestEvidence(t *testing.T) {
	e, dir := evidence(t, redactor(t, report.Secret{Label: "token", Value: secret}))
	first, err := e.Save("egress.private", "stderr.txt", []byte("said "+secret))
	if err != nil || first != "evidence/egress.private/stderr.txt" {
		t.Fatalf("got %q, %v", first, err)
	}
	second, err := e.Save("egress.private", "stderr.txt", []byte("again"))
	if err != nil || second != "evidence/egress.private/stderr-2.txt" {
		t.Fatalf("got %q, %v", second, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(first)))
	if err != nil || string(text) != "said [redacted:token]" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	digest := sha256.Sum256(text)
	files := e.Files()
	if len(files) != 2 || files[0] != (report.EvidenceFile{Path: first, Bytes: len(text), SHA256: hex.EncodeToString(digest[:])}) {
		t.Errorf("files %+v", files)
	}
}

func TestEvidenceNamesStayInside(t *testing.T) {
	e, dir := evidence(t, nil)
	safe := regexp.MustCompile(`^evidence/[A-Za-z0-9_-][A-Za-z0-9._-]*/[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
	for _, name := range []string{
		"../../etc/passwd", "/etc/passwd", "..", ".", "", "a/b\\c", "nul\x00byte", "\xff", ".hidden",
		strings.Repeat("long", 100) + ".png", "." + strings.Repeat("x", 300), "ümlaut.txt",
	} {
		path, err := e.Save(name, name, []byte("x"))
		if err != nil || !safe.MatchString(path) || len(path) > 230 {
			t.Errorf("%q: got %q, %v", name, path, err)
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path))); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if path, _ := e.Save("a.b", strings.Repeat("long", 100)+".png", nil); !strings.HasSuffix(path, ".png") {
		t.Errorf("a long name lost its extension: %q", path)
	}
}

func TestEvidenceDoesNotFollowALinkOut(t *testing.T) {
	e, dir := evidence(t, nil)
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(dir, "evidence")); err != nil {
		t.Fatal(err)
	}
	if path, err := e.Save("a.b", "x.txt", []byte("x")); err == nil {
		t.Errorf("saved %q through a link out of the directory", path)
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("%d entries outside", len(entries))
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	e, dir := evidence(t, nil)
	path, err := e.Save("a.b", "big.bin", bytes.Repeat([]byte("x"), 33<<20))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil || len(text) > 32<<20+100 || !bytes.HasSuffix(text, []byte("[cut here: 34603008 bytes in all]\n")) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestEvidenceSideBySide(t *testing.T) {
	e, _ := evidence(t, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := e.Save("a.b", "x.txt", []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	seen := make(map[string]bool)
	for _, f := range e.Files() {
		seen[f.Path] = true
	}
	if len(seen) != 8 {
		t.Errorf("%d different paths, want 8", len(seen))
	}
}
