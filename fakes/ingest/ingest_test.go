package ingest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/browser-sidecar/conformance/fakes/ingest"
)

func TestStores(t *testing.T) {
	at := time.UnixMilli(1790000000250)
	r := start(t, ingest.Options{Now: func() time.Time { return at }})
	response, err := r.send(batch(1, 2), func(q *http.Request) { q.URL.RawQuery = "key=1" })
	if err != nil || response.StatusCode != http.StatusCreated {
		t.Fatal(response, err)
	}
	if text, _ := io.ReadAll(response.Body); string(text) != `{"clock_offset_ms":250,"stored":2}`+"\n" {
		t.Errorf("answered %s", text)
	}
	if got := r.status(body(marker, console)); got != http.StatusCreated {
		t.Errorf("answered %d", got)
	}
	var got []string
	for _, e := range r.Events() {
		got = append(got, e.Kind+string(rune('0'+e.Post)))
	}
	if strings.Join(got, " ") != "rrweb1 rrweb1 marker2 console2" {
		t.Errorf("events %v", got)
	}
	p := r.Batches()[0]
	if p.Seq != 1 || !p.At.Equal(at) || p.Target != "/events?key=1" || string(p.Text) != batch(1, 2) || p.WireBytes == 0 || !p.Stored {
		t.Errorf("post %+v", p)
	}
	if r.rules() != "" {
		t.Errorf("violations %v", r.Violations())
	}
}

func TestRefuses(t *testing.T) {
	header := func(name, value string) func(*http.Request) {
		return func(q *http.Request) { q.Header.Set(name, value) }
	}
	for _, row := range []struct {
		name   string
		body   string
		change func(*http.Request)
		status int
		rule   ingest.Rule
	}{
		{"another method", batch(1), func(q *http.Request) { q.Method = http.MethodPut }, 405, ingest.RuleMethod},
		{"another path", batch(1), func(q *http.Request) { q.URL.Path = "/" }, 404, ingest.RulePath},
		{"no token", batch(1), func(q *http.Request) { q.Header.Del("Authorization") }, 401, ingest.RuleToken},
		{"another token", batch(1), header("Authorization", "Bearer "+token+"x"), 401, ingest.RuleToken},
		{"another scheme", batch(1), header("Authorization", "Basic "+token), 401, ingest.RuleToken},
		{"two tokens", batch(1), func(q *http.Request) { q.Header.Add("Authorization", "Bearer "+token) }, 401, ingest.RuleToken},
		{"no encoding", batch(1), func(q *http.Request) { q.Header.Del("Content-Encoding") }, 415, ingest.RuleEncoding},
		{"another encoding", batch(1), header("Content-Encoding", "br"), 415, ingest.RuleEncoding},
		{"not gzip", "", replace("plain text"), 400, ingest.RuleGzip},
		{"gzip cut off", "", replace("\x1f\x8b\x08\x00\x00\x00\x00\x00"), 400, ingest.RuleGzip},
		{"too many events", batch(1, 2, 3, 4), nil, 413, ingest.RuleLimit},
		{"too many bytes", body(strings.Repeat(" ", 2000)), nil, 413, ingest.RuleLimit},
		{"a bomb", strings.Repeat("a", 8<<20), nil, 413, ingest.RuleLimit},
		{"not JSON", "{", nil, 422, ingest.RuleShape},
		{"a lone surrogate", body(strings.Replace(console, "no", `\ud83d`, 1)), nil, 422, ingest.RuleText},
		{"too deep", strings.Repeat("[", 600), nil, 422, ingest.RuleNesting},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := start(t, ingest.Options{MaxEvents: 3, MaxBytes: 1000})
			change := row.change
			if change == nil {
				change = func(*http.Request) {}
			}
			if got := r.status(row.body, change); got != row.status {
				t.Errorf("answered %d, want %d", got, row.status)
			}
			if v := r.Violations(); len(v) != 1 || v[0].Rule != row.rule || v[0].Post != 1 {
				t.Errorf("violations %v, want one of %s", v, row.rule)
			}
			if len(r.Posts()) != 1 || len(r.Events()) != 0 {
				t.Errorf("%d posts, %d events stored", len(r.Posts()), len(r.Events()))
			}
			// Positive control: the ingest still takes a good one.
			if got := r.status(batch(1)); got != http.StatusCreated {
				t.Errorf("afterwards a good post is answered %d", got)
			}
		})
	}
}

func replace(text string) func(*http.Request) {
	return func(q *http.Request) {
		q.Body, q.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
}

func TestFailures(t *testing.T) {
	for _, row := range []struct {
		name    string
		failure ingest.Failure
		status  int // 0: the connection is reset
		stored  bool
		header  string
	}{
		{"a status", ingest.Answer(503), 503, false, ""},
		{"retry after", ingest.RetryAfter(429, 7), 429, false, "Retry-After: 7"},
		{"a redirect", ingest.Redirect("http://other.test/"), 307, false, "Location: http://other.test/"},
		{"a reset", ingest.Reset(), 0, false, ""},
		{"a reset after storing", ingest.ResetAfterStoring(), 0, true, ""},
		{"a lost answer", ingest.Failure{Status: 500, Store: true}, 500, true, ""},
		{"late", ingest.Slow(time.Millisecond), 201, true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := start(t, ingest.Options{})
			r.Next(row.failure)
			response, err := r.send(batch(1))
			switch {
			case row.status == 0:
				if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("want a reset, got %v, %v", response, err)
				}
			case err != nil || response.StatusCode != row.status:
				t.Fatalf("got %v, %v, want %d", response, err, row.status)
			default:
				name, value, _ := strings.Cut(row.header, ": ")
				if got := response.Header.Get(name); got != value {
					t.Errorf("header %s is %q, want %q", name, got, value)
				}
			}
			p := r.Posts()[0]
			if p.Status != row.status || p.Stored != row.stored || p.Failure == nil {
				t.Errorf("post %+v", p)
			}
			// The next one is treated as usual, and an identical retry is stored once in all.
			if got := r.status(batch(1)); got != http.StatusCreated {
				t.Errorf("the retry is answered %d", got)
			}
			if got := len(r.Events()); got != 1 {
				t.Errorf("%d events stored, want 1", got)
			}
			if got := r.Posts()[1].RetryOf; got != 1 {
				t.Errorf("the retry is known as one of post %d, want 1", got)
			}
			if r.rules() != "" {
				t.Errorf("violations %v", r.Violations())
			}
		})
	}
}

func TestOutageAndHealing(t *testing.T) {
	r := start(t, ingest.Options{})
	r.Next(ingest.Answer(408))
	r.Always(ingest.Answer(503))
	for i, want := range []int{408, 503, 503} {
		if got := r.status(batch(1)); got != want {
			t.Errorf("post %d is answered %d, want %d", i+1, got, want)
		}
	}
	r.Heal()
	if got := r.status(batch(1)); got != http.StatusCreated {
		t.Errorf("healed, it answers %d", got)
	}
}

func TestHang(t *testing.T) {
	hang := func(t *testing.T, want []error, end func(*rig, context.CancelFunc)) {
		t.Helper()
		r := start(t, ingest.Options{})
		r.Next(ingest.Hang())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := r.send(batch(1), func(q *http.Request) { *q = *q.WithContext(ctx) })
			failed <- err
		}()
		if err := r.WaitPosts(t.Context(), func(p []ingest.Post) bool { return len(p) == 1 }); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-failed:
			t.Fatalf("it did not hang: %v", err)
		default:
		}
		end(r, cancel)
		// Not the client's own time limit.
		err := <-failed
		if !slices.ContainsFunc(want, func(w error) bool { return errors.Is(err, w) }) {
			t.Errorf("the post ended with %v, want any of %v", err, want)
		}
		if r.Posts()[0].Stored {
			t.Error("a hanging post was stored")
		}
	}
	t.Run("until healed", func(t *testing.T) {
		hang(t, []error{syscall.ECONNRESET}, func(r *rig, _ context.CancelFunc) { r.Heal() })
	})
	t.Run("until closed", func(t *testing.T) {
		hang(t, []error{syscall.ECONNRESET, io.EOF}, func(r *rig, _ context.CancelFunc) { _ = r.Close() })
	})
	t.Run("until the sender goes", func(t *testing.T) {
		hang(t, []error{context.Canceled}, func(_ *rig, cancel context.CancelFunc) { cancel() })
	})
}

func TestDuplicates(t *testing.T) {
	for _, row := range []struct {
		name  string
		fail  []ingest.Failure
		posts []string
		want  string
	}{
		{"none", nil, []string{batch(1, 2), batch(3)}, ""},
		{"an event twice in one post", nil, []string{batch(1, 1)}, ""},
		{"equal console lines in two posts", nil, []string{body(console), body(console, marker)}, ""},
		{"a stored and answered post again", nil, []string{batch(1), batch(1)}, "2:duplicate"},
		{"a stored event in another post", nil, []string{batch(1, 2), batch(2, 3)}, "2:duplicate"},
		{"a failed post again, the same", []ingest.Failure{ingest.Answer(503)}, []string{batch(1, 2), batch(1, 2)}, ""},
		{"a failed post again, with more", []ingest.Failure{ingest.Answer(503)}, []string{batch(1), batch(1, 2)}, "2:retry"},
		{"a failed post again, in another order", []ingest.Failure{ingest.Answer(503)}, []string{batch(1, 2), batch(2, 1)}, "2:retry"},
		{"a failed post again, in two", []ingest.Failure{ingest.Reset()}, []string{batch(1, 2), batch(1), batch(2)}, "2:retry 3:retry"},
		{"a retry, stored, and once more", []ingest.Failure{ingest.Answer(500)}, []string{batch(1), batch(1), batch(1)}, "3:duplicate"},
		{"a post whose answer was lost, with more", []ingest.Failure{ingest.ResetAfterStoring()}, []string{batch(1), batch(1, 2)}, "2:duplicate"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := start(t, ingest.Options{})
			r.Next(row.fail...)
			for _, text := range row.posts {
				_, _ = r.send(text) // some are reset
			}
			if got := r.rules(); got != row.want {
				t.Errorf("violations %q, want %q: %v", got, row.want, r.Violations())
			}
		})
	}
}

func TestWait(t *testing.T) {
	r := start(t, ingest.Options{})
	met := make(chan error, 1)
	go func() {
		met <- r.Wait(t.Context(), func(events []ingest.Event) bool { return len(events) == 3 })
	}()
	for _, text := range []string{batch(1), batch(2, 3)} {
		if got := r.status(text); got != http.StatusCreated {
			t.Fatalf("answered %d", got)
		}
	}
	if err := <-met; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the spec's time is over")
	cancel(reason)
	err := r.Wait(ctx, func([]ingest.Event) bool { return false })
	if !errors.Is(err, reason) || !strings.Contains(err.Error(), "2 posts with 3 stored events") {
		t.Errorf("got %v", err)
	}
}

func TestServerEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := ingest.Start(ctx, "127.0.0.1:0", ingest.Options{Token: token}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if _, err := ingest.Start(ctx, "127.0.0.1:0", ingest.Options{}, nil); err == nil {
		t.Error("starting with an ended context: want an error")
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	r := start(t, ingest.Options{})
	addr := strings.TrimSuffix(strings.TrimPrefix(r.URL(), "http://"), "/events")
	_, err := ingest.Start(t.Context(), addr, ingest.Options{}, nil)
	if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "starting the ingest") {
		t.Errorf("got %v", err)
	}
}

func TestResetForgetsEverything(t *testing.T) {
	r := start(t, ingest.Options{})
	r.status(batch(1))
	r.status("{")
	r.Always(ingest.Answer(http.StatusServiceUnavailable))
	r.Reset()
	if len(r.Posts())+len(r.Events())+len(r.Violations()) > 0 {
		t.Errorf("kept %v, %v, %v", r.Posts(), r.Events(), r.Violations())
	}
	if got := r.status(batch(1)); got != http.StatusCreated {
		t.Errorf("answered %d", got)
	}
	if p := r.Posts(); len(p) != 1 || p[0].Seq != 1 || !p[0].Stored || r.rules() != "" {
		t.Errorf("posts %+v, violations %v", p, r.Violations())
	}
}
