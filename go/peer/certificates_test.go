package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority signs certificates for a test, kept as files as flags name them.
type authority struct {
	dir         string
	file        string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.certificate = &x509.Certificate{
		Subject: pkix.Name{CommonName: t.Name()}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.file, _ = a.sign(t, a.certificate)
	return a
}

// server signs a certificate for the addresses that tests listen on.
func (a *authority) server(t *testing.T) (cert, key string) {
	t.Helper()
	return a.sign(t, &x509.Certificate{
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (a *authority) client(t *testing.T) (cert, key string) {
	t.Helper()
	return a.sign(t, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// sign fills in the rest and writes the certificate and its key to files. The
// first one signs itself.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a.key == nil {
		a.key = private
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return a.write(t, "CERTIFICATE", signed), a.write(t, "PRIVATE KEY", encoded)
}

func (a *authority) write(t *testing.T, kind string, content []byte) string {
	t.Helper()
	file, err := os.CreateTemp(a.dir, "*.pem")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := pem.Encode(file, &pem.Block{Type: kind, Bytes: content}); err != nil {
		t.Fatal(err)
	}
	return filepath.Clean(file.Name())
}
