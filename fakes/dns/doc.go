// Package dns is a scripted DNS server for tests: every name answers what its script says, lookup by lookup, and
// every query is written down with its time. It speaks UDP and TCP on one address.
//
// A rebinding name is two steps, for both families at once, because each type of a name has a counter of its own:
//
//	server, err := dns.Start(ctx, "127.0.0.1:0")
//	if err != nil {
//		return err
//	}
//	defer server.Close()
//
//	err = server.Set("rebind.test",
//		dns.Answer(public4, public6),           // the first A and the first AAAA lookup
//		dns.Answer(private4, private6).TTL(60), // all later ones: the last step repeats
//	)
//
//	err = server.Set("chain.test", dns.CNAME("rebind.test")) // followed, as a recursive resolver does
//	err = server.Set("*.late.test", dns.Answer(public4).After(200*time.Millisecond))
//
//	for _, q := range server.QueriesFor("rebind.test") {
//		fmt.Println(q.Time, q.Type, q.Nth, q.Answer)
//	}
//
// Bad answers are made by a step's further methods, such as Truncated, WrongID, Owner, Chaos, Mangle and Behind.
//
// A name without a script is NXDOMAIN. A scripted name has every type: those without records answer NOERROR, empty.
// Answers carry TTL 0 unless the step says otherwise. A resolver that asks again after silence or a wrong answer makes
// a new lookup; one that asks again over TCP after a truncated answer finishes the old one.
package dns
