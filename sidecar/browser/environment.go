package browser

import "strings"

// environment keeps what Chromium needs of the sidecar's environment and nothing else, so that no secret and no
// proxy setting of the machine reaches it. HOME stays: Chromium's trust store is in $HOME/.pki/nssdb.
func environment(all []string) []string {
	kept := []string{}
	for _, entry := range all {
		name, _, _ := strings.Cut(entry, "=")
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
