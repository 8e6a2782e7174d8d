package egress

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// Bounds of one DNS answer.
const (
	maxRecords = 256
	maxAliases = 16
)

// answers tells whether reply is a reply to question and to nothing else.
func answers(reply *dns.Msg, question dns.Question) bool {
	return reply.Response && reply.Opcode == dns.OpcodeQuery && len(reply.Question) == 1 &&
		reply.Question[0].Qtype == question.Qtype && reply.Question[0].Qclass == question.Qclass &&
		strings.EqualFold(reply.Question[0].Name, question.Name)
}

// addresses returns the addresses that reply gives for the name of question. Aliases (RFC 1034 §3.6.2) are followed
// within the reply only; a record of any other name counts for nothing. The error is errNoAddress when there are none.
func addresses(reply *dns.Msg, question dns.Question) ([]netip.Addr, error) {
	if reply.Truncated {
		return nil, errors.New("the DNS answer is truncated")
	}
	if len(reply.Answer) > maxRecords {
		return nil, errors.New("the DNS answer has more than 256 records")
	}
	aliases := map[string]string{}
	found := map[string][]netip.Addr{}
	for _, record := range reply.Answer {
		header := record.Header()
		owner := strings.ToLower(header.Name)
		if header.Class != dns.ClassINET {
			continue
		}
		switch record := record.(type) {
		case *dns.CNAME:
			target := strings.ToLower(record.Target)
			if other, ok := aliases[owner]; ok && other != target {
				return nil, errors.New("the DNS answer gives one name two aliases")
			}
			aliases[owner] = target
		case *dns.A:
			if addr, ok := netip.AddrFromSlice(record.A.To4()); ok && question.Qtype == dns.TypeA {
				found[owner] = append(found[owner], addr)
			}
		case *dns.AAAA:
			if addr, ok := netip.AddrFromSlice(record.AAAA.To16()); ok && question.Qtype == dns.TypeAAAA {
				found[owner] = append(found[owner], addr)
			}
		}
	}
	name := strings.ToLower(question.Name)
	for range maxAliases + 1 {
		target, ok := aliases[name]
		if !ok {
			if len(found[name]) == 0 {
				return nil, errNoAddress
			}
			return found[name], nil
		}
		name = target
	}
	return nil, errors.New("the DNS answer's aliases form a loop or a long chain")
}
