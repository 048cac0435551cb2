package transport

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// wrapped hides what a socket is, as a user may.
type wrapped struct{ net.Conn }

// narrow returns the two ends of a TCP connection that holds little on its way.
func narrow(t *testing.T) (near, far net.Conn) {
	near, far = sockets(t)
	_ = near.(*net.TCPConn).SetWriteBuffer(4 << 10)
	_ = far.(*net.TCPConn).SetReadBuffer(4 << 10)
	return near, far
}

// A peer that reads nothing of what is there for it is left.
func TestAPeerThatDoesNotReadIsLeft(t *testing.T) {
	for name, wrap := range map[string]func(net.Conn) net.Conn{
		"TCP":          func(s net.Conn) net.Conn { return s },
		"TLS":          nil,
		"another kind": func(s net.Conn) net.Conn { return wrapped{s} },
	} {
		t.Run(name, func(t *testing.T) {
			near, far := narrow(t)
			defer far.Close()
			if wrap == nil {
				a, _ := withTLS(t, near, far)
				wrap = func(net.Conn) net.Conn { return a }
			}
			u, pool := newUpper(nil), &roles.Pool{}
			defer pool.Close()
			c := NewConn(u.config(pool, func(c *Config) { c.Stall = 50 * time.Millisecond }), wrap(near), false, nil, nil)
			defer c.Close(net.ErrClosed)
			var calls []*Call
			for range 100 { // 20 MB, of which what the sockets hold is a small part
				call := NewCall(true)
				request := make([]byte, 60_000)
				if err := c.Open(call, &wire.Outgoing{Method: echoMethod, Payload: request, HasMessage: true, End: true}, false); err != nil {
					break
				}
				calls = append(calls, call)
			}
			for _, call := range calls {
				if !call.Wait(soon(t)) || call.Ending.Code != wire.Unavailable {
					t.Fatalf("%+v", call.Ending)
				}
			}
			if err := receive(t, u.closed, "end of the connection"); !errors.Is(err, errStalled) {
				t.Fatal(err)
			}
		})
	}
}

// stubborn is a socket that takes its time to close, as TLS does whose peer does not read.
type stubborn struct {
	net.Conn
	leave chan struct{}
}

func (s *stubborn) Close() error {
	<-s.leave
	return s.Conn.Close()
}

func TestClosingASocketHoldsUpNobody(t *testing.T) {
	near, far := sockets(t)
	defer far.Close()
	u, pool := newUpper(nil), &roles.Pool{}
	defer pool.Close()
	socket := &stubborn{near, make(chan struct{})}
	c := NewConn(u.config(pool), socket, false, nil, nil)
	done := make(chan struct{})
	go func() {
		c.Close(net.ErrClosed)
		c.Counts() // takes the lock
		close(done)
	}()
	receive(t, done, "way through the lock")
	if len(u.closed) != 0 {
		t.Fatal("it is said to be closed already")
	}
	close(socket.leave)
	receive(t, u.closed, "end of the connection")
}
