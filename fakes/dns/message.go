package dns

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"

	miekg "github.com/miekg/dns"
)

// ednsSize is the UDP size that the server says it takes: what fits into a packet on any link.
const ednsSize = 1232

// reply makes the message for an outcome, cut down to what the transport carries.
func reply(query *miekg.Msg, out outcome, udp bool) *miekg.Msg {
	m := new(miekg.Msg)
	m.SetReply(query)
	m.Compress = true
	m.RecursionAvailable = true // else an empty answer reads as a lame referral
	m.Rcode = int(out.rcode)
	m.Answer = out.records
	out.first.flaws.apply(m)

	limit := miekg.MaxMsgSize
	edns := query.IsEdns0()
	if edns != nil {
		m.SetEdns0(ednsSize, false)
	}
	if udp && !out.first.oversized {
		limit = miekg.MinMsgSize
		if edns != nil {
			limit = max(limit, int(edns.UDPSize()))
		}
	}
	if out.first.wrongID {
		m.Id ^= 0x5555
	}
	if out.first.question != "" {
		m.Question[0].Name = out.first.question
	}
	pad(m, out.first.pad)
	if out.cut {
		m.Answer = nil
		m.Truncated = true
	} else if m.Len() > limit {
		m.Truncate(limit)
	}
	return m
}

// pad adds TXT records until the message has the size.
func pad(m *miekg.Msg, size int) {
	filler := strings.Repeat("x", 255)
	for missing := size - m.Len(); missing > 0; missing -= len(filler) {
		m.Answer = append(m.Answer, &miekg.TXT{
			Hdr: header(m.Question[0].Name, miekg.TypeTXT, 0),
			Txt: []string{filler},
		})
	}
}

func header(owner string, rrtype uint16, ttl uint32) miekg.RR_Header {
	return miekg.RR_Header{Name: owner, Rrtype: rrtype, Class: miekg.ClassINET, Ttl: ttl}
}

func cname(owner string, step Step) miekg.RR {
	return &miekg.CNAME{Hdr: header(owner, miekg.TypeCNAME, step.ttl), Target: step.target}
}

// addresses are the step's records of one type; ANY gets both.
func addresses(owner string, qtype uint16, nth int, step Step) []miekg.RR {
	addrs := step.addrs
	if step.shuffled {
		addrs = shuffled(addrs, nth)
	}
	var records []miekg.RR
	for _, addr := range addrs {
		switch {
		case addr.Is4() && (qtype == miekg.TypeA || qtype == miekg.TypeANY):
			records = append(records, &miekg.A{Hdr: header(owner, miekg.TypeA, step.ttl), A: addr.AsSlice()})
		case addr.Is6() && (qtype == miekg.TypeAAAA || qtype == miekg.TypeANY):
			b := addr.As16()
			records = append(records, &miekg.AAAA{Hdr: header(owner, miekg.TypeAAAA, step.ttl), AAAA: b[:]})
		}
	}
	return records
}

func shuffled(addrs []netip.Addr, nth int) []netip.Addr {
	addrs = slices.Clone(addrs)
	order := rand.New(rand.NewPCG(uint64(nth), 0))
	order.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	return addrs
}

// summary writes an answer for the log, such as "NOERROR CNAME b.test 10.0.0.5".
func summary(m *miekg.Msg, out outcome) string {
	if out.first.flaws.hangUp {
		return "hung up"
	}
	if out.silent {
		return "silent"
	}
	words := []string{Rcode(m.Rcode).String()}
	texts := 0
	for _, record := range m.Answer {
		switch record := record.(type) {
		case *miekg.A:
			words = append(words, record.A.String())
		case *miekg.AAAA:
			words = append(words, ipv6(record.AAAA))
		case *miekg.CNAME:
			words = append(words, "CNAME", withoutDot(record.Target))
		case *miekg.TXT:
			texts++
		}
	}
	switch {
	case m.Truncated:
		words = append(words, "truncated")
	case len(m.Answer) == 0 && m.Rcode == miekg.RcodeSuccess:
		words = append(words, "empty")
	}
	if texts > 0 {
		words = append(words, fmt.Sprintf("padded to %d bytes", m.Len()))
	}
	if out.first.wrongID {
		words = append(words, "wrong id")
	}
	if out.first.owner != "" {
		words = append(words, "owner", withoutDot(out.first.owner))
	}
	if out.first.question != "" {
		words = append(words, "question", withoutDot(out.first.question))
	}
	words = append(words, out.first.flaws.words()...)
	if out.delay > 0 {
		words = append(words, "after", out.delay.String())
	}
	return strings.Join(words, " ")
}

// ipv6 keeps an IPv4-mapped address apart from the IPv4 address, which net.IP writes alike.
func ipv6(ip net.IP) string {
	addr, _ := netip.AddrFromSlice(ip)
	return addr.String()
}
