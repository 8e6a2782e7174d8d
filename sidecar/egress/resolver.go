package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// Bounds of one name's look-up.
const (
	lookupRounds  = 2
	lookupServers = 3
	strayPackets  = 16 // that may arrive before the answer to one question
)

var (
	// errNoAddress says that DNS knows no address of a name.
	errNoAddress = errors.New("the name has no address")

	errNoServer = errors.New("no DNS server answered")
)

// A dnsResolver asks the servers of a resolv.conf for absolute names. It applies no search list, consults no hosts file
// and remembers no answer: each connection is judged by the answer that it uses.
type dnsResolver struct {
	path  string // of the resolv.conf, read again when it has changed
	port  string
	total time.Duration // for a name
	try   time.Duration // for one question to one server
	grace time.Duration // for the other family once one has given addresses

	mu      sync.Mutex
	servers []string
	read    os.FileInfo
}

func newDNSResolver() *dnsResolver {
	return &dnsResolver{
		path: "/etc/resolv.conf", port: "53",
		total: 10 * time.Second, try: 5 * time.Second, grace: time.Second, // try is resolv.conf(5)'s own default
	}
}

// Lookup implements Resolver: it asks for A and AAAA at once and gives the IPv4 addresses first.
func (r *dnsResolver) Lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, r.total)
	defer cancel()
	servers, err := r.currentServers()
	if err != nil {
		return nil, err
	}
	types := []uint16{dns.TypeA, dns.TypeAAAA}
	found := make([][]netip.Addr, len(types))
	faults := make([]error, len(types))
	var asking sync.WaitGroup
	for i, qtype := range types {
		asking.Go(func() {
			found[i], faults[i] = r.ask(ctx, servers, dns.Question{Name: dns.Fqdn(name), Qtype: qtype, Qclass: dns.ClassINET})
			if len(found[i]) > 0 {
				time.AfterFunc(r.grace, cancel) // after Lookup's end it finds nothing to do
			}
		})
	}
	asking.Wait()
	if addrs := slices.Concat(found...); len(addrs) > 0 {
		return addrs, nil
	}
	fault := faults[0]
	if errors.Is(fault, errNoAddress) {
		fault = faults[1]
	}
	return nil, fmt.Errorf("looking up a name: %w", fault)
}

// ask puts one question to each server in turn, twice, until one answers it.
func (r *dnsResolver) ask(ctx context.Context, servers []string, question dns.Question) ([]netip.Addr, error) {
	fault := errNoServer
	for range lookupRounds {
		for _, server := range servers {
			reply, err := r.roundTrip(ctx, "udp", server, question)
			if err == nil && reply.Truncated {
				reply, err = r.roundTrip(ctx, "tcp", server, question)
			}
			if ctx.Err() != nil && err != nil {
				return nil, fmt.Errorf("asking a DNS server: %w", ctx.Err())
			}
			if err != nil {
				fault = err
				continue
			}
			switch reply.Rcode {
			case dns.RcodeSuccess:
				return addresses(reply, question)
			case dns.RcodeNameError:
				return nil, errNoAddress
			}
			fault = fmt.Errorf("the DNS server answered %s", dns.RcodeToString[reply.Rcode])
		}
	}
	return nil, fault
}

// roundTrip sends one question to one server and returns the answer to it, whatever else arrives.
func (r *dnsResolver) roundTrip(ctx context.Context, network, server string, question dns.Question) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, r.try)
	defer cancel()
	var d net.Dialer
	raw, err := d.DialContext(ctx, network, server)
	if err != nil {
		return nil, fmt.Errorf("reaching a DNS server: %w", err)
	}
	conn := &dns.Conn{Conn: raw, UDPSize: dns.MaxMsgSize}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	query := &dns.Msg{
		MsgHdr:   dns.MsgHdr{Id: dns.Id(), RecursionDesired: true},
		Question: []dns.Question{question},
	}
	if err := conn.WriteMsg(query); err != nil {
		return nil, fmt.Errorf("asking a DNS server: %w", err)
	}
	for range strayPackets {
		reply, err := conn.ReadMsg()
		if reply == nil {
			return nil, fmt.Errorf("waiting for a DNS server: %w", err)
		}
		if reply.Id != query.Id {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading a DNS answer: %w", err)
		}
		if answers(reply, question) {
			return reply, nil
		}
	}
	return nil, errors.New("the DNS server answers other questions than the one put to it")
}

// currentServers returns the servers that the resolv.conf names now.
func (r *dnsResolver) currentServers() ([]string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info, err := os.Stat(r.path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of DNS servers: %w", err)
	}
	if r.read != nil && os.SameFile(info, r.read) && info.ModTime().Equal(r.read.ModTime()) && info.Size() == r.read.Size() {
		return r.servers, nil
	}
	config, err := dns.ClientConfigFromFile(r.path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of DNS servers: %w", err)
	}
	var servers []string
	for _, server := range config.Servers {
		if _, err := netip.ParseAddr(server); err == nil && len(servers) < lookupServers {
			servers = append(servers, net.JoinHostPort(server, r.port))
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("%s names no DNS server", r.path)
	}
	r.servers, r.read = servers, info
	return servers, nil
}
