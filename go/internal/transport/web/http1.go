package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/web/websocket"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// HTTP1 serves connections of HTTP/1.1, by net/http. Its fields must not be
// changed once it serves.
type HTTP1 struct {
	Handler http.Handler
	// HeaderBytes is the longest header taken, about; 0: 32 KiB.
	HeaderBytes int
	// OnOpen is told of each connection whose first request has come that asks for
	// no WebSocket.
	OnOpen func(c *HTTP1Conn)
	// OnClosed is told once of each connection that is over, or became a WebSocket.
	OnClosed func(c *HTTP1Conn, err error)
	// WebSocket serves native connections that come as WebSockets; nil: there are
	// none.
	WebSocket func(socket net.Conn, prefix []byte, by time.Time)
	// Refused is told of each WebSocket that was closed before it spoke Trunkcall, and why.
	Refused func(remote net.Addr, err error)
	// Origins are those whose pages may open WebSockets.
	Origins Origins

	silent   map[*transport.WebSocket]struct{} // that have said nothing; nil once Close has begun
	silences sync.WaitGroup
	mu       sync.Mutex // of silent

	once     sync.Once
	closing  sync.Once
	server   *http.Server
	accepted chan net.Conn
	over     chan struct{}
	served   chan struct{}
}

// Of connections (spec/limits.md).
const (
	defaultHeaderBytes = 32 << 10
	headerTime         = 10 * time.Second // for a header that has begun
	idleTime           = 15 * time.Minute // without a request
)

// Serve serves a connection that Prepare made.
func (h *HTTP1) Serve(c *HTTP1Conn) {
	h.once.Do(h.begin)
	if h.server == nil {
		c.refuse()
		return
	}
	select {
	case h.accepted <- &http1Socket{c.socket, c}:
	case <-h.over:
		c.refuse()
	}
}

func (c *HTTP1Conn) refuse() {
	_ = c.socket.Close()
	c.closed(http.ErrServerClosed)
}

func (h *HTTP1) begin() {
	h.accepted, h.over, h.served = make(chan net.Conn), make(chan struct{}), make(chan struct{})
	h.silent = make(map[*transport.WebSocket]struct{})
	h.server = &http.Server{
		Handler:                      http.HandlerFunc(h.serve),
		MaxHeaderBytes:               cmp.Or(h.HeaderBytes, defaultHeaderBytes),
		ReadHeaderTimeout:            headerTime,
		IdleTimeout:                  idleTime,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(io.Discard, "", 0),                                            // what it says is told by OnClosed
		ConnState:                    func(c net.Conn, s http.ConnState) { c.(*http1Socket).conn.state(s) }, //nolint:forcetypeassert // Accept returns no others
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			conn := c.(*http1Socket).conn //nolint:forcetypeassert // likewise
			ctx, conn.sever = context.WithCancelCause(ctx)
			return withPeer(ctx, conn)
		},
		Protocols: new(http.Protocols),
	}
	h.server.Protocols.SetHTTP1(true)
	go func() {
		defer close(h.served)
		_ = h.server.Serve((*http1Listener)(h))
	}()
}

func (h *HTTP1) serve(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(peerKey{}).(*HTTP1Conn) //nolint:forcetypeassert // begin has put it there
	_ = c.socket.SetWriteDeadline(time.Time{})     // that of the request before
	if c.begin() {
		w.Header().Set("Connection", "close")
	}
	if r.Method == "PRI" { // half a preface of HTTP/2
		w.Header().Set("Connection", "close")
		refuseRequest(w, http.StatusHTTPVersionNotSupported, wire.Unimplemented, "this is no preface of HTTP/2")
		return
	}
	if h.WebSocket != nil && websocket.Asks(r) {
		h.upgrade(w, r, c)
		return
	}
	c.beginBy = time.Time{}
	c.opened.Do(func() { h.OnOpen(c) })
	h.Handler.ServeHTTP(w, r)
}

// Close ends what Serve has begun, once its connections are over.
func (h *HTTP1) Close() {
	h.once.Do(func() {})
	if h.server == nil {
		return // there was never a connection
	}
	h.closing.Do(func() { close(h.over) })
	_ = h.server.Close()
	<-h.served
	h.mu.Lock()
	silent := h.silent
	h.silent = nil
	h.mu.Unlock()
	for socket := range silent {
		_ = socket.Close()
	}
	h.silences.Wait()
}

// http1Listener hands over connections that were accepted elsewhere.
type http1Listener HTTP1

func (l *http1Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.over:
		return nil, http.ErrServerClosed
	}
}

func (l *http1Listener) Close() error { return nil }

func (l *http1Listener) Addr() net.Addr { return &net.TCPAddr{} }

// HTTP1Conn is one connection of a peer that speaks HTTP/1.1. Its methods are
// safe for concurrent use.
type HTTP1Conn struct {
	// Owner is for the layer above.
	Owner any

	protocol *HTTP1
	socket   net.Conn
	// Of the goroutine that reads.
	prefix []byte // read ahead
	heads  heads
	spoilt bool // a head that is not to be served was

	beginBy  time.Time   // when a WebSocket must have begun; zero after the first request
	upgraded atomic.Bool // what comes are no requests any more
	input    transport.WebSocketInput

	opened sync.Once
	over   sync.Once
	deaf   atomic.Bool

	sever context.CancelCauseFunc // of the requests' contexts; set before the first

	mu       sync.Mutex
	parting  *time.Timer // Shut, if that is to come
	active   bool        // a request is being read or served
	serving  bool        // its head was read
	draining bool
	retired  bool // the next answer is the last
	cause    error
}

// Prepare makes a connection, which is served from Serve on. prefix are bytes of it that were read
// already.
func (h *HTTP1) Prepare(socket net.Conn, prefix []byte) *HTTP1Conn {
	return &HTTP1Conn{protocol: h, socket: socket, prefix: prefix, active: true} // its first request has begun
}

// BeginBy sets when a WebSocket that the connection's first request asks for must have
// begun to speak Trunkcall, before Serve.
func (c *HTTP1Conn) BeginBy(by time.Time) { c.beginBy = by }

// http1Socket is a connection as net/http sees it.
type http1Socket struct {
	net.Conn
	conn *HTTP1Conn
}

// CloseWrite half-closes the socket, if it can: net/http does so before it closes on
// input that it has not read, which could make TCP throw away the answer.
func (s *http1Socket) CloseWrite() error {
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close closes the socket. If input is left that is not read, the peer first gets time to read the
// answer.
func (s *http1Socket) Close() error {
	if s.conn.deaf.Load() {
		transport.Linger(s.Conn)
	}
	return s.Conn.Close()
}

// Read returns what was read ahead, and then what comes, up to a head that is
// not to be served.
func (s *http1Socket) Read(b []byte) (int, error) {
	c := s.conn
	if c.deaf.Load() {
		return 0, io.EOF
	}
	n := copy(b, c.prefix)
	c.prefix = c.prefix[n:]
	var err error
	if n == 0 {
		if c.spoilt {
			return 0, io.EOF
		}
		if c.upgraded.Load() {
			return c.input.Read(s.Conn, b)
		}
		n, err = s.Conn.Read(b)
		if err != nil && c.deaf.Load() {
			err = io.EOF
		}
	}
	if c.spoilt || c.upgraded.Load() {
		return n, err
	}
	passed, good := c.heads.pass(b[:n])
	if good {
		return n, err
	}
	// In this way, unlike an error's, the request before is still answered.
	c.spoilt, c.prefix = true, spoiling
	if passed == 0 {
		return s.Read(b)
	}
	return passed, nil
}

// spoiling, in place of how a head goes on, has net/http answer 400 and close.
var spoiling = []byte("\x00\n\n")

// state follows what net/http does with the connection.
func (c *HTTP1Conn) state(s http.ConnState) {
	if s == http.StateNew {
		return
	}
	c.mu.Lock()
	c.active = s == http.StateActive
	c.serving = c.serving && c.active
	closing := s == http.StateIdle && c.draining
	c.mu.Unlock()
	switch {
	case closing:
		_ = c.socket.Close()
	case s == http.StateClosed || s == http.StateHijacked:
		c.closed(io.EOF)
	}
}

// end notes why the connection is over, and returns what was noted first.
func (c *HTTP1Conn) end(cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause = cause
	}
	return c.cause
}

// Interrupt ends the reading of a request, or the writing of its answer. The rest of the request,
// and what follows on the connection, is not read.
func (c *HTTP1Conn) Interrupt(reading bool) {
	if reading {
		c.deaf.Store(true)
		_ = c.socket.SetReadDeadline(time.Unix(1, 0))
	} else {
		_ = c.socket.SetWriteDeadline(time.Unix(1, 0))
	}
}

// Begins is true: net/http lets a call that is stopped answer by itself.
func (c *HTTP1Conn) Begins() bool { return true }

// Owned returns Owner.
func (c *HTTP1Conn) Owned() any { return c.Owner }

// Remote is the address of the peer.
func (c *HTTP1Conn) Remote() net.Addr { return c.socket.RemoteAddr() }

// Local is the address of this end.
func (c *HTTP1Conn) Local() net.Addr { return c.socket.LocalAddr() }

// TLS is the state of TLS, nil without.
func (c *HTTP1Conn) TLS() *tls.ConnectionState {
	if s, ok := c.socket.(*tls.Conn); ok {
		state := s.ConnectionState()
		return &state
	}
	return nil
}

// Err is why the connection is over, or ending; nil while it is not.
func (c *HTTP1Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// Faults returns nil: net/http keeps them to itself.
func (c *HTTP1Conn) Faults() (read, write error) { return nil, nil }

// Gauges are what the connection has at the moment.
func (c *HTTP1Conn) Gauges() transport.Gauges {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active {
		return transport.Gauges{Served: 1}
	}
	return transport.Gauges{}
}

// Drain closes the connection once no request is served.
func (c *HTTP1Conn) Drain(string) {
	c.mu.Lock()
	c.draining = true
	idle := !c.active
	c.mu.Unlock()
	if idle {
		_ = c.socket.Close()
	}
}

// Retire makes the next answer say that the connection closes. Until then the connection stays even
// if idle, since a request may be on its way.
func (c *HTTP1Conn) Retire(string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
}

// Closing reports whether answers should say that the connection closes.
func (c *HTTP1Conn) Closing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.draining || c.retired || c.deaf.Load()
}

// begin notes that a request is served. It reports whether the connection closes.
func (c *HTTP1Conn) begin() (closing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving = true
	return c.draining || c.retired
}

// Shut closes the connection: a request that is served loses its caller.
func (c *HTTP1Conn) Shut(cause error) {
	_ = c.end(cause)
	_ = c.socket.Close()
	go c.closed(cause) // net/http says so only when the handler has returned
}

// closed tells, once, that the connection is over.
func (c *HTTP1Conn) closed(cause error) {
	c.over.Do(func() {
		c.mu.Lock()
		if c.parting != nil {
			c.parting.Stop()
		}
		c.mu.Unlock()
		c.protocol.OnClosed(c, c.end(cause))
	})
}

// CutOff is Shut, but a caller whose request is served is told, and gets a second to read it.
func (c *HTTP1Conn) CutOff(cause error) {
	_ = c.end(cause)
	c.mu.Lock()
	told := c.active && c.serving
	if told {
		c.parting = time.AfterFunc(transport.LingerTime, func() { c.Shut(cause) })
	}
	c.mu.Unlock()
	if !told {
		c.Shut(cause)
		return
	}
	c.sever(&severed{wire.Refusal{Code: wire.Unavailable, Message: cause.Error()}})
}

// Close is Shut.
func (c *HTTP1Conn) Close(cause error) { c.Shut(cause) }

// Decline tells a peer that it is not served, and closes the socket.
func Decline(socket net.Conn, status int, text string) {
	_ = socket.SetDeadline(time.Now().Add(transport.LingerTime))
	_, _ = fmt.Fprintf(socket, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s\n",
		status, http.StatusText(status), len(text)+1, text)
	transport.Linger(socket)
	_ = socket.Close()
}
