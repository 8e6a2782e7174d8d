package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// serialize calls its first argument when that is a function, and turns the outcome into JSON text as Playwright's
// evaluate shows it. It returns null for undefined, which has no JSON text.
const serialize = `(async (f, ...args) => {
  const value = await (typeof f === "function" ? f(...args) : f);
  const text = JSON.stringify(value, (key, v) => {
    if (v === window) return "ref: <Window>";
    if (v instanceof Node) return "ref: <Node>";
    if (v instanceof Error) return { name: v.name, message: v.message };
    return v;
  }, 2);
  return text === undefined ? null : text;
})`

// Evaluate runs code, a function or an expression, in the page's own world of the tab's main frame, or with element
// as its argument when that is not nil, and returns the outcome as JSON text, or "undefined". Code that still runs
// when ctx ends is stopped. Errors are *ScriptError for what the code threw, ErrGone, ErrCrashed, or ctx's.
func (p *Page) Evaluate(ctx context.Context, code string, element *Element) (string, error) {
	session := p.session
	var object *runtime.RemoteObject
	var exception *runtime.ExceptionDetails
	var err error
	if element == nil {
		var answer runtime.EvaluateResult
		answer, err = Do(ctx, session, runtime.Evaluate, runtime.EvaluateParams{
			Expression:   serialize + "((" + code + "\n))",
			AwaitPromise: new(true), ReturnByValue: new(true), UserGesture: new(true),
		})
		object, exception = answer.Result, answer.ExceptionDetails
	} else {
		var own *Element
		if own, err = element.own(ctx); err != nil {
			return "", fmt.Errorf("evaluating: %w", err)
		}
		defer own.Release()
		session = element.frame.Session()
		var answer runtime.CallFunctionOnResult
		answer, err = Do(ctx, session, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
			ObjectID:            own.object,
			FunctionDeclaration: "function(){return " + serialize + "((" + code + "\n), this)}",
			AwaitPromise:        new(true), ReturnByValue: new(true), UserGesture: new(true),
		})
		object, exception = answer.Result, answer.ExceptionDetails
	}
	switch {
	case ctx.Err() != nil:
		Post(session, runtime.TerminateExecution, cdp.Empty{})
		return "", fmt.Errorf("evaluating: %w", context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("evaluating: %w", gone(err))
	case exception != nil:
		return "", thrown(exception)
	case object == nil || len(object.Value) == 0 || string(object.Value) == "null":
		return "undefined", nil
	}
	var text string
	if err := jsonv2.Unmarshal(object.Value, &text, chromedp.DefaultUnmarshalOptions); err != nil {
		return "", fmt.Errorf("decoding what the code returned: %w", err)
	}
	return text, nil
}
