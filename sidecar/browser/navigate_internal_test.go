package browser

import "testing"

// A document that comes back as it was left tells none of its states again: whoever waits for one must not wait in vain.
func TestARestoredDocumentHasReachedItsStates(t *testing.T) {
	a := newActivity()
	a.committed("one", false)
	a.loading = true
	if a.reached("one", "load") {
		t.Error("a new document has loaded at once")
	}
	a.committed("two", false)
	a.committed("one", true)
	for _, state := range []string{"DOMContentLoaded", "load"} {
		if !a.reached("one", state) {
			t.Errorf("a restored document waits for %s", state)
		}
	}
}
