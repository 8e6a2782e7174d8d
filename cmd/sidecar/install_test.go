package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const script = "#!/bin/sh\nexit 0\n"

func zipped(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range names {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o755)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write([]byte(script))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func tarred(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, h := range headers {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(script))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			_, _ = w.Write([]byte(script))
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// installed runs the command on content, served over HTTP, with an empty folder to install into.
func installed(t *testing.T, content []byte, sum string) (code int, stdout, stderr, folder string) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/browser" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
	defer site.Close()
	folder = filepath.Join(t.TempDir(), "browsers")
	t.Setenv(browsersVariable, folder)
	if sum == "" {
		digest := sha256.Sum256(content)
		sum = hex.EncodeToString(digest[:])
	}
	var out, errs bytes.Buffer
	code = run([]string{"install-browser", "--from", site.URL + "/browser", "--sha256", sum}, nil, &out, &errs)
	return code, out.String(), errs.String(), folder
}

func TestInstallTakesEachForm(t *testing.T) {
	for name, tc := range map[string]struct {
		content []byte
		path    string
	}{
		"zip":        {zipped(t, "chrome-linux64/chrome", "chrome-linux64/locales/en.pak"), "chrome-linux64/chrome"},
		"tar.gz":     {tarred(t, tar.Header{Name: "chrome-linux/", Typeflag: tar.TypeDir, Mode: 0o700}, tar.Header{Name: "./chrome-linux/chrome", Typeflag: tar.TypeReg, Mode: 0o755}), "chrome-linux/chrome"},
		"executable": {[]byte(script), "chrome"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr, folder := installed(t, tc.content, "")
			found, _ := filepath.Glob(filepath.Join(folder, "chromium-*", tc.path))
			if code != exitDone || len(found) != 1 || !strings.Contains(stdout, found[0]) {
				t.Fatalf("exit code %d, %q, %q, %q", code, stdout, stderr, found)
			}
			if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			digest := sha256.Sum256(tc.content)
			var out, errs bytes.Buffer
			again := []string{"install-browser", "--from", "/nowhere", "--sha256", hex.EncodeToString(digest[:])}
			if code := run(again, nil, &out, &errs); code != exitDone || !strings.Contains(out.String(), "already") {
				t.Errorf("again: exit code %d, %q, %q", code, out.String(), errs.String())
			}
		})
	}
}

func TestInstallRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		content []byte
		sum     string
		want    string
	}{
		"another checksum":  {[]byte(script), strings.Repeat("ab", 32), "the checksum is"},
		"no checksum":       {[]byte(script), "abc", "--sha256 takes 64 hexadecimal digits"},
		"no executable":     {zipped(t, "readme"), "", "it holds no executable"},
		"something else":    {[]byte("hello"), "", "neither a zip or tar.gz archive nor an executable"},
		"a broken archive":  {zipped(t, "chrome")[:40], "", "unpacking"},
		"a way out":         {zipped(t, "chrome", "../../out"), "", "escapes"},
		"an absolute way":   {tarred(t, tar.Header{Name: "/out", Typeflag: tar.TypeReg, Mode: 0o755}), "", "escapes"},
		"a link":            {tarred(t, tar.Header{Name: "chrome", Typeflag: tar.TypeSymlink, Linkname: "/bin/sh"}), "", "neither a file nor a folder"},
		"an entry twice":    {zipped(t, "chrome", "chrome"), "", "exists"},
		"nothing to unpack": {nil, "", "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr, folder := installed(t, tc.content, tc.sum)
			if code == exitDone || stdout != "" || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
			}
			left, _ := filepath.Glob(filepath.Join(folder, "*"))
			hidden, _ := filepath.Glob(filepath.Join(folder, ".*"))
			if len(left)+len(hidden) > 0 {
				t.Errorf("left: %q %q", left, hidden)
			}
		})
	}
}

func TestInstallSaysWhatIsMissing(t *testing.T) {
	t.Setenv(browsersVariable, "")
	var out, errs bytes.Buffer
	args := []string{"install-browser", "--from", "/nowhere", "--sha256", strings.Repeat("00", 32)}
	if code := run(args, nil, &out, &errs); code != exitFault || !strings.Contains(errs.String(), browsersVariable) {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
	errs.Reset()
	t.Setenv(browsersVariable, t.TempDir())
	if code := run(args, nil, &out, &errs); code != exitFault || !strings.Contains(errs.String(), "/nowhere") {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
	errs.Reset()
	t.Setenv("SIDECAR_CHROMIUM", "/nowhere/chromium")
	if code := run([]string{"install-browser"}, nil, &out, &errs); code != exitFault || !strings.Contains(errs.String(), "no Chromium is installed") {
		t.Errorf("exit code %d, %q", code, errs.String())
	}
	file := filepath.Join(t.TempDir(), "chromium")
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SIDECAR_CHROMIUM", file)
	if code := run([]string{"install-browser"}, nil, &out, &errs); code != exitDone || !strings.Contains(out.String(), "already: "+file) {
		t.Errorf("exit code %d, %q", code, out.String())
	}
}

func TestAnInstallEndsWithItsContext(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer site.Close()
	folder := t.TempDir()
	t.Setenv(browsersVariable, folder)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := install(ctx, site.URL, make([]byte, sha256.Size), &bytes.Buffer{}); err == nil {
		t.Error("it went on")
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
