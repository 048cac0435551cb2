package trunkcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// portProtocols are the protocols of a server that its listeners recognise, in the order in which they are
// asked.
func (s *Server) portProtocols() []transport.Protocol {
	all := append([]transport.Protocol{transport.Native(s.connected)}, s.httpProtocols()...)
	for _, p := range s.options.userProtocols {
		port, ok := p.(PortProtocol)
		if !ok {
			continue
		}
		serve := func(socket net.Conn, prefix []byte, _ time.Time) { s.portConnected(port, socket, prefix) }
		all = append(all, transport.Protocol{Name: port.Name(), Serve: serve, Recognize: func(first []byte) transport.Recognition {
			return transport.Recognition(port.Recognize(first))
		}})
		for _, name := range port.ALPN() {
			all = append(all, transport.Protocol{Name: port.Name(), ALPN: name, Serve: serve, Recognize: func([]byte) transport.Recognition {
				return transport.NotRecognized // that was asked above
			}})
		}
	}
	return all
}

// portConnected serves a connection of a protocol of the user's.
func (s *Server) portConnected(p PortProtocol, socket net.Conn, prefix []byte) {
	c := s.foreign(p.Name())
	conn := &PortConn{Conn: socket, prefix: prefix, connection: c}
	draining, drain := context.WithCancel(noContext)
	l := &portLink{socket: socket, drain: drain, over: make(chan struct{}), calls: map[*AcceptedCall]struct{}{}}
	l.closed = func(cause error) { s.closed(c, cause, false) }
	conn.link, c.link = l, l
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		drain()
		s.limits.Leave(socket.RemoteAddr())
		_ = socket.Close()
		return
	}
	s.addLocked(c)
	s.mu.Unlock()
	c.connected()
	go s.servePort(draining, p, conn)
}

// servePort has the protocol serve a connection, which ends with it.
func (s *Server) servePort(draining context.Context, p PortProtocol, conn *PortConn) {
	cause, returned := io.EOF, false
	defer func() {
		if value := recover(); !returned {
			s.options.panicked(value, debug.Stack())
			cause = fmt.Errorf("the protocol %s panicked: %v", p.Name(), value)
		}
		conn.link.end(cause)
	}()
	p.ServeConn(draining, conn)
	returned = true
}

// portLink is a connection of a PortProtocol as the server knows it.
type portLink struct {
	socket net.Conn
	drain  context.CancelFunc
	closed func(cause error)
	once   sync.Once
	over   chan struct{} // closed with the connection

	mu    sync.Mutex
	cause error
	ended bool
	calls map[*AcceptedCall]struct{} // that are not over
}

// end closes the connection, and ends its calls.
func (l *portLink) end(cause error) {
	l.drain()
	_ = l.socket.Close()
	l.endCalls(cause, errors.New("the connection is over"))
	l.once.Do(func() {
		close(l.over)
		l.closed(l.Err())
	})
}

// endCalls notes why the connection ends, and ends its calls, and those still to come, for that cause.
func (l *portLink) endCalls(cause, why error) {
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	l.ended = true
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for call := range calls {
		call.end(why)
	}
}

// add counts a call. It fails when the connection is at its end.
func (l *portLink) add(call *AcceptedCall) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.ended {
		l.calls[call] = struct{}{}
	}
	return !l.ended
}

func (l *portLink) remove(call *AcceptedCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, call)
}

func (l *portLink) Remote() net.Addr { return l.socket.RemoteAddr() }
func (l *portLink) Local() net.Addr  { return l.socket.LocalAddr() }

func (l *portLink) TLS() *tls.ConnectionState {
	if s, ok := l.socket.(*tls.Conn); ok {
		state := s.ConnectionState()
		return &state
	}
	return nil
}

func (l *portLink) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

func (l *portLink) Faults() (read, write error) { return nil, nil }

func (l *portLink) Gauges() transport.Gauges {
	l.mu.Lock()
	defer l.mu.Unlock()
	return transport.Gauges{Served: len(l.calls)}
}

func (l *portLink) Drain(string)      { l.drain() }
func (l *portLink) Retire(string)     { l.drain() }
func (l *portLink) Close(cause error) { l.end(cause) }

// CutOff ends the calls of the connection, and gives the protocol a second to tell their callers.
func (l *portLink) CutOff(cause error) {
	l.drain()
	l.endCalls(cause, Errorf(Unavailable, "%v", cause))
	go func() {
		patience := time.NewTimer(transport.LingerTime)
		defer patience.Stop()
		select {
		case <-patience.C:
			l.end(cause)
		case <-l.over:
		}
	}()
}
