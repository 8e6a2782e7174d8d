package egress

import (
	"strings"
	"testing"
)

// logLine bounds one line of the log: a host of 253 bytes with its reason.
const logLine = 512

func TestHostileTextsStayOnOneShortLineOfTheLog(t *testing.T) {
	r := newRig(t, quick(), nil)
	long := strings.Repeat("secret.", 4000)
	requests := []string{
		"GET http://private.test/secret?secret#secret HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://secret\x00\x1b[2J\x7f.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://" + long + "test/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET secret" + strings.Repeat("t", 30_000) + "://x/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET http://10.0.0.5/ HTTP/1.1\r\nHost: " + long + "\r\n\r\n",
		"GET http://10.0.0.5/ HTTP/1.1\r\nHost: x\r\nsecret " + long + ": x\r\n\r\n",
		"GET http://10.0.0.5/ HTTP/1.1\r\nHost: x\r\nX: secret\x00\r\n\r\n",
		"CONNECT secret:" + long + " HTTP/1.1\r\n\r\n",
		"CONNECT secret@10.0.0.5:80 HTTP/1.1\r\n\r\n",
		"CONNECT 10.0.0.5:80 secret\r\n\r\n",
		long + " / HTTP/1.1\r\n\r\n",
		"secret\nsecret\r\n\r\n",
	}
	for _, request := range requests {
		if resp, _ := r.ask(t, request); resp.StatusCode < 400 {
			t.Errorf("%.60q got %d", request, resp.StatusCode)
		}
	}
	r.denials.report()
	got := r.log.String()
	if strings.Contains(got, "secret") {
		t.Errorf("the log repeats what a request held: %.2000s", got)
	}
	for line := range strings.Lines(got) {
		if len(line) > logLine || !strings.Contains(line, `msg="egress refused" host=`) || !strings.Contains(line, " count=") {
			t.Errorf("a line of %d bytes: %.300q", len(line), line)
		}
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Errorf("a control character in %.300q", line)
		}
	}
}

func TestRefusalsOfManyPagesAreCountedNotListed(t *testing.T) {
	r := newRig(t, quick(), nil)
	for range 5000 {
		r.denials.add("10.0.0.5", "is a private address")
		r.denials.add("(malformed)", "not a proxy request")
	}
	r.denials.report()
	got := r.log.String()
	if strings.Count(got, "\n") != 4 || strings.Count(got, "count=4999") != 2 {
		t.Errorf("the log is %s", got)
	}
}
