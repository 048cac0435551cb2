package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

func Example() {
	folder := must(os.MkdirTemp("", "mutualtls"))
	defer os.RemoveAll(folder)
	authority := issue(folder, "authority", nil)
	server, client := issue(folder, "localhost", authority), issue(folder, "Ada", authority)
	run(authority.file, server.file, server.keyFile, client.file, client.keyFile)
	// Output:
	// hello Ada
	// without a certificate: UNAVAILABLE
}

type identity struct {
	certificate   *x509.Certificate
	key           *ecdsa.PrivateKey
	file, keyFile string
}

// issue writes a certificate and its key into files; without an issuer it is that of an authority.
func issue(folder, name string, by *identity) *identity {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	one := &identity{
		certificate: template, key: must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)),
		file: filepath.Join(folder, name+".pem"), keyFile: filepath.Join(folder, name+".key"),
	}
	if by == nil {
		by = one
		template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	}
	der := must(x509.CreateCertificate(rand.Reader, template, by.certificate, one.key.Public(), by.key))
	one.certificate = must(x509.ParseCertificate(der))
	write(one.file, "CERTIFICATE", der)
	write(one.keyFile, "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(one.key)))
	return one
}

func write(file, kind string, der []byte) {
	must(0, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}
