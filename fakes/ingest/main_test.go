package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/browser-sidecar/conformance/fakes/ingest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "recording-token-0123456789abcdef"

// rig is an ingest and a sender that keeps no connection alive.
type rig struct {
	t *testing.T
	*ingest.Server
	client *http.Client
}

func start(t *testing.T, o ingest.Options) *rig {
	t.Helper()
	o.Token = token
	s, err := ingest.Start(context.Background(), "127.0.0.1:0", o, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})
	return &rig{t: t, Server: s, client: &http.Client{
		Transport:     transport,
		Timeout:       5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// send posts a gzipped body, after change made the request other than it should be.
func (r *rig) send(body string, change ...func(*http.Request)) (*http.Response, error) {
	r.t.Helper()
	var wire bytes.Buffer
	w := gzip.NewWriter(&wire)
	_, _ = io.WriteString(w, body)
	_ = w.Close()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.URL(), &wire)
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Encoding", "gzip")
	request.Header.Set("Content-Type", "application/json")
	for _, c := range change {
		c(request)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	text, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(text))
	return response, nil
}

// status is that of an answered post.
func (r *rig) status(body string, change ...func(*http.Request)) int {
	r.t.Helper()
	response, err := r.send(body, change...)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode
}

func (r *rig) rules() string {
	var rules []string
	for _, v := range r.Violations() {
		rules = append(rules, fmt.Sprintf("%d:%s", v.Post, v.Rule))
	}
	return strings.Join(rules, " ")
}

// batch is a good body of rrweb events with these timestamps.
func batch(timestamps ...int) string {
	var events []string
	for _, n := range timestamps {
		events = append(events, fmt.Sprintf(`{"kind":"rrweb","timestamp":%d,"data":{"type":3,"data":{},"timestamp":%d,"tab":1}}`, n, n))
	}
	return body(events...)
}

func body(events ...string) string {
	return `{"sent_at":1790000000000,"recording_events":[` + strings.Join(events, ",") + `]}`
}
