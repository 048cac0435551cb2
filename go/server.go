package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/transport"
	"github.com/trunkcall/trunkcall/go/wire"
)

// Handler is a method with the function that serves it; one of Unary and
// Stream is set, as Method.Kind says. Usually UnaryMethod.Handler and its like
// make it.
type Handler struct {
	Method Method
	// Unary decodes its request with in.Decode and returns the response.
	Unary func(ctx context.Context, in *ServerCall) (response any, err error)
	// Stream serves any other kind.
	Stream func(ctx context.Context, stream Stream) error
	// Inline has a unary handler run on the goroutine that reads its
	// connection. It must not block: until it returns, its connection may stand
	// still, and for a moment others may that are read together with it.
	Inline bool

	pace *transport.Pace
}

// Server serves methods on any number of listeners. Its methods are safe for
// concurrent use.
type Server struct {
	options serverOptions
	config  *transport.Config
	pool    *transport.Pool
	running atomic.Int64 // handlers, and calls accepted to become one

	mu          sync.Mutex
	handlers    map[string]*Handler
	listeners   []*transport.Listener
	connections map[*transport.Conn]struct{}
	stopping    bool
	done        sync.WaitGroup // one for each listener and connection
}

// NewServer returns a server without methods or listeners.
func NewServer(options ...ServerOption) *Server {
	s := &Server{
		handlers:    map[string]*Handler{},
		connections: map[*transport.Conn]struct{}{},
		pool:        &transport.Pool{},
	}
	s.options = serverOptions{runningHandlers: DefaultRunningHandlers, common: common{
		codec: Protobuf, keepaliveInterval: DefaultServerKeepaliveInterval, keepaliveTimeout: DefaultKeepaliveTimeout,
	}}
	for _, o := range options {
		o.applyServer(&s.options)
	}
	s.options.sane(DefaultServerKeepaliveInterval)
	if s.options.tls != nil {
		// One clone for all connections: it holds the keys of session tickets.
		s.options.tls = s.options.tls.Clone()
		s.options.tls.NextProtos = []string{transport.ALPN}
	}
	s.config = s.options.transport(serverConnections{s}, s.pool)
	return s
}

// Register adds handlers. It fails on a name that is malformed or taken; the
// handlers before that one stay. Methods may be added while the server runs.
func (s *Server) Register(handlers ...Handler) error {
	if s.options.fault != nil {
		return s.options.fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range handlers {
		h.Method.Name = CanonicalName(h.Method.Name)
		name := h.Method.Name
		switch {
		case len(name) < 2 || len(name) > wire.MaxMethodName:
			return fmt.Errorf("method name %q: want /package.Service/Method, at most %d bytes", name, wire.MaxMethodName)
		case s.handlers[name] != nil:
			return fmt.Errorf("method %s is registered already", name)
		case (h.Method.Kind == KindUnary) != (h.Unary != nil) || (h.Unary == nil) == (h.Stream == nil):
			return fmt.Errorf("method %s is %v and lacks the handler for that", name, h.Method.Kind)
		}
		if !h.Inline || h.Unary == nil {
			h.pace = &transport.Pace{}
		}
		s.handlers[name] = &h
	}
	return nil
}

// Services returns the names of the services that have a method, sorted.
func (s *Server) Services() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]bool{}
	for name := range s.handlers {
		found[service(name)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// Methods returns the methods that are served, sorted by name.
func (s *Server) Methods() []Method {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Method
	for _, name := range slices.Sorted(maps.Keys(s.handlers)) {
		all = append(all, s.handlers[name].Method)
	}
	return all
}

// ErrServerStopped is returned by a server that Stop or Close has ended.
var ErrServerStopped = errors.New("trunkcall: the server has been stopped")

// Listen opens a listener on where, HOST:PORT (port 0 for any free one),
// unix:PATH or mem:NAME, and serves it. It returns the listener's address.
func (s *Server) Listen(where string) (net.Addr, error) {
	if s.options.fault != nil {
		return nil, s.options.fault
	}
	l, err := transport.Listen(where)
	if err != nil {
		s.options.log(slog.LevelError, "listen failed", "address", where, "error", err)
		return nil, err
	}
	if err := s.Serve(l); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l.Addr(), nil
}

// Serve serves a listener in the background; the server closes it.
func (s *Server) Serve(socket net.Listener) error {
	if s.options.fault != nil {
		return s.options.fault
	}
	l := &transport.Listener{
		Socket: socket, TLS: s.options.tls, AllowClear: s.options.allowClear,
		Native: s.connected,
		Refused: func(remote net.Addr, err error) {
			level := slog.LevelWarn
			if errors.Is(err, transport.ErrNothingSaid) {
				level = slog.LevelDebug // a check whether the port is open
			}
			s.options.log(level, "connection turned away", "remote", remote, "error", err)
		},
	}
	if socket.Addr().Network() == "mem" {
		l.TLS = nil // nobody else can listen in
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return ErrServerStopped
	}
	s.listeners = append(s.listeners, l)
	s.done.Add(1)
	s.options.log(slog.LevelInfo, "listening", "address", socket.Addr())
	go func() {
		defer s.done.Done()
		l.Serve()
	}()
	return nil
}

// Addrs returns the addresses that are listened on.
func (s *Server) Addrs() []net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []net.Addr
	for _, l := range s.listeners {
		all = append(all, l.Socket.Addr())
	}
	return all
}

// Port returns the port of the first TCP listener, 0 without one.
func (s *Server) Port() int {
	for _, a := range s.Addrs() {
		if tcp, ok := a.(*net.TCPAddr); ok {
			return tcp.Port
		}
	}
	return 0
}

// Running is the number of handlers that run, those included whose call was
// ended already.
func (s *Server) Running() int { return int(s.running.Load()) }

// Stop ends the server without losing a call: it stops listening, asks its
// peers to open no more calls, waits until those that run are answered, and
// closes. When ctx ends, or after 30 seconds if it has no deadline, what is
// left is cut off as by Close, and the error says so.
func (s *Server) Stop(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultDrainGrace)
		defer cancel()
	}
	for _, c := range s.beginStop() {
		c.Drain("the server is stopping")
	}
	done := make(chan struct{})
	go func() {
		s.done.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.pool.Close()
		return nil
	case <-ctx.Done():
		running := s.Running()
		for _, c := range s.beginStop() {
			c.CutOff(ErrServerStopped)
		}
		s.done.Wait() // each tells its peer, for a second at most
		s.pool.Close()
		if running == 0 {
			return nil
		}
		return fmt.Errorf("calls that still ran were cut off (running: %d): %w", running, ctx.Err())
	}
}

// Close ends the server at once: running calls lose their connection and their
// handlers' contexts are cancelled.
func (s *Server) Close() {
	for _, c := range s.beginStop() {
		c.Close(ErrServerStopped)
	}
	s.done.Wait()
	s.pool.Close()
}

func (s *Server) beginStop() []*transport.Conn {
	s.mu.Lock()
	s.stopping = true
	listeners := s.listeners
	s.listeners = nil
	s.mu.Unlock()
	for _, l := range listeners {
		l.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.connections))
}

// connected begins a session on a connection that was accepted.
func (s *Server) connected(socket net.Conn, prefix []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		go transport.Decline(socket, "the server is stopping")
		return
	}
	c := transport.NewConn(s.config, socket, true, prefix, nil)
	s.connections[c] = struct{}{}
	s.done.Add(1)
	s.options.log(slog.LevelDebug, "connected", "remote", socket.RemoteAddr())
}

// serverConnections is a Server as its connections see it.
type serverConnections struct{ *Server }

func (s serverConnections) Ready(*transport.Conn, *wire.Preface) {}

func (s serverConnections) GoesAway(c *transport.Conn, reason uint32, text string) {
	if reason != 0 {
		s.options.log(slog.LevelWarn, "peer ends the connection", "remote", c.Remote(), "reason", text)
	}
}

func (s serverConnections) Closed(c *transport.Conn, err error) {
	s.mu.Lock()
	delete(s.connections, c)
	s.mu.Unlock()
	var violation *wire.Error
	if errors.As(err, &violation) {
		s.options.log(slog.LevelWarn, "connection ended", "remote", c.Remote(), "error", err)
	} else {
		s.options.log(slog.LevelDebug, "disconnected", "remote", c.Remote(), "cause", transport.Describe(err))
	}
	s.done.Done()
}

// find returns the handler of a name that a peer calls; what it found is kept
// with the peer's binding. Names that are not served are looked up each time,
// since services may come later.
func (s *Server) find(b *wire.Binding) *Handler {
	if h, ok := b.Value.(*Handler); ok {
		return h
	}
	s.mu.Lock()
	h := s.handlers[b.Name]
	if h == nil {
		h = s.handlers[CanonicalName(b.Name)]
	}
	s.mu.Unlock()
	if h != nil {
		b.Value = h
	}
	return h
}

// Accept decides about a call: it is refused, and provably not run, when
// nobody serves it, when its codec or compression is not known, or when too
// many handlers run.
func (s serverConnections) Accept(_ *transport.Conn, in *wire.Incoming) (*transport.Stream, *wire.Refusal) {
	h := s.find(in.Method)
	if h == nil {
		return nil, &wire.Refusal{Code: Unimplemented, Message: fmt.Sprintf("method %s is not served here", in.Method.Name)}
	}
	codec, refusal := s.options.codecs.of(in)
	if refusal != nil {
		return nil, refusal
	}
	if n := s.running.Add(1); n > int64(s.options.runningHandlers) {
		s.running.Add(-1)
		return nil, &wire.Refusal{
			Code: ResourceExhausted, RetryAfter: 50,
			Message: fmt.Sprintf("running handlers have reached their limit of %d", s.options.runningHandlers),
		}
	}
	call := &ServerCall{server: s.Server, handler: h, codec: codec, Metadata: in.Metadata}
	call.stream.Init(call)
	call.stream.Whole = h.Method.Kind == KindUnary || h.Method.Kind == KindServerStream
	call.stream.Pace = h.pace
	call.context.call = call
	if in.Deadline != 0 {
		call.context.deadline = transport.TimeOf(in.Deadline)
	}
	return &call.stream, nil
}

func (s serverConnections) Dropped(*transport.Stream) { s.running.Add(-1) }

func (s serverConnections) Stopped(st *transport.Stream, code wire.Code) {
	cause := context.Canceled
	if code == DeadlineExceeded {
		cause = context.DeadlineExceeded
	}
	st.Owner.(*ServerCall).context.cancel(cause) //nolint:forcetypeassert // Accept sets nothing else
}
