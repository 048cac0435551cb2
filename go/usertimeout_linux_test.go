package trunkcall_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// sockets are descriptors of their own for sockets that were opened: those of the connections are
// closed where a poller reads with others.
type sockets chan *os.File

func (s sockets) add(socket net.Conn, err error) (net.Conn, error) {
	if err == nil {
		if own, err := socket.(*net.TCPConn).File(); err == nil {
			s <- own
		}
	}
	return socket, err
}

// taking is a listener that tells of the sockets that it hands over.
type taking struct {
	net.Listener
	sockets
}

func (l taking) Accept() (net.Conn, error) { return l.add(l.Listener.Accept()) }

// wantsUserTimeout checks when the system was told to give a socket up; 0: it was not.
func wantsUserTimeout(t *testing.T, socket *os.File, want time.Duration) {
	t.Helper()
	defer func() { _ = socket.Close() }()
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	const tcpUserTimeout = 18
	var got, alive int
	_ = raw.Control(func(fd uintptr) {
		got, _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
		alive, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
	})
	if after := time.Duration(got) * time.Millisecond; after != want || alive == 0 {
		t.Errorf("the system gives it up after %v, want %v; SO_KEEPALIVE is %d", after, want, alive)
	}
}

// The system gives up connections whose peer acknowledges or reads nothing where the protocol bounds that
// by a minute itself: clients of HTTP/1.1 may pause for longer, and what a user's protocol allows nobody knows.
func TestTheSystemGivesUpConnectionsOfProtocolsThatBoundUnreadOutput(t *testing.T) {
	const given = 150 * time.Second
	keepalive := trunkcall.WithKeepalive(2*time.Minute, 30*time.Second)
	a := newAuthority(t)
	secure := &tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}}
	for name, one := range map[string]struct {
		server serverOptions
		want   time.Duration
		call   func(t *testing.T, target string) // and stays connected
	}{
		"HTTP/1.1": {nil, 0, func(t *testing.T, target string) {
			posts(t, overHTTP(t)["http/1.1"], "http://"+target+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
		}},
		"HTTP/2": {nil, given, func(t *testing.T, target string) {
			posts(t, overHTTP(t)["h2"], "http://"+target+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
		}},
		"HTTP/2 over TLS": {serverOptions{trunkcall.WithTLS(secure)}, given, func(t *testing.T, target string) {
			over := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool}, ForceAttemptHTTP2: true}
			t.Cleanup(over.CloseIdleConnections)
			posts(t, &http.Client{Transport: over}, "https://"+target+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
		}},
		"WebSocket": {nil, given, func(t *testing.T, target string) { mustEcho(t, dial(t, "ws://"+target), "x") }},
		"WebSocket over TLS": {serverOptions{trunkcall.WithTLS(secure)}, given, func(t *testing.T, target string) {
			mustEcho(t, dial(t, "wss://"+target, trunkcall.WithTLS(&tls.Config{RootCAs: a.pool})), "x")
		}},
		"native": {nil, given, func(t *testing.T, target string) { mustEcho(t, dial(t, target), "x") }},
		"native over TLS": {serverOptions{trunkcall.WithTLS(secure)}, given, func(t *testing.T, target string) {
			mustEcho(t, dial(t, target, trunkcall.WithTLS(&tls.Config{RootCAs: a.pool})), "x")
		}},
		"a user's": {serverOptions{trunkcall.WithProtocol(&lines{})}, 0, func(t *testing.T, target string) {
			asksLines(t, connectTo(t, target), asked{Method: "/test.Service/Echo", Messages: messagesOf("a")})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			socket, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l := taking{socket, make(sockets, 10)}
			s := newServer(t, append(one.server, keepalive)...)
			t.Cleanup(s.Close)
			if err := s.Register(standard()...); err != nil {
				t.Fatal(err)
			}
			if err := s.Start(l); err != nil {
				t.Fatal(err)
			}
			one.call(t, socket.Addr().String())
			wantsUserTimeout(t, receive(t, l.sockets, "connection"), one.want)
		})
	}
	_, target := serve(t, serverOptions{trunkcall.WithTLS(secure), trunkcall.WithCleartext()}, standard()...)
	for _, scheme := range []string{"", "ws://", "wss://"} {
		t.Run("client of "+scheme, func(t *testing.T) {
			opened := make(sockets, 10)
			options := clientOptions{keepalive, trunkcall.WithDialer(func(ctx context.Context, _ trunkcall.Endpoint, address string) (net.Conn, error) {
				return opened.add((&net.Dialer{}).DialContext(ctx, "tcp", address))
			})}
			if scheme == "wss://" {
				options = append(options, trunkcall.WithTLS(&tls.Config{RootCAs: a.pool}))
			}
			mustEcho(t, dial(t, scheme+target, options...), "x")
			wantsUserTimeout(t, receive(t, opened, "connection"), given)
		})
	}
}
