package trunkcall_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// pems are the files that TLS reads.
type pems struct{ certificate, key, authority string }

func newPEMs(t *testing.T) pems {
	t.Helper()
	folder := t.TempDir()
	return pems{filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), filepath.Join(folder, "ca.pem")}
}

// writes are how many files were written: two within a tick of the system's clock must not look like one.
var writes atomic.Int64

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(time.Duration(writes.Add(1)) * time.Second)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// issue writes a new certificate of an authority, and returns its number.
func (p pems) issue(t *testing.T, a *authority, usage x509.ExtKeyUsage) *big.Int {
	t.Helper()
	pair := a.certificate(t, usage)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, p.certificate, "CERTIFICATE", pair.Certificate[0])
	writePEM(t, p.key, "PRIVATE KEY", key)
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf.SerialNumber
}

func (p pems) trust(t *testing.T, a *authority) {
	t.Helper()
	writePEM(t, p.authority, "CERTIFICATE", a.root.Raw)
}

// shown is the number of the certificate that a server shows.
func shown(t *testing.T, target string) *big.Int {
	t.Helper()
	dialer := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(soon(t), "tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber
}

// records are what a logger was told.
type records struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *records) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *records) has(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(r.text.String(), text)
}

// until waits for something that comes with a later handshake.
func until(t *testing.T, what string, come func() bool) {
	t.Helper()
	for ctx := soon(t); !come(); {
		select {
		case <-ctx.Done():
			t.Fatal("not in time: " + what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestAServersCertificateIsExchangedUnderRunningConnections(t *testing.T) {
	t.Parallel() // it waits more than it computes
	p, a, told := newPEMs(t), newAuthority(t), &records{}
	first := p.issue(t, a, x509.ExtKeyUsageServerAuth)
	p.trust(t, a)
	_, target := serve(t, []trunkcall.ServerOption{
		trunkcall.WithTLSFiles(p.certificate, p.key), trunkcall.WithLogger(slog.New(slog.NewTextHandler(told, nil))),
	}, standard()...)
	running := dial(t, target, trunkcall.WithTLSFiles("", "", p.authority))
	mustEcho(t, running, "before")
	if got := shown(t, target); got.Cmp(first) != 0 {
		t.Fatalf("certificate %v, want %v", got, first)
	}
	writePEM(t, p.certificate, "CERTIFICATE", []byte("broken"))
	until(t, "a warning", func() bool { shown(t, target); return told.has("TLS files not taken") && told.has("level=WARN") })
	if got := shown(t, target); got.Cmp(first) != 0 {
		t.Fatalf("certificate %v, want still %v", got, first)
	}
	second := p.issue(t, a, x509.ExtKeyUsageServerAuth)
	until(t, "the new certificate", func() bool { return shown(t, target).Cmp(second) == 0 })
	mustEcho(t, running, "after")
	if n := len(running.Connections()); n != 1 {
		t.Fatalf("%d connections", n)
	}
	mustEcho(t, dial(t, target, trunkcall.WithTLSFiles("", "", p.authority)), "new")
}

// What could not be read is read again with the next handshake, though the files look as they did then: their times and
// sizes are the same.
func TestFilesOfTLSAreReadAgainUntilTheyAreGood(t *testing.T) {
	t.Parallel() // it waits more than it computes
	p, a, told := newPEMs(t), newAuthority(t), &records{}
	p.issue(t, a, x509.ExtKeyUsageServerAuth)
	_, target := serve(t, []trunkcall.ServerOption{
		trunkcall.WithTLSFiles(p.certificate, p.key), trunkcall.WithLogger(slog.New(slog.NewTextHandler(told, nil))),
	}, standard()...)
	next := newPEMs(t)
	second := next.issue(t, a, x509.ExtKeyUsageServerAuth)
	at := time.Now().Add(time.Duration(writes.Add(1)) * time.Second)
	write := func(file string, data []byte) {
		t.Helper()
		// All at once, with its time: no handshake sees it half done.
		if err := errors.Join(os.WriteFile(file+"~", data, 0o600), os.Chtimes(file+"~", at, at), os.Rename(file+"~", file)); err != nil {
			t.Fatal(err)
		}
	}
	certificate, err := os.ReadFile(next.certificate)
	key, err2 := os.ReadFile(next.key)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	write(p.certificate, certificate)
	write(p.key, bytes.Repeat([]byte("x"), len(key)))
	until(t, "a warning", func() bool { shown(t, target); return told.has("failed to find any PEM data in key") })
	write(p.key, key)
	until(t, "the new certificate", func() bool { return shown(t, target).Cmp(second) == 0 })
}

func TestAClientReadsAuthoritiesAndItsCertificateAgain(t *testing.T) {
	t.Parallel() // it waits more than it computes
	right, wrong := newAuthority(t), newAuthority(t)
	server, client := newPEMs(t), newPEMs(t)
	server.issue(t, right, x509.ExtKeyUsageServerAuth)
	server.trust(t, right)
	_, target := serve(t, []trunkcall.ServerOption{trunkcall.WithTLSFiles(server.certificate, server.key, server.authority)}, standard()...)
	client.issue(t, right, x509.ExtKeyUsageClientAuth)
	client.trust(t, wrong)
	c, err := trunkcall.Dial(soon(t), target, trunkcall.WithTLSFiles(client.certificate, client.key, client.authority))
	if err == nil {
		c.Close()
		t.Fatal("connected to a server of another authority")
	}
	wantsText(t, err.Error(), "unknown authority")
	c = newClient(t, target, trunkcall.WithTLSFiles(client.certificate, client.key, client.authority))
	defer c.Close()
	client.trust(t, right)
	until(t, "a connection", func() bool {
		_, err := echo.Call(soon(t), c, text("x"))
		return err == nil
	})
}

func TestFilesOfTLSThatAreNoGoodAreToldAtOnce(t *testing.T) {
	p, a := newPEMs(t), newAuthority(t)
	p.issue(t, a, x509.ExtKeyUsageServerAuth)
	writePEM(t, p.authority, "NOTHING", nil)
	for want, option := range map[string]trunkcall.Option{
		"both or none": trunkcall.WithTLSFiles(p.certificate, ""),
		"/none.pem":    trunkcall.WithTLSFiles(p.certificate, "/none.pem"),
		"ca.pem":       trunkcall.WithTLSFiles("", "", p.authority),
		"with key":     trunkcall.WithTLSFiles(p.key, p.certificate),
	} {
		_, err := trunkcall.Dial(soon(t), "127.0.0.1:1", option)
		wantsText(t, wants(t, err, trunkcall.FailedPrecondition, trunkcall.NotSent).Message, want)
	}
	_, err := trunkcall.Dial(context.Background(), "127.0.0.1:1", trunkcall.WithTLSFiles(p.certificate, p.key), trunkcall.WithTLS(&tls.Config{}))
	wantsText(t, wants(t, err, trunkcall.FailedPrecondition, trunkcall.NotSent).Message, "contradict")
}
