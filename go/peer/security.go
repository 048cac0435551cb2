package peer

import (
	"crypto/tls"
	"crypto/x509"
	"flag"
	"os"
)

// identity is the flags that name a certificate and its key.
type identity struct{ cert, key string }

func (i *identity) flags(fs *flag.FlagSet) {
	fs.StringVar(&i.cert, "tls-cert", "", "certificate `file`, PEM")
	fs.StringVar(&i.key, "tls-key", "", "key `file` for --tls-cert, PEM")
}

func (i *identity) given() bool { return i.cert != "" || i.key != "" }

func (i *identity) load() ([]tls.Certificate, error) {
	if i.cert == "" || i.key == "" {
		return nil, usagef("--tls-cert and --tls-key go together")
	}
	pair, err := tls.LoadX509KeyPair(i.cert, i.key)
	if err != nil {
		return nil, usagef("--tls-cert %s, --tls-key %s: %w", i.cert, i.key, err)
	}
	return []tls.Certificate{pair}, nil
}

// authorities reads the certificates to trust from the file that a flag named.
func authorities(name, file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file) //nolint:gosec // naming the file is what the flag is for
	if err != nil {
		return nil, usagef("--%s: %w", name, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, usagef("--%s: %s holds no PEM certificate", name, file)
	}
	return pool, nil
}

// clientTLS is nil without a file to trust, for cleartext.
func clientTLS(trust string, own identity) (*tls.Config, error) {
	if trust == "" {
		if own.given() {
			return nil, usagef("--tls-cert needs --tls-ca, to know the server by")
		}
		return nil, nil //nolint:nilnil // no TLS is an answer
	}
	pool, err := authorities("tls-ca", trust)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if own.given() {
		if config.Certificates, err = own.load(); err != nil {
			return nil, err
		}
	}
	return config, nil
}

func serverTLS(own identity, clientCA string) (*tls.Config, error) {
	certificates, err := own.load()
	if err != nil {
		return nil, err
	}
	config := &tls.Config{Certificates: certificates, MinVersion: tls.VersionTLS12}
	if clientCA != "" {
		if config.ClientCAs, err = authorities("tls-client-ca", clientCA); err != nil {
			return nil, err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
