package trunkcall_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// dialError is what Dial and the first call say of a target that is no good.
func dialError(t *testing.T, target string, options []trunkcall.ClientOption, says ...string) {
	t.Helper()
	_, err := trunkcall.Dial(soon(t), target, options...)
	if err == nil {
		t.Fatal("connected")
	}
	wantsText(t, err.Error(), append(says, target)...)
	c := newClient(t, target, options...)
	defer c.Close()
	_, err = echo.Call(soon(t), c, text("x"))
	s := trunkcall.StatusOf(err)
	if s.Code != trunkcall.Unavailable {
		t.Fatalf("a call: %v", err)
	}
	wantsText(t, s.Message, target)
}

func TestErrorsOfDiallingNameTheirCause(t *testing.T) {
	a := newAuthority(t)
	cert := a.certificate(t, x509.ExtKeyUsageServerAuth)
	serverTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{cert}})
	clientTLS := clientOptions{trunkcall.WithTLS(&tls.Config{RootCAs: a.pool})}

	t.Run("closed port", func(t *testing.T) {
		l := rawframe.Listen(t)
		_ = l.Close()
		dialError(t, l.Target(), nil, "connection refused")
	})
	t.Run("an HTTP server", func(t *testing.T) {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ReadHeaderTimeout = 20 * time.Millisecond // it waits for a line's end
		s.Start()
		defer s.Close()
		dialError(t, strings.TrimPrefix(s.URL, "http://"), nil, "not", "a Trunkcall server")
	})
	t.Run("a server that says nothing", func(t *testing.T) {
		l := rawframe.Listen(t)
		runsOut(t, func(d time.Duration) bool {
			ctx, cancel := within(d)
			defer cancel()
			_, err := trunkcall.Dial(ctx, l.Target())
			if err == nil {
				t.Fatal("connected")
			}
			wantsText(t, err.Error(), l.Target())
			return !strings.Contains(err.Error(), "it has accepted the connection and said nothing for") // there was no time to connect
		})
	})
	t.Run("a server that closes at once", func(t *testing.T) {
		target := answering(t, nil)
		dialError(t, target, nil, "may not be a Trunkcall server")
	})
	t.Run("a server of another protocol", func(t *testing.T) {
		target := answering(t, []byte("220 mail.example ESMTP ready\r\n"))
		dialError(t, target, nil, "not a Trunkcall server", "220 mail.example")
	})
	t.Run("an HTTP server that answers at once", func(t *testing.T) {
		dialError(t, answering(t, []byte("HTTP/1.1 400 Bad Request\r\n\r\n")), nil, "not a Trunkcall server", "HTTP/1.1", "ws://")
	})
	t.Run("a gRPC server", func(t *testing.T) {
		l := rawframe.Listen(t)
		s := grpc.NewServer()
		served := make(chan error, 1)
		go func() { served <- s.Serve(l.Listener) }()
		defer func() { s.Stop(); <-served }()
		dialError(t, l.Target(), nil, "not a Trunkcall server", "HTTP/2", "client of gRPC")
	})
	t.Run("a server of TLS", func(t *testing.T) {
		dialError(t, answering(t, []byte{0x15, 3, 1, 0, 2, 2, 0x28}), nil, "not a Trunkcall server", "dial it with TLS")
	})
	t.Run("a gRPC server with TLS", func(t *testing.T) {
		l := rawframe.Listen(t)
		s := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{cert}})))
		served := make(chan error, 1)
		go func() { served <- s.Serve(l.Listener) }()
		defer func() { s.Stop(); <-served }()
		dialError(t, l.Target(), clientTLS, "does not offer the protocol trunk", "wss://")
	})
	t.Run("TLS client, clear server", func(t *testing.T) {
		_, target := serve(t, nil, standard()...)
		dialError(t, target, clientTLS, "TLS")
	})
	t.Run("clear client, TLS server", func(t *testing.T) {
		_, target := serve(t, serverOptions{serverTLS}, standard()...)
		dialError(t, target, nil, "use TLS")
	})
	t.Run("unknown authority", func(t *testing.T) {
		_, target := serve(t, serverOptions{serverTLS}, standard()...)
		dialError(t, target, clientOptions{trunkcall.WithTLS(&tls.Config{RootCAs: x509.NewCertPool()})}, "certificate", "unknown authority")
	})
	t.Run("another host's certificate", func(t *testing.T) {
		_, target := serve(t, serverOptions{serverTLS}, standard()...)
		dialError(t, target, clientOptions{trunkcall.WithTLS(&tls.Config{RootCAs: a.pool, ServerName: "elsewhere.example"})},
			"certificate", "elsewhere.example")
	})
	t.Run("no client certificate", func(t *testing.T) {
		_, target := serve(t, serverOptions{trunkcall.WithTLS(&tls.Config{
			Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool,
		})}, standard()...)
		dialError(t, target, clientTLS, "certificate required")
	})
	t.Run("no common TLS version", func(t *testing.T) {
		_, target := serve(t, serverOptions{trunkcall.WithTLS(&tls.Config{
			Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13,
		})}, standard()...)
		dialError(t, target, clientOptions{trunkcall.WithTLS(&tls.Config{RootCAs: a.pool, MaxVersion: tls.VersionTLS12})}, "protocol version")
	})
}

// What no server can mend is told at once.
func TestAMalformedTargetIsNeverWaitedFor(t *testing.T) {
	for _, target := range []string{"", "localhost", "localhost:", "127.0.0.1:1,elsewhere", "http://localhost:80", "ws://", "wss://user@host/", "localhost:99999", "localhost:-1", "localhost:nothing"} {
		_, err := trunkcall.NewClient(target)
		if err == nil {
			t.Errorf("%q is a target", target)
			continue
		}
		wantsText(t, err.Error(), "target", "want ")
		_, err = trunkcall.Dial(soon(t), target)
		wants(t, err, trunkcall.FailedPrecondition, trunkcall.NotSent)
	}
}

func TestAStreamingMethodCalledAsUnaryIsTold(t *testing.T) {
	_, c := join(t)
	for _, in := range []string{"", "ab"} { // so many answers
		err := c.Invoke(soon(t), unary("/test.Service/Produce"), text(in), &payload{})
		s := trunkcall.StatusOf(err)
		wantsText(t, s.Message, "where one is expected", "different kinds", "streaming")
		if s.Code != trunkcall.Unimplemented {
			t.Error(err)
		}
	}
	s, err := trunkcall.OpenStream(soon(t), c, trunkcall.NewMethod("/test.Service/Echo", trunkcall.KindBidiStream))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_ = s.Send(text("x"))
	}
	_ = s.CloseSend()
	wantsText(t, wants(t, s.Receive(&payload{}), trunkcall.Unimplemented, trunkcall.Refused).Message, "different kinds", "streaming")
}

// answering is a server that sends bytes to all who come and closes.
func answering(t *testing.T, b []byte) string {
	l := rawframe.Listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = s.Write(b)
			_ = s.(*net.TCPConn).CloseWrite()
			_, _ = bufio.NewReader(s).WriteTo(discard{})
			_ = s.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Target()
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestCleartextIsServedBesideTLSOnlyWhenAllowed(t *testing.T) {
	a := newAuthority(t)
	withTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}})
	_, target := serve(t, serverOptions{withTLS, trunkcall.WithCleartext()}, standard()...)
	mustEcho(t, dial(t, target), "in the clear")
	mustEcho(t, dial(t, target, trunkcall.WithTLS(&tls.Config{RootCAs: a.pool})), "over TLS")
}

func TestAHandlerSeesTheCallersCertificate(t *testing.T) {
	for _, p := range places(t) {
		if p.name != "mutual TLS" {
			continue
		}
		var got []*x509.Certificate
		_, target := start(t, p.where, p.server, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
			got = trunkcall.CallFromContext(ctx).Peer().TLS.PeerCertificates
			return in, nil
		}))
		out, err := block.Do(soon(t), dial(t, target, p.client...), text(""))
		if err != nil {
			t.Fatal(err)
		}
		peer := out.Peer
		if len(got) != 1 || got[0].Subject.CommonName != "test" || peer.TLS == nil || peer.TLS.NegotiatedProtocol != "trunk" {
			t.Fatalf("certificates %v, peer %v", got, peer)
		}
	}
}

// A server of a later version names what it speaks; nothing was run there.
func TestAVersionMismatchNamesBothRanges(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text("x"))
		ended <- err
	}()
	p := l.Next()
	p.ReadPreface()
	p.Await(wire.Call) // else it might not have been sent
	p.Send(rawframe.Preface(func(p *wire.Preface) { p.Version, p.Highest = 7, 7 }))
	p.HalfClose()
	s := wants(t, receive(t, ended, "status"), trunkcall.Unavailable, trunkcall.Refused)
	wantsText(t, s.Message, "version", "7", "1")
}

func TestAnOfferOfAnotherVersionIsAnsweredWithOurs(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	bystander := dial(t, target)
	p := rawframe.Dial(t, target)
	p.Send(rawframe.Preface(func(p *wire.Preface) { p.Version, p.Highest = 2, 9 }), []byte("whatever version 2 says"))
	p.ReadPreface()
	if p.Remote.Version != 1 || p.Remote.Highest != 1 {
		t.Fatalf("%d to %d", p.Remote.Version, p.Remote.Highest)
	}
	if frames := p.Rest(); len(frames) != 0 {
		t.Fatalf("frames in a version that the peer may not read: %v", frames)
	}
	mustEcho(t, bystander, "x")
}
