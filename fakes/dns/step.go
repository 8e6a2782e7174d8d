package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	miekg "github.com/miekg/dns"
)

// maxPad keeps a padded answer within the 65,535 bytes of a DNS message (RFC 1035 §4.2.2).
const maxPad = 60_000

// Rcode is a response code (RFC 1035 §4.1.1).
type Rcode int

// The codes that scripts use.
const (
	FormErr  Rcode = miekg.RcodeFormatError
	ServFail Rcode = miekg.RcodeServerFailure
	NXDomain Rcode = miekg.RcodeNameError
	NotImp   Rcode = miekg.RcodeNotImplemented
	Refused  Rcode = miekg.RcodeRefused
)

// String gives the code's name in the registry, such as SERVFAIL.
func (r Rcode) String() string {
	if name, ok := miekg.RcodeToString[int(r)]; ok {
		return name
	}
	return fmt.Sprintf("RCODE%d", int(r))
}

// Step is what one lookup is answered. It is a value: its methods return a changed copy, so they chain.
type Step struct {
	addrs     []netip.Addr
	target    string
	rcode     Rcode
	ttl       uint32
	delay     time.Duration
	silent    bool
	truncated bool
	oversized bool
	shuffled  bool
	wrongID   bool
	pad       int
	owner     string
	question  string
	flaws     flaws
}

// Answer gives the IPv4 addresses to an A lookup and the IPv6 ones, IPv4-mapped included, to an AAAA lookup.
func Answer(addrs ...netip.Addr) Step { return Step{addrs: slices.Clone(addrs)} }

// CNAME points to target. With addresses the answer ends there and they belong to the target, whatever the target's own
// script says. Without, the server follows the target's script; a target without one makes the answer NXDOMAIN, and a
// chain that comes back to one of its own names ends there, as a loop.
func CNAME(target string, addrs ...netip.Addr) Step {
	return Step{target: miekg.Fqdn(target), addrs: slices.Clone(addrs)}
}

// Fail answers a code and no records.
func Fail(code Rcode) Step { return Step{rcode: code} }

// Empty answers NOERROR and no records.
func Empty() Step { return Step{} }

// Silent never answers.
func Silent() Step { return Step{silent: true} }

// After holds the answer back. Along a CNAME chain the delays add up.
func (s Step) After(delay time.Duration) Step {
	s.delay = delay
	return s
}

// TTL sets the records' time to live, in seconds.
func (s Step) TTL(seconds uint32) Step {
	s.ttl = seconds
	return s
}

// Truncated answers over UDP with the TC bit and no records, and in full over TCP.
func (s Step) Truncated() Step {
	s.truncated = true
	return s
}

// Oversized sends the whole answer over UDP although it is larger than the client said it takes.
func (s Step) Oversized() Step {
	s.oversized = true
	return s
}

// Shuffle puts the addresses in another order for each answer. The order follows from the lookup's number, so that a
// run can be repeated.
func (s Step) Shuffle() Step {
	s.shuffled = true
	return s
}

// Pad makes the answer at least size bytes large, by TXT records; size is at most 60,000.
func (s Step) Pad(size int) Step {
	s.pad = size
	return s
}

// WrongID answers under another message id than the query's.
func (s Step) WrongID() Step {
	s.wrongID = true
	return s
}

// Owner makes the records belong to another name than the one that was asked for.
func (s Step) Owner(name string) Step {
	s.owner = miekg.Fqdn(name)
	return s
}

// Question puts another name into the answer's question section.
func (s Step) Question(name string) Step {
	s.question = miekg.Fqdn(name)
	return s
}

// check finds what can't be put into a message.
func (s Step) check() error {
	var faults []error
	for _, addr := range s.addrs {
		if !addr.IsValid() {
			faults = append(faults, errors.New("address: is the zero value, want an IPv4 or IPv6 address"))
		}
	}
	for _, name := range []struct{ field, value string }{
		{"CNAME target", s.target}, {"owner", s.owner}, {"question", s.question},
	} {
		if name.value == "" {
			continue
		}
		if _, err := normalize(name.value); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name.field, err))
		}
	}
	if s.rcode < 0 || s.rcode > 15 {
		faults = append(faults, fmt.Errorf("rcode: %d is outside 0 to 15", int(s.rcode)))
	}
	if s.pad < 0 || s.pad > maxPad {
		faults = append(faults, fmt.Errorf("padding: %d bytes is outside 0 to %d", s.pad, maxPad))
	}
	if s.delay < 0 {
		faults = append(faults, fmt.Errorf("delay: %s is negative", s.delay))
	}
	return errors.Join(append(faults, s.flaws.check())...)
}

// canonical is a domain name in lower case with its final dot: the form that scripts are found by.
type canonical string

// normalize reads a name in presentation form (RFC 1035 §5.1), so that every spelling of it, whether by case, by escapes or with
// the final dot, becomes one.
func normalize(name string) (canonical, error) {
	if name == "" {
		return "", errors.New("the name is empty, want at least one label")
	}
	wire := make([]byte, 256)
	end, err := miekg.PackDomainName(miekg.Fqdn(name), wire, 0, nil, false)
	if err != nil {
		return "", fmt.Errorf("%q is no domain name (labels of 1 to 63 bytes, 255 in all): %w", name, err)
	}
	plain, _, err := miekg.UnpackDomainName(wire[:end], 0)
	if err != nil {
		return "", fmt.Errorf("%q is no domain name: %w", name, err)
	}
	return canonical(miekg.CanonicalName(plain)), nil
}

// withoutDot is how names are written in the log.
func withoutDot(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(name, ".")
}
