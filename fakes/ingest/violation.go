package ingest

import (
	"fmt"
	"time"
)

// Rule names what a post can break.
type Rule string

// The rules.
const (
	RuleMethod   Rule = "method"   // anything but POST: answered 405
	RulePath     Rule = "path"     // another path: 404
	RuleToken    Rule = "token"    // no or another bearer token: 401
	RuleEncoding Rule = "encoding" // another content-encoding than gzip: 415
	RuleGzip     Rule = "gzip"     // damaged: 400
	RuleLimit    Rule = "limit"    // too many events or bytes: 413
	RuleText     Rule = "text"     // no UTF-8, or lone surrogates: 422
	RuleNesting  Rule = "nesting"  // nests over 512 deep: 422
	RuleShape    Rule = "shape"    // not JSON, or members missing or mistyped: 422
	// RuleDuplicate: an rrweb event in two different stored posts, or a post repeated although it was stored and
	// answered. Console lines and markers are left out: two equal ones in one millisecond are two events.
	RuleDuplicate Rule = "duplicate"
	// RuleRetry: events of a post that failed come again, but not as the same list.
	RuleRetry Rule = "retry"
)

// Violation is one fault of one post.
type Violation struct {
	At time.Time
	// Post is the sequence number of the post.
	Post   int
	Rule   Rule
	Detail string
}

// String is for failure texts.
func (v Violation) String() string {
	return fmt.Sprintf("post %d breaks %s: %s", v.Post, v.Rule, v.Detail)
}
