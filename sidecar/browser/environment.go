package browser

import (
	"path/filepath"
	"strings"
)

// maxTemp leaves room for the socket that Chromium puts into a directory of its own there: its whole path may have 107
// bytes.
const maxTemp = 60

// environment keeps what Chromium needs of the sidecar's environment and nothing else, so that no secret and no
// proxy setting of the machine reaches it. HOME stays: Chromium's trust store is in $HOME/.pki/nssdb. Its temporary
// files go into the profile, which goes when the sidecar does, where that path is short enough.
func environment(all []string, profile string) []string {
	// A crash dump is a page's memory: it goes into the profile, and with it, instead of staying in HOME.
	kept := []string{"BREAKPAD_DUMP_LOCATION=" + filepath.Join(profile, "Crash Reports")}
	own := len(profile) <= maxTemp
	if own {
		kept = append(kept, "TMPDIR="+profile)
	}
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
		if name == "TMPDIR" && own {
			continue
		}
		switch name {
		case "HOME", "PATH", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
			"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
			"XDG_DATA_DIRS", "FONTCONFIG_FILE", "FONTCONFIG_PATH":
			kept = append(kept, entry)
		default:
			if strings.HasPrefix(name, "LC_") {
				kept = append(kept, entry)
			}
		}
	}
	return kept
}
