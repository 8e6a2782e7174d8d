package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/browser-sidecar/conformance/fakes/app"
)

// siteListeners are where the app and the public sites listen.
func siteListeners() []app.Listen {
	listeners := []app.Listen{{Addr: appAddr()}}
	for _, a := range publicAddrs() {
		listeners = append(listeners,
			app.Listen{Addr: netip.AddrPortFrom(a, SitePort)}, app.Listen{Addr: netip.AddrPortFrom(a, RebindPort)},
			app.Listen{Addr: netip.AddrPortFrom(a, TLSPort), TLS: true})
	}
	for _, a := range Table() {
		if a.Class.public() && a.Class != Public {
			listeners = append(listeners, app.Listen{Addr: netip.AddrPortFrom(a.Addr, SitePort)})
		}
	}
	return listeners
}

// siteWithin bounds one site's answer to the lab's own check.
const siteWithin = 5 * time.Second

// checkSites asks every site once: a site that is dead would make each attack look refused.
func checkSites(ctx context.Context, pool *x509.CertPool) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: siteWithin}
	var errs []error
	for _, l := range siteListeners() {
		scheme := "http"
		if l.TLS {
			scheme = "https"
		}
		errs = append(errs, ask(ctx, client, fmt.Sprintf("%s://%s/status?code=200", scheme, l.Addr)))
	}
	return errors.Join(errs...)
}

func ask(ctx context.Context, client *http.Client, url string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxEntry))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("asking %s: status %d", url, answer.StatusCode)
	}
	return nil
}
