package trunkcall_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// resolved resolves to what it is.
type resolved []trunkcall.Endpoint

func (r resolved) Resolve(_ context.Context, w *trunkcall.Watch) error { return w.Set(r) }

func TestTheAddressThatGreetsFirstHasTheCallsAndTheOthersAreClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		s, err := l.Accept()
		if err == nil {
			_, err = io.Copy(io.Discard, s)
			_ = s.Close()
		}
		ended <- err
	}()
	defer func() { _ = l.Close() }()
	_, target := serve(t, nil, standard()...)
	c := dial(t, "told:", trunkcall.WithResolver("told", resolved{{Addresses: []string{l.Addr().String(), target}}}))
	mustEcho(t, c, "x")
	until(t, "one connection", func() bool {
		conns := c.Connections()
		return len(conns) == 1 && conns[0].Remote().String() == target
	})
	select {
	case err := <-ended:
		if errors.Is(err, net.ErrClosed) {
			t.Fatal(err)
		}
	case <-soon(t).Done():
		t.Fatal("the silent one was not closed")
	}
}

func TestEachAddressOfANameIsAnEndpoint(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	_, port, err := net.SplitHostPort(target)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, "dns:localhost:"+port)
	defer c.Close()
	for range 3 {
		if _, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady()); err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range c.Connections() {
		if host, _, _ := net.SplitHostPort(conn.Remote().String()); net.ParseIP(host) == nil || !net.ParseIP(host).IsLoopback() {
			t.Fatalf("connected to %v", conn.Remote())
		}
	}
}

func TestANameThatIsNotThereIsToldByTheResolver(t *testing.T) {
	nobody := trunkcall.DNS(&net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server")
	}})
	c := newClient(t, "dns:no.such.host.invalid:1", trunkcall.WithResolver("dns", nobody))
	defer c.Close()
	_, err := echo.Call(soon(t), c, text("x"))
	wantsText(t, wants(t, err, trunkcall.Unavailable, trunkcall.NotSent).Message, "resolver dns", "no.such.host.invalid")
}

func TestACertificateIsToShowTheServerNameOfItsEndpoint(t *testing.T) {
	a := newAuthority(t)
	cert := a.sign(t, &x509.Certificate{DNSNames: []string{"one.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	_, target := serve(t, serverOptions{trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{cert}})}, standard()...)
	for _, c := range []struct {
		endpoint, configured string
		good                 bool
	}{
		{"one.test", "", true},
		{"other.test", "", false},
		{"", "", false}, // then that of the address
		{"", "one.test", true},
		{"other.test", "one.test", true}, // what is configured counts
	} {
		named := resolved{{Addresses: []string{target}, ServerName: c.endpoint}}
		client := newClient(t, "named:", trunkcall.WithResolver("named", named), trunkcall.WithTLS(&tls.Config{RootCAs: a.pool, ServerName: c.configured}))
		_, err := echo.Call(soon(t), client, text("x"))
		if (err == nil) != c.good {
			t.Errorf("endpoint %q, configured %q: %v", c.endpoint, c.configured, err)
		}
		if err != nil {
			wantsText(t, wants(t, err, trunkcall.Unavailable, trunkcall.NotSent).Message, "certificate")
		}
		client.Close()
	}
}
