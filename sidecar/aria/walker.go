// Package aria makes snapshots: a page as a short text of roles, names and states, with refs by which an agent names
// its elements. The walk itself runs in the page, in an isolated world of each frame (walker/*.ts, bundled into
// walker.js); this package joins the frames' parts and finds elements by ref.
package aria

import (
	_ "embed"

	"github.com/browser-sidecar/conformance/sidecar/browser"
)

//go:generate go tool esbuild walker/main.ts --bundle --format=iife --global-name=walker --target=chrome120 --charset=utf8 --legal-comments=none --log-level=warning --outfile=walker.js

//go:embed walker.js
var source string

// script is the walker as the browser runs it.
func script() browser.Script {
	return browser.Script{World: "sidecar-aria", Global: "walker", Source: source}
}
