package trunkcall

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// tlsLookAgain is how often files of TLS are looked at, at most.
const tlsLookAgain = time.Second

// WithTLSFiles is WithTLS from PEM files: a certificate, followed by its intermediate certificates,
// its key, and certificates of authorities. A client verifies servers by the authorities, or by the
// system's if none are given, and shows the certificate, if there is one. A server shows the
// certificate. If authorities are given, it demands a certificate of each client that they have
// signed.
//
// Files that change are read again, without a restart, for new connections: each handshake checks
// for changes, but at most once a second. If new files cannot be read or do not fit together, a
// warning is logged and what was read before stays.
func WithTLSFiles(certificate, key string, authorities ...string) Option {
	return option(func(c *common) {
		c.tlsFiles = &tlsFiles{certificate: certificate, key: key, authorities: slices.Clone(authorities)}
		if (certificate == "") != (key == "") {
			c.wrong("the files of TLS are the certificate %q with the key %q, both or none", certificate, key)
		}
	})
}

// tlsFiles is a configuration of TLS that is made of files.
type tlsFiles struct {
	certificate, key string
	authorities      []string
	protocols        []string // of a server
	now              func() time.Duration
	warn             func(error)

	mu      sync.Mutex
	looked  time.Duration // when, last
	stamps  []stamp       // of the files, as they were when they were last good
	fault   string        // why they have not been since, as it was logged
	current *tls.Config
}

// stamp tells one state of a file from the next.
type stamp struct {
	modified time.Time
	size     int64
}

// readTLS makes the configuration of TLS, if it is made of files.
func (c *common) readTLS() {
	f := c.tlsFiles
	switch {
	case f == nil || (f.certificate == "") != (f.key == ""):
		return
	case c.tls != nil:
		c.wrong("TLS is given as a configuration and as files, which contradict each other")
		return
	}
	f.now = func() time.Duration { return time.Since(began) }
	f.warn = func(err error) { c.log(slog.LevelWarn, "TLS files not taken", "error", err) }
	var err error
	if f.stamps, err = f.stamp(); err == nil {
		f.looked = f.now()
		f.current, err = f.read()
	}
	if err != nil {
		c.wrong("TLS: %v", err)
		return
	}
	c.tls = f.current
}

// forClient is the configuration for one handshake of a client.
func (c *common) forClient() *tls.Config {
	if c.tlsFiles == nil {
		return c.tls
	}
	return c.tlsFiles.config()
}

// forServer is the configuration for all handshakes of a server.
func (c *common) forServer() *tls.Config {
	if c.tlsFiles == nil {
		return c.tls
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.tlsFiles.config(), nil },
	}
}

// config is made of the files as they are now, or were when they were last good. It must not be changed.
func (f *tlsFiles) config() *tls.Config {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.now(); now-f.looked >= tlsLookAgain {
		f.looked = now
		f.lookLocked()
	}
	return f.current
}

func (f *tlsFiles) lookLocked() {
	stamps, err := f.stamp()
	if err == nil {
		if slices.Equal(stamps, f.stamps) {
			f.fault = ""
			return
		}
		var next *tls.Config
		if next, err = f.read(); err == nil {
			f.current, f.stamps, f.fault = next, stamps, ""
			return
		}
	}
	if text := err.Error(); text != f.fault { // else it was said before
		f.fault = text
		f.warn(err)
	}
}

// stamp looks at all files, in one order.
func (f *tlsFiles) stamp() ([]stamp, error) {
	names := f.authorities
	if f.certificate != "" {
		names = append([]string{f.certificate, f.key}, names...)
	}
	stamps := make([]stamp, len(names))
	for i, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

func (f *tlsFiles) read() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: f.protocols}
	if f.certificate != "" {
		pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", f.certificate, f.key, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	if len(f.authorities) == 0 {
		return config, nil
	}
	pool := x509.NewCertPool()
	for _, name := range f.authorities {
		data, err := os.ReadFile(name) //nolint:gosec // the user's own file
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("authorities %s: there is no certificate in it", name)
		}
	}
	config.RootCAs = pool
	config.ClientCAs, config.ClientAuth = pool, tls.RequireAndVerifyClientCert
	return config, nil
}
