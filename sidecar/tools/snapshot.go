package tools

import (
	"context"

	"github.com/browser-sidecar/conformance/sidecar/aria"
)

// Descriptions that several tools share.
const (
	elementHelp = "What the element is, in words, for whoever reads along"
	targetHelp  = "The element's ref in the page snapshot, or a CSS selector that only it matches"
)

func snapshot() *tool {
	return &tool{
		name: "browser_snapshot", title: "Page snapshot", readOnly: true,
		description: "Show the page as a tree of roles, names and refs; better than a screenshot for finding what to act on",
		fields: []field{
			{name: "target", kind: text, formerly: "ref", description: "Only this element: its ref, or a CSS selector"},
			{name: "depth", kind: number, least: new(0.0), description: "How many levels to show"},
			{name: "boxes", kind: boolean, description: "Also tell each element's place, as x, y, width, height"},
		},
		run: runSnapshot,
	}
}

func runSnapshot(ctx context.Context, c *call) error {
	o := aria.Options{Session: c.id, Depth: -1, Boxes: c.args.boolean("boxes")}
	if c.args.has("depth") {
		o.Depth = int(min(c.args.number("depth"), 1e6))
	}
	if target := c.args.text("target"); c.args.has("target") {
		ctx, cancel := context.WithTimeout(ctx, actionLimit)
		defer cancel()
		root, err := aria.Find(ctx, c.page, c.id, target)
		if err != nil {
			return err
		}
		o.Root = root
	}
	c.snapshot = &o
	return nil
}
