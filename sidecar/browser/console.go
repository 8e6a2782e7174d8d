package browser

import (
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
)

func (p *Page) consoleCalled(e runtime.EventConsoleAPICalled) {
	switch e.Type {
	case runtime.ConsoleAPICalledTypeError, runtime.ConsoleAPICalledTypeAssert:
		p.consoleCount(1, 0)
	case runtime.ConsoleAPICalledTypeWarning:
		p.consoleCount(0, 1)
	}
}

// logged counts what the browser itself writes to the console, such as a failed request.
func (p *Page) logged(e log.EventEntryAdded) {
	if e.Entry == nil {
		return
	}
	switch e.Entry.Level {
	case log.EntryLevelError:
		p.consoleCount(1, 0)
	case log.EntryLevelWarning:
		p.consoleCount(0, 1)
	}
}

func (p *Page) consoleCount(errors, warnings int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.console.Errors += errors
	p.console.Warnings += warnings
}
