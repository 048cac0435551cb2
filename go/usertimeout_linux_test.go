package trunkcall_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// taking is a listener that tells of the sockets that it hands over.
type taking struct {
	net.Listener
	taken chan *net.TCPConn
}

func (l taking) Accept() (net.Conn, error) {
	socket, err := l.Listener.Accept()
	if tcp, ok := socket.(*net.TCPConn); ok {
		l.taken <- tcp
	}
	return socket, err
}

// wantsUserTimeout waits until the system was told when to give a socket up.
func wantsUserTimeout(t *testing.T, socket *net.TCPConn, want time.Duration) {
	t.Helper()
	raw, err := socket.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the system is told when to give it up", func() bool {
		const tcpUserTimeout = 18
		var got, alive int
		_ = raw.Control(func(fd uintptr) {
			got, _ = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout)
			alive, _ = syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_KEEPALIVE)
		})
		return time.Duration(got)*time.Millisecond == want && alive != 0
	})
}

// The system gives up connections whose peer acknowledges nothing, whatever is spoken there.
func TestTheSystemGivesConnectionsOfEveryProtocolUp(t *testing.T) {
	const want = 150 * time.Second
	keepalive := trunkcall.WithKeepalive(2*time.Minute, 30*time.Second)
	a := newAuthority(t)
	secure := &tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}}
	for name, one := range map[string]struct {
		server serverOptions
		call   func(t *testing.T, target string) // and stays connected
	}{
		"HTTP/1.1": {nil, func(t *testing.T, target string) {
			posts(t, overHTTP(t)["http/1.1"], "http://"+target+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
		}},
		"HTTP/2": {nil, func(t *testing.T, target string) {
			posts(t, overHTTP(t)["h2"], "http://"+target+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
		}},
		"HTTP/2 over TLS": {serverOptions{trunkcall.WithTLS(secure)}, func(t *testing.T, target string) {
			over := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.pool}, ForceAttemptHTTP2: true}
			t.Cleanup(over.CloseIdleConnections)
			posts(t, &http.Client{Transport: over}, "https://"+target+"/test.Service/Echo", "application/json", "{}").wants(t, "{}")
		}},
		"WebSocket": {nil, func(t *testing.T, target string) { mustEcho(t, dial(t, "ws://"+target), "x") }},
		"native":    {nil, func(t *testing.T, target string) { mustEcho(t, dial(t, target), "x") }},
		"native over TLS": {serverOptions{trunkcall.WithTLS(secure)}, func(t *testing.T, target string) {
			mustEcho(t, dial(t, target, trunkcall.WithTLS(&tls.Config{RootCAs: a.pool})), "x")
		}},
		"a user's": {serverOptions{trunkcall.WithProtocol(&lines{})}, func(t *testing.T, target string) {
			asksLines(t, connectTo(t, target), asked{Method: "/test.Service/Echo", Messages: messagesOf("a")})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			socket, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l := taking{socket, make(chan *net.TCPConn, 10)}
			s := newServer(t, append(one.server, keepalive)...)
			t.Cleanup(s.Close)
			if err := s.Register(standard()...); err != nil {
				t.Fatal(err)
			}
			if err := s.Start(l); err != nil {
				t.Fatal(err)
			}
			one.call(t, socket.Addr().String())
			wantsUserTimeout(t, receive(t, l.taken, "connection"), want)
		})
	}
	_, target := serve(t, serverOptions{trunkcall.WithTLS(secure), trunkcall.WithCleartext()}, standard()...)
	for _, scheme := range []string{"", "ws://", "wss://"} {
		t.Run("client of "+scheme, func(t *testing.T) {
			opened := make(chan *net.TCPConn, 10)
			options := clientOptions{keepalive, trunkcall.WithDialer(func(ctx context.Context, _ trunkcall.Endpoint, address string) (net.Conn, error) {
				socket, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
				if err == nil {
					opened <- socket.(*net.TCPConn)
				}
				return socket, err
			})}
			if scheme == "wss://" {
				options = append(options, trunkcall.WithTLS(&tls.Config{RootCAs: a.pool}))
			}
			mustEcho(t, dial(t, scheme+target, options...), "x")
			wantsUserTimeout(t, receive(t, opened, "connection"), want)
		})
	}
}
