package tools

import (
	"context"
	"errors"
	"fmt"

	"github.com/browser-sidecar/conformance/sidecar/aria"
	"github.com/browser-sidecar/conformance/sidecar/browser"
)

func navigateBack() *tool {
	return &tool{
		name: "browser_navigate_back", title: "Go back",
		description: "Go to the page before in the tab's history",
		run:         runNavigateBack,
	}
}

func runNavigateBack(ctx context.Context, c *call) error {
	bounded, cancel := context.WithTimeout(ctx, navigationLimit)
	defer cancel()
	document, err := c.page.Back(bounded)
	if err == nil {
		err = loaded(bounded, c.page, document)
	}
	const waiting = "  - going back, waiting until \"domcontentloaded\""
	var refused *browser.NavigationError
	switch {
	case err == nil, errors.Is(err, browser.ErrNoHistory): // without a history the page stays, which is no error
	case errors.As(err, &refused):
		c.thrown(fmt.Sprintf("Error: %s\nCall log:\n%s\n", refused.Text, waiting))
		return nil
	case bounded.Err() != nil && ctx.Err() == nil:
		return &timeoutError{limit: navigationLimit, log: []string{waiting}}
	default:
		return err
	}
	c.ran("await page.goBack();")
	c.snapshot = &aria.Options{Session: c.id, Depth: -1}
	return nil
}
