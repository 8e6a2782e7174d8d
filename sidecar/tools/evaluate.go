package tools

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

// evaluateLimit is how long the code of an agent may run.
const evaluateLimit = 30 * time.Second

func evaluate() *tool {
	return &tool{
		name: "browser_evaluate", title: "Evaluate JavaScript",
		description: "Run JavaScript in the page, or on one element, and show what it returns as JSON",
		fields: []field{
			{name: "element", kind: text, description: elementHelp},
			{name: "target", kind: text, formerly: "ref", description: targetHelp},
			{
				name: "function", kind: text, required: true,
				description: "() => { … }, or (element) => { … } with a target; a plain expression works too",
			},
		},
		run: runEvaluate,
	}
}

// isFunction is true for text that is a function already; anything else is shown wrapped in one.
var isFunction = regexp.MustCompile(`^\s*(async\b\s*)?(function\b|\(|[\p{L}_$][\p{L}\p{N}_$]*\s*=>)`)

func runEvaluate(ctx context.Context, c *call) error {
	bounded, cancel := context.WithTimeout(ctx, evaluateLimit)
	defer cancel()
	code := c.args.text("function")
	on := "page"
	var element *browser.Element
	if target := c.args.text("target"); c.args.has("target") {
		var err error
		if element, err = aria.Find(bounded, c.page, c.id, target); err != nil {
			return err
		}
		defer element.Release()
		words, err := aria.Describe(bounded, element, target)
		if err != nil {
			return err
		}
		on = "page." + words.Locator
	}
	mark := c.page.Mark()
	value, err := c.page.Evaluate(bounded, code, element)
	var script *browser.ScriptError
	switch {
	case errors.As(err, &script):
		return script
	case bounded.Err() != nil && ctx.Err() == nil:
		return &timeoutError{limit: evaluateLimit, log: []string{"  - evaluating in the page"}}
	case err != nil:
		return err
	}
	c.result(value)
	shown := strings.TrimSpace(code)
	if !isFunction.MatchString(shown) || !strings.Contains(shown, "=>") && !strings.Contains(shown, "function") {
		shown = "() => (" + shown + ")"
	}
	c.ran("await " + on + ".evaluate(" + quoteJS(shown) + ");")
	settle(ctx, c.page, mark)
	return nil
}
