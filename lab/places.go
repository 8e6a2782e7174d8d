package lab

import (
	"fmt"
	"net/netip"
)

// PublicName is a name of public sites, and so is every name below it.
const PublicName = "pub.test"

// AppURL is a URL of the sandbox app.
func (l *Lab) AppURL(path string) string { return "http://" + appAddr().String() + path }

// AppAddr is where the sandbox app listens.
func (l *Lab) AppAddr() netip.AddrPort { return appAddr() }

// Public is the address of public site number i.
func (l *Lab) Public(i int) netip.Addr { return publicAddrs()[i] }

// PublicURL is a URL of public site number i, by its address.
func (l *Lab) PublicURL(i int, path string) string {
	return "http://" + Authority(publicAddrs()[i], SitePort) + path
}

// NameURL is a URL of a name at the sites' port.
func (l *Lab) NameURL(name, path string) string {
	return fmt.Sprintf("http://%s:%d%s", name, SitePort, path)
}

// SecureURL is an https URL of a name at the sites' TLS port.
func (l *Lab) SecureURL(name, path string) string {
	return fmt.Sprintf("https://%s:%d%s", name, TLSPort, path)
}

// Of lists the table's addresses of a class that a canary answers at.
func Of(class Class) []netip.Addr {
	var addrs []netip.Addr
	for _, a := range Table() {
		if a.Class == class && a.Kind == Reachable {
			addrs = append(addrs, a.Addr)
		}
	}
	return addrs
}

// Authority is an address with a port as it stands in a URL or after CONNECT.
func Authority(a netip.Addr, port int) string {
	return netip.AddrPortFrom(a, uint16(port)).String() //nolint:gosec // a port
}
