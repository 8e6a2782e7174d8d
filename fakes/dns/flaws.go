package dns

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	miekg "github.com/miekg/dns"
)

// flaws make a step's answer one that no honest server gives.
type flaws struct {
	extra     []netip.Addr
	authority string
	chaos     bool
	noQR      bool
	hangUp    bool
	mangle    func(answer []byte) []byte
	tcp       *Step
	behind    []Step
}

// HangUp closes a TCP connection without an answer; over UDP it never answers.
func HangUp() Step { return Step{flaws: flaws{hangUp: true}} }

// Referral gives no answer but the name of another server, as one does that asks no further by itself.
func Referral(server string) Step { return Step{flaws: flaws{authority: miekg.Fqdn(server)}} }

// Extra puts addresses of the name into the additional section, where they answer nothing.
func (s Step) Extra(addrs ...netip.Addr) Step {
	s.flaws.extra = slices.Clone(addrs)
	return s
}

// Chaos puts the records into the class CHAOS (RFC 1035 §3.2.4).
func (s Step) Chaos() Step {
	s.flaws.chaos = true
	return s
}

// WithoutQR sends the answer as if it were a query.
func (s Step) WithoutQR() Step {
	s.flaws.noQR = true
	return s
}

// Mangle changes the answer's bytes on their way, such as by CutShort, PointerLoop or Noise.
func (s Step) Mangle(change func(answer []byte) []byte) Step {
	s.flaws.mangle = change
	return s
}

// OverTCP answers as other does where the question comes over TCP. Truncated, other is cut there too.
func (s Step) OverTCP(other Step) Step {
	s.flaws.tcp = &other
	return s
}

// Behind sends the answers of other steps first, at once; a step with a target ends there.
func (s Step) Behind(others ...Step) Step {
	s.flaws.behind = slices.Clone(others)
	return s
}

// over is the step for one transport.
func (s Step) over(transport string) Step {
	switch {
	case transport == TCP && s.flaws.tcp != nil:
		return *s.flaws.tcp
	case transport == TCP:
		s.truncated = false
	}
	return s
}

func (f flaws) check() error {
	var faults []error
	for _, addr := range f.extra {
		if !addr.IsValid() {
			faults = append(faults, errors.New("additional address: is the zero value, want an IPv4 or IPv6 address"))
		}
	}
	if f.authority != "" {
		if _, err := normalize(f.authority); err != nil {
			faults = append(faults, fmt.Errorf("referral: %w", err))
		}
	}
	if f.tcp != nil {
		faults = append(faults, f.tcp.check())
	}
	for _, step := range f.behind {
		faults = append(faults, step.check())
	}
	return errors.Join(faults...)
}

// apply changes a message that is otherwise complete.
func (f flaws) apply(m *miekg.Msg) {
	name := m.Question[0].Name
	if f.authority != "" {
		m.RecursionAvailable = false
		m.Ns = append(m.Ns, &miekg.NS{Hdr: header(name, miekg.TypeNS, 0), Ns: f.authority})
	}
	m.Extra = append(m.Extra, addresses(name, miekg.TypeANY, 1, Step{addrs: f.extra})...)
	if f.chaos {
		for _, record := range m.Answer {
			record.Header().Class = miekg.ClassCHAOS
		}
	}
	m.Response = !f.noQR
}

// send writes m to the client, which may have gone.
func (f flaws) send(w miekg.ResponseWriter, query, m *miekg.Msg) {
	for _, step := range f.behind {
		step.flaws.send(w, query, reply(query, alone(query, step), true))
	}
	if f.hangUp {
		_ = w.Close() // of UDP, the library's writer closes nothing
		return
	}
	if f.mangle == nil {
		_ = w.WriteMsg(m)
		return
	}
	if packed, err := m.Pack(); err == nil {
		_, _ = w.Write(f.mangle(packed))
	}
}

// alone is the outcome of a step that no script leads on from.
func alone(query *miekg.Msg, step Step) outcome {
	owner, qtype := query.Question[0].Name, query.Question[0].Qtype
	if step.owner != "" {
		owner = step.owner
	}
	out := outcome{rcode: step.rcode, first: step, cut: step.truncated}
	if step.target != "" {
		out.records = append(out.records, cname(owner, step))
		owner = step.target
	}
	out.records = append(out.records, addresses(owner, qtype, 1, step)...)
	return out
}

// words describe it in the log.
func (f flaws) words() []string {
	var words []string
	for _, part := range []struct {
		is   bool
		word string
	}{
		{len(f.extra) > 0, "additional addresses"},
		{f.authority != "", "referral"},
		{f.chaos, "class CH"},
		{f.noQR, "without QR"},
		{f.mangle != nil, "mangled"},
		{len(f.behind) > 0, "behind others"},
	} {
		if part.is {
			words = append(words, part.word)
		}
	}
	return words
}

const headerSize = 12 // RFC 1035 §4.1.1

// CutShort leaves out the last third of an answer's bytes.
func CutShort(answer []byte) []byte { return answer[:max(headerSize, len(answer)-len(answer)/3)] }

// Noise keeps an answer's message id and nothing else.
func Noise(answer []byte) []byte {
	return append(bytes.Clone(answer[:2]), bytes.Repeat([]byte{0xff}, max(headerSize, len(answer)-2))...)
}

// PointerLoop gives one A record whose owner is a compression pointer to itself (RFC 1035 §4.1.4).
func PointerLoop(answer []byte) []byte {
	end := headerSize
	for end < len(answer) && answer[end] != 0 { // the question's name, which is never compressed
		end += int(answer[end]) + 1
	}
	end = min(len(answer), end+1+4)
	looped := bytes.Clone(answer[:end])
	binary.BigEndian.PutUint16(looped[6:], 1)                          // one answer
	binary.BigEndian.PutUint32(looped[8:], 0)                          // no authority, nothing additional
	looped = binary.BigEndian.AppendUint16(looped, 0xc000|uint16(end)) //nolint:gosec // a name has at most 255 bytes
	looped = append(looped, 0, byte(miekg.TypeA), 0, miekg.ClassINET, 0, 0, 0, 0, 0, 4)
	return append(looped, 10, 0, 0, 5)
}
