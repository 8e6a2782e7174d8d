package tools

import "context"

// Destination is exported for its table and its fuzz test.
var Destination = destination

// Break adds a tool that panics.
func (s *Set) Break(name string) {
	s.tools = append(s.tools, &tool{name: name, run: func(context.Context, *call) error { panic("a tool's own fault") }})
}
