package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Script is code that runs in an isolated world of a document: it sees the page's elements but none of its scripts'
// variables, and a page's Content-Security-Policy doesn't bind it.
type Script struct {
	World  string // the world's name; one document has each world once
	Global string // the variable that Source sets
	Source string
}

// Element is a page's element as seen from an isolated world. Release it once it isn't needed.
type Element struct {
	frame    *Frame
	document int
	object   runtime.RemoteObjectID
}

// ScriptError is an exception that code in a page threw; Text is its stack, or the thrown value.
type ScriptError struct{ Text string }

func (e *ScriptError) Error() string { return e.Text }

// Call calls a function of the script's global in the frame's current document and decodes what it returns, awaited,
// into out (nil throws it away). Arguments are JSON values or *Element of the same frame and script. It returns
// ErrGone when the document went away meanwhile, *ScriptError when the function threw.
func (f *Frame) Call(ctx context.Context, script Script, function string, out any, args ...any) error {
	result, _, err := f.call(ctx, script, function, true, args)
	if err != nil || out == nil {
		return err
	}
	if len(result.Value) == 0 {
		return fmt.Errorf("calling %s: it returned nothing", function)
	}
	if err := jsonv2.Unmarshal(result.Value, out, chromedp.DefaultUnmarshalOptions); err != nil {
		return fmt.Errorf("decoding what %s returned: %w", function, err)
	}
	return nil
}

// Notify is Call for a function whose end nobody waits for; it does nothing in a document without the script.
func (f *Frame) Notify(script Script, function string) {
	f.page.mu.Lock()
	session, id := f.session, f.worlds[script.World]
	f.page.mu.Unlock()
	if id != 0 {
		Post(session, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
			FunctionDeclaration: "function(){" + script.Global + "." + function + "()}", ExecutionContextID: id,
		})
	}
}

// Find is Call for a function that returns an element; nil when it returned none.
func (f *Frame) Find(ctx context.Context, script Script, function string, args ...any) (*Element, error) {
	result, document, err := f.call(ctx, script, function, false, args)
	if err != nil || result.ObjectID == "" {
		return nil, err
	}
	return &Element{frame: f, document: document, object: result.ObjectID}, nil
}

// Frame is the frame whose document the element is in.
func (e *Element) Frame() *Frame { return e.frame }

// Release lets the page forget that the element was held.
func (e *Element) Release() {
	Post(e.frame.Session(), runtime.ReleaseObject, runtime.ReleaseObjectParams{ObjectID: e.object})
}

func (f *Frame) call(ctx context.Context, script Script, function string, byValue bool, args []any) (*runtime.RemoteObject, int, error) {
	session, id, document, err := f.world(ctx, script)
	if err != nil {
		return nil, 0, fmt.Errorf("calling %s: %w", function, err)
	}
	list := make([]*runtime.CallArgument, len(args))
	for i, arg := range args {
		if element, ok := arg.(*Element); ok {
			if element.frame != f || element.document != document {
				return nil, 0, fmt.Errorf("calling %s: %w", function, ErrGone)
			}
			list[i] = &runtime.CallArgument{ObjectID: element.object}
			continue
		}
		value, err := jsonv2.Marshal(arg, chromedp.DefaultMarshalOptions)
		if err != nil {
			return nil, 0, fmt.Errorf("calling %s: encoding argument %d: %w", function, i+1, err)
		}
		list[i] = &runtime.CallArgument{Value: value}
	}
	answer, err := Do(ctx, session, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: "function(...a){return " + script.Global + "." + function + "(...a)}",
		ExecutionContextID:  id, Arguments: list, ReturnByValue: new(byValue), AwaitPromise: new(true),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("calling %s: %w", function, gone(err))
	}
	if answer.ExceptionDetails != nil {
		return nil, 0, fmt.Errorf("calling %s: %w", function, thrown(answer.ExceptionDetails))
	}
	if answer.Result == nil {
		return nil, 0, fmt.Errorf("calling %s: no result", function)
	}
	return answer.Result, document, nil
}

// world returns the script's world in the frame's current document, made and filled when it isn't there yet.
func (f *Frame) world(ctx context.Context, script Script) (*Session, runtime.ExecutionContextID, int, error) {
	p := f.page
	p.mu.Lock()
	session, id, document, detached, crashed := f.session, f.worlds[script.World], f.document, f.detached, p.crashed
	p.mu.Unlock()
	switch {
	case detached:
		return nil, 0, 0, ErrGone
	case crashed:
		return nil, 0, 0, ErrCrashed
	case id != 0:
		return session, id, document, nil
	}
	made, err := Do(ctx, session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{
		FrameID: f.ID, WorldName: script.World,
	})
	if err != nil {
		return nil, 0, 0, gone(err)
	}
	ran, err := Do(ctx, session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: script.Source, ContextID: made.ExecutionContextID,
	})
	if err != nil {
		return nil, 0, 0, gone(err)
	}
	if ran.ExceptionDetails != nil {
		return nil, 0, 0, thrown(ran.ExceptionDetails)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.document != document {
		return nil, 0, 0, ErrGone
	}
	if f.worlds == nil {
		f.worlds = map[string]runtime.ExecutionContextID{}
	}
	f.worlds[script.World] = made.ExecutionContextID
	return session, made.ExecutionContextID, document, nil
}

// Owner returns the element of the parent frame that embeds f, as seen from the script's world there.
func (f *Frame) Owner(ctx context.Context, script Script) (*Element, error) {
	parent := f.Parent()
	if parent == nil {
		return nil, errors.New("a tab's main frame has no owner")
	}
	session, id, document, err := parent.world(ctx, script)
	if err != nil {
		return nil, err
	}
	owner, err := Do(ctx, session, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: f.ID})
	if err != nil {
		return nil, gone(err)
	}
	return parent.resolve(ctx, session, owner.BackendNodeID, id, document)
}

// own returns the element in the page's own world: what the page's code and browser_evaluate see.
func (e *Element) own(ctx context.Context) (*Element, error) {
	session := e.frame.Session()
	node, err := Do(ctx, session, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: e.object})
	if err != nil {
		return nil, gone(err)
	}
	return e.frame.resolve(ctx, session, node.Node.BackendNodeID, 0, e.document)
}

func (f *Frame) resolve(ctx context.Context, s *Session, node cdp.BackendNodeID, world runtime.ExecutionContextID, document int) (*Element, error) {
	resolved, err := Do(ctx, s, dom.ResolveNode, dom.ResolveNodeParams{BackendNodeID: node, ExecutionContextID: world})
	if err != nil {
		return nil, gone(err)
	}
	if resolved.Object == nil || resolved.Object.ObjectID == "" {
		return nil, ErrGone
	}
	return &Element{frame: f, document: document, object: resolved.Object.ObjectID}, nil
}

// gone turns Chromium's words for a document that went away into ErrGone.
func gone(err error) error {
	var answer *cdproto.Error
	if !errors.As(err, &answer) {
		return err
	}
	for _, text := range []string{
		"Cannot find context", "Execution context was destroyed", "Inspected target navigated or closed",
		"Frame with the given id", "No frame for given id", "Could not find object", "Session with given id not found",
		"Cannot find object", "No node with given id", "Could not find node", "Node with given id does not belong",
		"uniqueContextId not found", "Not attached to an active page", "Frame with the given frameId is not found",
		"Argument should belong to the same JavaScript world",
	} {
		if strings.Contains(answer.Message, text) {
			return ErrGone
		}
	}
	return err
}

func thrown(details *runtime.ExceptionDetails) error {
	text := details.Text
	if e := details.Exception; e != nil {
		switch {
		case e.Description != "":
			text = e.Description
		case len(e.Value) > 0:
			text = string(e.Value)
		}
	}
	return &ScriptError{Text: text}
}
