package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/page"
)

// Dialog is an open alert, confirm, prompt or beforeunload; the document that opened it waits for its answer.
type Dialog struct {
	Type    string
	Message string
	Default string
	session *Session
}

// Dialog returns the tab's open dialog, or nil.
func (p *Page) Dialog() *Dialog {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dialog
}

// AnswerDialog answers d, if it is still the open one; text is what a prompt returns.
func (p *Page) AnswerDialog(ctx context.Context, d *Dialog, accept bool, text string) error {
	if _, err := Do(ctx, d.session, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{
		Accept: accept, PromptText: text,
	}); err != nil {
		return fmt.Errorf("answering the dialog: %w", err)
	}
	p.mu.Lock()
	if p.dialog == d {
		p.dialog = nil
	}
	p.mu.Unlock()
	p.changed.fire()
	return nil
}

func (p *Page) dialogOpened(s *Session, e page.EventJavascriptDialogOpening) {
	p.mu.Lock()
	p.dialog = &Dialog{Type: string(e.Type), Message: e.Message, Default: e.DefaultPrompt, session: s}
	p.mu.Unlock()
	p.changed.fire()
}

func (p *Page) dialogClosed() {
	p.mu.Lock()
	p.dialog = nil
	p.mu.Unlock()
	p.changed.fire()
}
