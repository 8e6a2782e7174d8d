// Package browser owns one Chromium: its process, the pipe it is driven over, its tabs and their frames, the
// dialogs they open, and the guard that keeps every tab on one site. Nothing else in the sidecar starts or stops
// Chromium. It opens no debugging port (contract: isolation.no-debug-port).
package browser
