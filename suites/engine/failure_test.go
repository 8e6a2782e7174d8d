package engine

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

// message is what Gomega says of an assertion that fails.
func message(check func(g gomega.Gomega)) string {
	var text string
	g := gomega.NewGomega(func(m string, _ ...int) { text = m })
	check(g)
	return text
}

func TestParseFailure(t *testing.T) {
	gomegas := message(func(g gomega.Gomega) { g.Expect(200).To(gomega.Equal(403), "GET /x without a token") })
	for name, c := range map[string]struct {
		message string
		want    Failure
	}{
		"our own": {
			"GET /x\nwant any of: status 401 | status 403\ngot: status 200",
			Failure{Did: "GET /x", Want: []string{"status 401", "status 403"}, Got: "status 200"},
		},
		"our own, with lines in what came": {
			"did\nwant any of: a\ngot: b\nc",
			Failure{Did: "did", Want: []string{"a"}, Got: "b\nc"},
		},
		"Gomega's": {
			gomegas,
			Failure{Did: "GET /x without a token", Want: []string{"to equal <int>: 403"}, Got: "<int>: 200"},
		},
		"anything else": {"a timeout occurred", Failure{}},
	} {
		c.want.Message = c.message
		if got := parseFailure(c.message); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: want %+v, got %+v", name, c.want, got)
		}
	}
}

func TestParseFailureOfErrors(t *testing.T) {
	fault := errors.New("connection refused")
	for want, text := range map[string]string{
		"no error": message(func(g gomega.Gomega) { g.Expect(fault).NotTo(gomega.HaveOccurred(), "GET /x") }),
		"success":  message(func(g gomega.Gomega) { g.Expect(fault).To(gomega.Succeed(), "GET /x") }),
	} {
		got := parseFailure(text)
		if got.Did != "GET /x" || !reflect.DeepEqual(got.Want, []string{want}) || !strings.Contains(got.Got, "connection refused") {
			t.Errorf("want GET /x, %q and the error, got %+v of %q", want, got, text)
		}
	}
}

func TestFilterSelectsExactlyTheClauses(t *testing.T) {
	if got, want := filter([]string{"a.b", "c.d-e"}), `/^clause:(a\.b|c\.d-e)$/`; got != want {
		t.Errorf("want %s, got %s", want, got)
	}
}

func TestClauseOf(t *testing.T) {
	for _, c := range []struct {
		labels []string
		want   string
		fails  bool
	}{
		{[]string{"clause:a.b"}, "a.b", false},
		{[]string{"other", "clause:a.b"}, "a.b", false},
		{nil, "", true},
		{[]string{"clause:a.b", "clause:c.d"}, "", true},
	} {
		got, err := clauseOf(c.labels)
		if got != c.want || (err != nil) != c.fails {
			t.Errorf("%q: want %q, got %q, %v", c.labels, c.want, got, err)
		}
	}
}

func TestShortFileHidesTheMachine(t *testing.T) {
	if got := shortFile("/home/someone/src/suites/sidecar/http/limits.go"); got != "http/limits.go" {
		t.Errorf("got %s", got)
	}
}
