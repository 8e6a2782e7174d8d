package dns_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/browser-sidecar/conformance/fakes/dns"
)

func Example() {
	server, err := dns.Start(context.Background(), "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Close()
	err = server.Set("rebind.test",
		dns.Answer(netip.MustParseAddr("93.184.216.34")),
		dns.Answer(netip.MustParseAddr("10.0.0.5")))
	if err != nil {
		panic(err)
	}

	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Addr().String())
	}}
	for range 2 {
		addrs, err := resolver.LookupNetIP(context.Background(), "ip4", "rebind.test.")
		fmt.Println(addrs, err)
	}
	for _, q := range server.QueriesFor("rebind.test") {
		if q.Type == "A" {
			fmt.Println(q.Nth, q.Answer)
		}
	}
	// Output:
	// [93.184.216.34] <nil>
	// [10.0.0.5] <nil>
	// 1 NOERROR 93.184.216.34
	// 2 NOERROR 10.0.0.5
}
