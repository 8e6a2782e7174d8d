package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

func TestIDsComeBack(t *testing.T) {
	r := start(t)
	session := r.open()
	for _, id := range []string{
		`0`, `-1`, `-0`, `1`, `9007199254740993`, `-9223372036854775809`, `10000000000000000000000`, `1` + strings.Repeat("0", 400),
		`""`, `"1"`, `"01"`, `"1.5"`, `"null"`, `"\u0041"`, `"\ud800"`, `"\/<&>"`, `"ünï"`, `"` + strings.Repeat("x", 10000) + `"`, "\"\u2028\"",
	} {
		r.want(r.post(session, toolCall(id, "echo")), http.StatusOK, said(id, "echo{}"))
		r.want(r.post(session, `{"jsonrpc":"2.0","id":`+id+`,"method":"x"}`), http.StatusOK, failure(id, "-32601", "Method not found"))
	}
}

func TestCallParams(t *testing.T) {
	for name, c := range map[string]struct{ params, want string }{
		"no arguments":           {`{"name":"echo"}`, said("1", "echo{}")},
		"null arguments":         {`{"name":"echo","arguments":null}`, said("1", "echo{}")},
		"arguments as sent":      {`{"name":"echo","arguments":{"b":1.0, "a":[9007199254740993]}}`, said("1", `echo{\"b\":1.0, \"a\":[9007199254740993]}`)},
		"_meta in arguments":     {`{"name":"echo","arguments":{"b":1.0,"_meta":{"cwd":"/"},"a":"<"}}`, said("1", `echo{\"a\":\"\\u003c\",\"b\":1.0}`)},
		"_meta with escapes":     {`{"name":"echo","arguments":{"\u005fmeta":{"cwd":"/"}}}`, said("1", `echo{}`)},
		"_meta deeper":           {`{"name":"echo","arguments":{"a":{"_meta":1}}}`, said("1", `echo{\"a\":{\"_meta\":1}}`)},
		"_meta in params":        {`{"name":"echo","_meta":{"progressToken":1},"arguments":{}}`, said("1", "echo{}")},
		"an unknown member":      {`{"name":"echo","task":{"ttl":1}}`, said("1", "echo{}")},
		"no params":              {`null`, failure("1", "-32602", "params must be an object")},
		"params as an array":     {`["echo"]`, failure("1", "-32602", "params must be an object")},
		"params as a text":       {`"echo"`, failure("1", "-32602", "params must be an object")},
		"no name":                {`{"arguments":{}}`, failure("1", "-32602", "params.name must be a string")},
		"a name in capitals":     {`{"Name":"echo"}`, failure("1", "-32602", "params.name must be a string")},
		"a name that is null":    {`{"name":null}`, failure("1", "-32602", "params.name must be a string")},
		"a name as a list":       {`{"name":["echo"]}`, failure("1", "-32602", "params.name must be a string")},
		"arguments as an array":  {`{"name":"echo","arguments":[]}`, failure("1", "-32602", "params.arguments must be an object")},
		"arguments as a text":    {`{"name":"echo","arguments":"{}"}`, failure("1", "-32602", "params.arguments must be an object")},
		"arguments as a boolean": {`{"name":"echo","arguments":false}`, failure("1", "-32602", "params.arguments must be an object")},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			r.want(r.post(r.open(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+c.params+`}`), http.StatusOK, c.want)
			if ran := strings.Contains(c.want, "result"); ran != (len(r.ran) == 1) {
				t.Errorf("tools ran: %q", r.ran)
			}
		})
	}
}

func TestResults(t *testing.T) {
	r := start(t)
	session := r.open()
	for name, want := range map[string]string{
		"nothing": `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
		"image":   `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"text","text":""}]}}`,
		"odd": `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\ufffdb\ufffd\ufffd\ufffdc<&>\u2028"}],` +
			`"isError":true,"_meta":{"k":"\ufffd"}}}`,
		"endless": failure("1", "-32603", "Internal error"),
		"panic":   failure("1", "-32603", "Internal error"),
	} {
		got := r.post(session, toolCall("1", name))
		r.want(got, http.StatusOK, want)
		if !json.Valid([]byte(got.body)) || !utf8.ValidString(got.body) {
			t.Errorf("%s is no JSON: %q", name, got.body)
		}
	}
	if log := r.log.String(); !strings.Contains(log, "a tool panicked") || !strings.Contains(log, "could not be written") ||
		strings.Contains(log, "page's words") {
		t.Errorf("the log says %s", log)
	}
	r.known(session)
}

// Overlapping calls are told apart by nothing but their connection (clauses mcp.duplicate-id, mcp.id-types, mcp.concurrent).
func TestOverlappingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		session, other := r.open(), r.open()
		sent := []struct{ session, id string }{
			{session, `1`}, {session, `1`}, {session, `"1"`}, {other, `1`}, {session, `"01"`}, {session, `01`[1:]},
		}
		var answers []<-chan reply
		for _, s := range sent {
			answers = append(answers, r.launch(t.Context(), s.session, toolCall(s.id, "wait")))
			synctest.Wait()
		}
		r.want(r.post(session, toolCall("1", "echo")), http.StatusOK, said("1", "echo{}"))
		for i := len(sent) - 1; i >= 0; i-- {
			marker := strings.Repeat("x", i+1)
			r.call(i).release <- Result{Content: words(marker)}
			r.want(<-answers[i], http.StatusOK, said(sent[i].id, marker))
			synctest.Wait()
			for _, earlier := range answers[:i] {
				r.pending(earlier)
			}
		}
	})
}

func TestCancelled(t *testing.T) {
	cancelled := failure(`1`, "-32000", "The request was cancelled")
	for name, c := range map[string]struct {
		params string
		ends   bool
	}{
		"its id":              {`{"requestId":1}`, true},
		"its id and a reason": {`{"reason":"x","requestId": 1 }`, true},
		"the id as a text":    {`{"requestId":"1"}`, false},
		"another id":          {`{"requestId":2}`, false},
		"a fraction":          {`{"requestId":1.0}`, false},
		"null":                {`{"requestId":null}`, false},
		"no id":               {`{}`, false},
		"another case":        {`{"requestID":1}`, false},
		"no object":           {`[1]`, false},
		"nothing":             {`null`, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				session, other := r.open(), r.open()
				answer, theirs := r.launch(t.Context(), session, toolCall(`1`, "wait")), r.launch(t.Context(), other, toolCall(`1`, "wait"))
				synctest.Wait()
				r.want(r.post(session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+c.params+`}`), http.StatusAccepted, "")
				synctest.Wait()
				if c.ends {
					r.want(<-answer, http.StatusOK, cancelled)
				} else {
					r.pending(answer)
				}
				r.pending(theirs)
				r.want(r.post(session, toolCall("2", "echo")), http.StatusOK, said("2", "echo{}"))
				for i := range r.waiting {
					r.call(i).release <- Result{Content: words("x")}
				}
				synctest.Wait()
			})
		})
	}
}

func TestCancelledDuplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		session := r.open()
		first, second := r.launch(t.Context(), session, toolCall(`"a"`, "wait")), r.launch(t.Context(), session, toolCall(`"a"`, "wait"))
		synctest.Wait()
		r.post(session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
		r.want(<-first, http.StatusOK, failure(`"a"`, "-32000", "The request was cancelled"))
		r.want(<-second, http.StatusOK, failure(`"a"`, "-32000", "The request was cancelled"))
		// What is over can't be cancelled, nor what comes later with the same id.
		r.post(session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`)
		r.want(r.post(session, toolCall(`"a"`, "echo")), http.StatusOK, said(`"a"`, "echo{}"))
	})
}

func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		ctx, leave := context.WithCancel(t.Context())
		session := r.open()
		answer := r.launch(ctx, session, toolCall("1", "wait"))
		synctest.Wait()
		leave()
		r.want(<-answer, http.StatusOK, failure("1", "-32000", "The request was cancelled"))
		r.known(session)
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		session := r.open()
		begun := time.Now()
		answer := r.launch(t.Context(), session, toolCall("1", "wait"))
		r.want(<-answer, http.StatusOK, failure("1", "-32001", "The request timed out"))
		if took := time.Since(begun); took != maxCall {
			t.Errorf("it took %s", took)
		}
		r.known(session)
	})
}

// A tool that does not return is answered for all the same, and delays no other call.
func TestStubbornTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		session := r.open()
		begun := time.Now()
		answer := r.launch(t.Context(), session, toolCall("1", "stubborn"))
		synctest.Wait()
		r.want(r.post(session, toolCall("2", "echo")), http.StatusOK, said("2", "echo{}"))
		r.want(<-answer, http.StatusOK, failure("1", "-32001", "The request timed out"))
		if took := time.Since(begun); took != maxCall+grace {
			t.Errorf("it took %s", took)
		}
		if !strings.Contains(r.log.String(), "a tool goes on") {
			t.Errorf("the log says %q", r.log)
		}
		r.call(0).release <- Result{}
	})
}

// While the tool winds down, its answer waits: nothing of a call is done after its answer.
func TestAnswerComesAfterTheTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		ctx, leave := context.WithCancel(t.Context())
		answer := r.launch(ctx, r.open(), toolCall("1", "stubborn"))
		synctest.Wait()
		leave()
		<-time.After(grace / 2)
		r.pending(answer)
		r.call(0).release <- Result{}
		r.want(<-answer, http.StatusOK, failure("1", "-32000", "The request was cancelled"))
	})
}
