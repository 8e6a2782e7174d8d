// Package canary listens where nothing may ever arrive. Whatever arrives anyway is a hit: written down as soon as the
// connection is accepted, so that one without a single byte counts too, and completed by its first bytes. A canary answers
// HTTP, so that a leak is visible in a page as well.
//
//	c, err := canary.Start(ctx, []netip.Addr{private4, private6}, canary.Options{
//		TCPPorts: []uint16{80, 8080},
//		UDPPorts: []uint16{3478},
//	})
//	if err != nil {
//		return err // names the address that can't be listened on
//	}
//	defer c.Close()
//
//	if err := c.ProbeAll(ctx); err != nil { // every listener answers, and no probe is among the hits
//		return err
//	}
//	mark := c.Mark()
//	attack()
//	if err := c.Probe(ctx, target); err != nil { // also a barrier: what came before it has been written down
//		return err
//	}
//	for _, hit := range c.HitsSince(mark) {
//		fmt.Println("reached:", hit)
//	}
package canary
