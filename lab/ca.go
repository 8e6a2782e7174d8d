package lab

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// CA signs for the lab's public names, so that the https half of the platform is really exercised.
type CA struct {
	cert *x509.Certificate
	der  []byte
	key  *ecdsa.PrivateKey

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

// NewCA makes a certificate authority that lives as long as a run.
func NewCA() (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the lab CA's key: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "Conformance lab CA"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(30 * 24 * time.Hour),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("signing the lab CA: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading the lab CA back: %w", err)
	}
	return &CA{cert: cert, der: der, key: key, leaves: make(map[string]*tls.Certificate)}, nil
}

// TLS serves any name with a certificate of its own, made at its first use; without a name, the listener's address.
func (ca *CA) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := hello.ServerName
			if name == "" {
				host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String())
				if err != nil {
					return nil, fmt.Errorf("reading the listener's address: %w", err)
				}
				name = host
			}
			return ca.leaf(name)
		},
	}
}

// Pool is what a client of the suite's own needs to trust the lab's names.
func (ca *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

func (ca *CA) leaf(name string) (*tls.Certificate, error) {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	if leaf, ok := ca.leaves[name]; ok {
		return leaf, nil
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    ca.cert.NotBefore,
		NotAfter:     ca.cert.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca.cert, &ca.key.PublicKey, ca.key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate for %s: %w", name, err)
	}
	leaf := &tls.Certificate{Certificate: [][]byte{der, ca.der}, PrivateKey: ca.key}
	ca.leaves[name] = leaf
	return leaf, nil
}

// InstallInto makes home a home directory whose Chromium trusts the CA: Chromium reads $HOME/.pki/nssdb on Linux.
// The target may run under any user id, so everyone may write there.
func (ca *CA) InstallInto(ctx context.Context, home string) error {
	db := filepath.Join(home, ".pki", "nssdb")
	if err := os.MkdirAll(db, 0o777); err != nil { //nolint:gosec // see above
		return fmt.Errorf("making the trust store: %w", err)
	}
	file := filepath.Join(home, "lab-ca.pem")
	pemBytes := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.der})
	if err := os.WriteFile(file, pemBytes, 0o644); err != nil { //nolint:gosec // a certificate is public
		return fmt.Errorf("writing the lab CA's certificate: %w", err)
	}
	for _, args := range [][]string{
		{"-N", "-d", "sql:" + db, "--empty-password"},
		{"-A", "-d", "sql:" + db, "-n", "conformance-lab", "-t", "C,,", "-i", file},
	} {
		if out, err := exec.CommandContext(ctx, "certutil", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("running certutil %s (of Debian's libnss3-tools): %w: %s", args[0], err, out)
		}
	}
	return filepath.WalkDir(home, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := os.FileMode(0o666)
		if entry.IsDir() {
			mode = 0o777
		}
		return os.Chmod(path, mode)
	})
}
