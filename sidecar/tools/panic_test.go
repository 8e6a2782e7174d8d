package tools_test

import (
	"strings"
	"testing"
)

// The gateway recovers what panics in a call, but not in a goroutine that the call started.
func TestToolThatPanicsEndsInItsOwnCall(t *testing.T) {
	b := setUp(t, map[string]string{"/": "app"})
	b.set.Break("browser_break")
	func() {
		defer func() {
			fault, ok := recover().(interface{ Stack() string })
			if !ok {
				t.Fatal("the panic didn't reach the call, or without where it began")
			}
			if !strings.Contains(fault.Stack(), "Break") {
				t.Errorf("the stack is not the tool's:\n%s", fault.Stack())
			}
		}()
		b.call("browser_break", map[string]any{})
	}()
	b.must("browser_snapshot", map[string]any{})
}
