package navigation

import (
	"fmt"
	"strings"

	"github.com/browser-sidecar/conformance/lab"
)

// group is a kind of URLs that an agent may name.
type group struct {
	kind string
	urls []string
}

// foreign are URLs that lead elsewhere than to the app at 127.0.0.1:3000 in a browser's reading, or nowhere.
func foreign(l *lab.Lab, sidecarPort int) []group {
	app := l.AppAddr().String()
	pub := fmt.Sprintf("shop.%s:%d", lab.PublicName, lab.SitePort)
	return []group{
		{"another host, port or scheme", []string{
			"http://" + pub + "/x", l.SecureURL("shop."+lab.PublicName, "/x"), l.PublicURL(0, "/x"), l.PublicURL(3, "/x"),
			"http://127.0.0.1:8080/", "http://127.0.0.1/", "http://127.0.0.1:30000/", "http://127.0.0.1:300/", "http://127.0.0.2:3000/",
			"http://127.0.0.11:3000/", fmt.Sprintf("http://127.0.0.1:%d/health", sidecarPort), "http://10.0.0.5:3000/",
			"http://169.254.169.254/latest/", "https://" + app + "/", "ws://" + app + "/ws", "wss://" + app + "/ws", "ftp://" + app + "/",
			"httpx://" + app + "/", "intent://" + app + "/#Intent;scheme=http;end",
		}},
		{"another name of the app's address", []string{
			"http://localhost:3000/", "http://LOCALHOST:3000/", "http://localhost.:3000/", "http://app.localhost:3000/", "http://[::1]:3000/",
			"http://[::ffff:127.0.0.1]:3000/", "http://[::ffff:7f00:1]:3000/", "http://[::127.0.0.1]:3000/", "http://0.0.0.0:3000/",
			"http://0:3000/",
		}},
		{"a name that begins or ends as the app's", []string{
			"http://127.0.0.1." + pub + "/", "http://127.0.0.1." + lab.PublicName + ":3000/", "http://127.0.0.1-" + pub + "/",
			"http://" + app + "." + pub + "/", "http://evil.127.0.0.1:3000/", "http://evil" + app + "/", "http://" + app + "0/",
		}},
		{"slashes and backslashes instead of a scheme", []string{
			"//" + pub + "/x", "///" + pub + "/x", "////" + pub + "/x", `/\` + pub + "/x", `\/` + pub + "/x", `\\` + pub + "/x",
			`/\/` + pub + "/x", `\\\` + pub + "/x", `//\` + pub + "/x", "//127.0.0.1:8080/", "//localhost:3000/", "//" + app + "@" + pub + "/x",
		}},
		{"sloppy slashes behind a scheme", []string{
			"http:/" + pub + "/x", "http:" + pub + "/x", `http:\\` + pub + `\x`, `http:/\` + pub + "/x", `http:\/` + pub + "/x",
			"http:///" + pub + "/x", "http://///" + pub + "/x", "https:/" + pub + "/x", "https:" + pub + "/x", `http://\` + pub + "/x",
		}},
		{"tabs and line breaks inside", []string{
			"/\t/" + pub + "/x", "/\n/" + pub + "/x", "/\r/" + pub + "/x", "/\t\\" + pub + "/x", "\t//" + pub + "/x", "\n/\n/\n" + pub + "/x",
			"ht\ntp://" + pub + "/x", "h\tttp:/\t/" + pub + "/x", "http:/\r\n/" + pub + "/x", "http\t:" + pub + "/x",
			"http://127.0.0.1\n." + pub + "/", "http://" + app + "\t@" + pub + "/x", "http://127.0.0.1:30\t00@" + pub + "/x",
		}},
		{"the app's name before an @, encoded or not", []string{
			"http://" + app + "@" + pub + "/x", "http://127.0.0.1@" + pub + "/x", "http://127.0.0.1%3A3000@" + pub + "/x",
			"http://" + app + "%2f@" + pub + "/x", "http://" + app + "%5c@" + pub + "/x", "http://" + app + "%23@" + pub + "/x",
			"http://" + app + "%3f@" + pub + "/x", "http://" + app + "%00@" + pub + "/x", "http://" + app + "%0a@" + pub + "/x",
			"http://user:" + app + "@" + pub + "/x", "http://" + app + "@@" + pub + "/x", "http://" + app + "\uff0f@" + pub + "/x",
		}},
		{"the app's name behind a delimiter", []string{
			"http://" + pub + "#@" + app + "/", "http://" + pub + "?@" + app + "/", "http://" + pub + "/@" + app + "/", `http://` + pub + `\@` + app + "/",
			"http://" + pub + "#http://" + app + "/", "http://" + pub + "%2f." + app + "/", "http://" + pub + "%00." + app + "/",
			"http://" + pub + "%23." + app + "/", "http://" + pub + "\x00." + app + "/",
		}},
		{"a scheme without a host", []string{
			"file:///etc/hostname", "FILE:///etc/hostname", "file:/etc/hostname", "file:etc/hostname", "file://" + app + "/etc/hostname",
			"file://localhost/etc/hostname", "data:text/html,<title>data</title>", "DATA:text/html;base64,PHA+", "data://" + app + "/,x",
			"view-source:http://" + app + "/", "View-Source:http://" + app + "/", "blob:http://" + app + "/9115d58c-bcda-ff47-86e5-083e9a215304",
			"blob:null/9115d58c-bcda-ff47-86e5-083e9a215304", "filesystem:http://" + app + "/temporary/x", "about:srcdoc", "about:settings",
			"about:version", "about:", "about:newtab", "about:blank.html", "chrome://version", "chrome:version", "CHROME://settings",
			"chrome-error://chromewebdata/", "chrome-untrusted://print/", "chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html",
			"devtools://devtools/bundled/inspector.html", "mailto:somebody@" + lab.PublicName, "tel:1", "urn:x:y", "isolated-app://" + app + "/",
		}},
		{"a script", []string{
			"javascript:void(window.mark='script')", "JavaScript:void(window.mark='script')", " javascript:void(window.mark='script')",
			"\x01javascript:void(window.mark='script')", "\x00javascript:void(window.mark='script')", "\tjavascript:void(window.mark='script')",
			"java\tscript:void(window.mark='script')", "java\nscript:void(window.mark='script')", "javascript\r:void(window.mark='script')",
			"javascript://" + app + "/%0avoid(window.mark='script')", "javascript://" + app + "/\nvoid(window.mark='script')",
			"\u00a0javascript:void(window.mark='script')", "view-source:javascript:void(window.mark='script')", "javascript:",
		}},
		{"nothing", []string{
			"", " ", "\t\n", "\u00a0", "http:", "http:/", "http://", "http:///", "://", "http://:3000/", "http://@/", "http://@:3000/", "https://",
		}},
		{"blanks and control characters in front", leading("http://" + pub + "/x")},
		{"blanks and control characters in front of slashes", leading("//" + pub + "/x")},
		{"letters and signs beyond ASCII", []string{
			"http://\uff53\uff48\uff4f\uff50." + pub + "/x", "http://shop\u3002" + strings.TrimPrefix(pub, "shop.") + "/x", "http://\u0455hop." + pub + "/x",
			"http://xn--hop-8cd." + pub + "/x", "http://127.0.0.1\u3002" + pub + "/x", "http://" + app + "\u2100@" + pub + "/x",
			"\uff0f\uff0f" + pub + "/x", "\uff48\uff54\uff54\uff50://" + pub + "/x", "http\uff1a//" + pub + "/x", "http:\u2215\u2215" + pub + "/x",
		}},
		{"very long", []string{
			"http://" + pub + "/" + strings.Repeat("x", long), "http://" + strings.Repeat("a.", long/2) + pub + "/x",
			"http://" + strings.Repeat("u", long) + "@" + pub + "/x", "data:text/html," + strings.Repeat("x", long),
			strings.Repeat(" ", long) + "http://" + pub + "/x", strings.Repeat("/", long) + pub + "/x",
		}},
	}
}

// long is the length of a very long URL: well below what a request may hold.
const long = 32 << 10

// leading puts each character in front that a browser drops there, and some that it doesn't.
func leading(url string) []string {
	var urls []string
	for c := rune(0); c <= ' '; c++ {
		urls = append(urls, string(c)+url)
	}
	for _, c := range []string{"\x7f", "\u0085", "\u00a0", "\u200b", "\u2028", "\u3000", "\ufeff", " \t\x01 \n"} {
		urls = append(urls, c+url)
	}
	return urls
}

// readAsApp are URLs that lead to the app in a browser's reading, but by a spelling that a careful sidecar needn't take.
func readAsApp(l *lab.Lab) []string {
	app := l.AppAddr().String()
	pub := fmt.Sprintf("shop.%s:%d", lab.PublicName, lab.SitePort)
	return []string{
		"http://user:word@" + app + "/pages/about.html", "http://user@" + app + "/", "http://:@" + app + "/", "http://@" + app + "/",
		"http://" + pub + "%2f@" + app + "/", "http://" + pub + "%00@" + app + "/", "http://" + pub + "%23@" + app + "/",
		"http://" + pub + ";@" + app + "/", "http://" + app + "@" + app + "/", `http://` + app + `\@` + pub + "/x", `http://` + app + `\..\x`,
		"http://2130706433:3000/", "http://127.1:3000/", "http://0x7f.1:3000/", "http://0177.0.0.1:3000/", "http://127.0.0.1.:3000/",
		"http://127.0.0.1:03000/", "http://127.0.0.1:0000000003000/", "http://%31%32%37.0.0.1:3000/", "http://\uff11\uff12\uff17.0.0.1:3000/",
		"http://127\u30020\u30020\u30021:3000/", "http:/" + app + "/", "http:" + app + "/", `http:\\` + app + `\`, "http:///" + app + "/",
		"ht\ttp://" + app + "/", "http://" + app + "\t/", " http://" + app + "/ ", "\x01http://" + app + "/", "\u00a0http://" + app + "/",
		app + "/pages/about.html", "pages/about.html", "shop." + lab.PublicName, "?q", "#f", "/\x01/" + pub + "/x", "/a\\b", "\t/pages/about.html",
		"ABOUT:BLANK", " about:blank ", "about:blank#x", "about:blank?x", "about:bla\tnk",
	}
}
