package browser

import (
	"os"
	"path/filepath"
	"sort"
)

// ExecutableVariable names the environment variable that overrides where Chromium is looked for.
const ExecutableVariable = "SIDECAR_CHROMIUM"

// Find returns the Chromium that Start would use, and whether there is one. It looks, in this order, at: the file
// that SIDECAR_CHROMIUM names (and nowhere else when it is set); Debian's binary; the usual commands in /usr/bin,
// /usr/local/bin and /opt; and the newest chromium-* folder under PLAYWRIGHT_BROWSERS_PATH.
func Find() (path string, ok bool) { return find("/", os.Getenv) }

func find(root string, getenv func(string) string) (string, bool) {
	if named := getenv(ExecutableVariable); named != "" {
		return named, executable(named)
	}
	for _, name := range []string{
		// Debian's /usr/bin/chromium is a script that adds flags and extensions of its own; the binary comes first.
		"usr/lib/chromium/chromium",
		"usr/bin/chromium", "usr/bin/chromium-browser", "usr/bin/google-chrome", "usr/bin/google-chrome-stable",
		"usr/local/bin/chromium", "usr/local/bin/google-chrome", "opt/google/chrome/chrome",
	} {
		if path := filepath.Join(root, name); executable(path) {
			return path, true
		}
	}
	folder := getenv("PLAYWRIGHT_BROWSERS_PATH")
	if folder == "" {
		return "", false
	}
	var found []string
	for _, layout := range []string{"chromium-*/chrome-linux*/chrome", "chromium-*/chrome"} {
		matches, err := filepath.Glob(filepath.Join(folder, layout))
		if err == nil {
			found = append(found, matches...)
		}
	}
	// The newest revision has the greatest number; a longer number is a greater one.
	sort.Slice(found, func(i, j int) bool {
		if len(found[i]) != len(found[j]) {
			return len(found[i]) > len(found[j])
		}
		return found[i] > found[j]
	})
	for _, path := range found {
		if executable(path) {
			return path, true
		}
	}
	return "", false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
