package tools

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/browser-sidecar/conformance/sidecar/browser"
	"github.com/browser-sidecar/conformance/sidecar/mcp"
)

// Options are what the tools work on.
type Options struct {
	Browser      *browser.Browser
	App          *url.URL // tabs stay on its origin
	Capabilities []string // testing, vision, pdf
	Output       string   // where files of the tools' own and downloads are
	Workdir      string   // where relative file names start
}

// Set is the tools over one browser. It implements mcp.Tools.
type Set struct {
	browser  *browser.Browser
	app      *url.URL
	output   string
	tools    []*tool
	sessions atomic.Int64
}

// New makes the tools and keeps the browser's tabs on the app's origin from now on.
func New(o Options) *Set {
	s := &Set{browser: o.Browser, app: o.App, output: o.Output}
	for _, t := range []*tool{
		handleDialog(), evaluate(), typeText(), navigate(), navigateBack(), snapshot(), click(), tabs(),
	} {
		if t.capability == "" || slices.Contains(o.Capabilities, t.capability) {
			s.tools = append(s.tools, t)
		}
	}
	if o.Browser != nil {
		o.Browser.Restrict(o.App)
	}
	return s
}

func (s *Set) origin() string { return browser.Origin(s.app.String()) }

// Definitions lists the tools that are offered, in a fixed order.
func (s *Set) Definitions() []mcp.Definition {
	list := make([]mcp.Definition, len(s.tools))
	for i, t := range s.tools {
		list[i] = t.definition()
	}
	return list
}

// Open starts a client's session.
func (s *Set) Open() mcp.Session {
	ctx, cancel := context.WithCancelCause(context.Background())
	_, seen := s.browser.Refusals(0)
	return &session{
		set: s, id: strconv.FormatInt(s.sessions.Add(1), 10), ctx: ctx, cancel: cancel,
		refused: seen, downloads: map[string]bool{},
	}
}

// tool is one browser_* tool.
type tool struct {
	name        string
	title       string
	description string
	readOnly    bool
	capability  string // "" for core
	inModal     bool   // it may run while a dialog is open
	fields      []field
	run         func(ctx context.Context, c *call) error
}

func (t *tool) definition() mcp.Definition {
	return mcp.Definition{
		Name: t.name, Description: t.description, InputSchema: schema(t.fields),
		Annotations: mcp.Annotations{
			Title: t.title, ReadOnlyHint: t.readOnly, DestructiveHint: !t.readOnly, OpenWorldHint: true,
		},
	}
}
