// Package dashboard is the agent dashboard as a target sees it: it signs live-view tickets, good ones and every kind of bad
// one, and speaks the live view's WebSocket as a viewer.
//
// It is written from the contract (sections ticket and live, and the messages) and shares no code with any sidecar.
package dashboard
