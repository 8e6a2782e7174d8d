// Package tools has the browser_* tools that agents call: a file for each family. A Set is what all sessions share; a
// session has refs, a current tab and modal state of its own. Results keep Playwright MCP's sections and texts.
package tools
