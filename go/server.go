package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Server serves methods on any number of listeners. Its methods are safe for
// concurrent use.
type Server struct {
	serving
	calling *calling // what it calls at its clients

	options serverOptions
	config  *transport.Config
	pool    *roles.Pool

	http2 *http2.Config
	http1 *web.HTTP1

	ports []transport.Protocol // that its listeners recognise
	users userProtocols

	limits transport.ConnLimits
	events sequence // what observers are told of listeners

	policies *policyFile // nil without one
	watching bool        // it; guarded by mu

	withdrawing withdrawing

	mu          sync.Mutex
	listeners   []*transport.Listener
	connections map[*Connection]struct{}
	stopping    bool
	leaves      time.Time      // when the drain delay is over; zero before it begins
	leaving     chan struct{}  // closed when Stop or Close begins
	draining    chan struct{}  // closed with stopping
	stopped     chan struct{}  // closed when Stop or Close has ended
	done        sync.WaitGroup // one for each listener and connection
}

// NewServer returns a server without methods or listeners. The error says which options are wrong,
// and why.
func NewServer(options ...ServerOption) (*Server, error) {
	s := &Server{
		connections: map[*Connection]struct{}{},
		leaving:     make(chan struct{}),
		draining:    make(chan struct{}),
		stopped:     make(chan struct{}),
		pool:        &roles.Pool{},
	}
	s.options = serverOptions{common: defaults(DefaultServerKeepaliveInterval), mostFrom: DefaultConnectionsPerAddress}
	for i, o := range options {
		if o == nil {
			s.options.wrong("option %d is nil", i+1)
			continue
		}
		o.applyServer(&s.options)
	}
	if f := s.options.tlsFiles; f != nil {
		if f.protocols = s.options.allALPN(); f.certificate == "" {
			s.options.wrong("there is no certificate among the files of TLS")
		}
	}
	if s.options.allowClear && s.options.tls == nil && s.options.tlsFiles == nil {
		s.options.wrong("cleartext is allowed and there is no TLS: without it cleartext is all there is")
	}
	s.options.checkProtocols()
	s.policies = s.options.openPolicies(nil)
	if err := s.options.complete(); err != nil {
		return nil, err
	}
	s.limits.Most, s.limits.MostPerAddress = s.options.most, s.options.mostFrom
	if s.options.tls != nil {
		// One clone for all connections: it holds the keys of session tickets.
		s.options.tls = s.options.forServer().Clone()
		s.options.tls.NextProtos = s.options.allALPN()
	}
	s.serving.begin("server", &s.options.common, s.options.interceptors)
	s.more = s.publishAgain
	s.admission, s.callLimits = s.options.admit, s.policies
	s.calling = newCalling(noContext, &s.options.common, s.options.reverse, s.pool)
	s.config = s.options.transport(serverConnections{acceptor{&s.serving}, s}, s.pool)
	s.openHTTP()
	s.ports = s.portProtocols()
	s.users.grace, s.users.endGrace = context.WithCancel(noContext)
	return s, nil
}

// ErrServerStopped is returned by a server that Stop or Close has ended.
var ErrServerStopped = errors.New("trunkcall: the server has been stopped")

// Listen opens a listener on where, HOST:PORT (port 0 for any free one),
// unix:PATH or mem:NAME, and has it served in the background, as Start does. It returns the
// listener's address.
func (s *Server) Listen(where string) (net.Addr, error) {
	l, err := transport.Listen(where)
	if err != nil {
		s.options.listenFailed(&s.events, where, err)
		return nil, err
	}
	if err := s.Start(l); err != nil {
		return nil, err
	}
	return l.Addr(), nil
}

// rejected takes note of a connection that is closed for what it sent or did not send.
func (s *Server) rejected(remote net.Addr, err error) {
	level := slog.LevelWarn
	if errors.Is(err, transport.ErrNothingSaid) {
		level = slog.LevelDebug // a check whether the port is open
	}
	s.counters.rejected.Add(1)
	s.options.log(level, "connection rejected", "remote", remote, "error", err)
}

// Serve serves the listeners, and those of Listen, until the server is ended. It returns
// ErrServerStopped when Stop or Close is done, so that a program may then exit without losing a
// call. If one of the listeners given here can accept no more, it returns that error, while
// everything else goes on. The server closes the listeners, also those that it cannot serve. Where
// there is nothing to serve, no listener and no Protocol, it fails at once.
func (s *Server) Serve(listeners ...net.Listener) error {
	failed := make(chan error, len(listeners))
	if err := s.start(listeners, failed); err != nil {
		return err
	}
	if !s.reachable() {
		return errors.New("trunkcall: Serve without a listener: call Listen first, or pass one")
	}
	select {
	case <-s.stopped:
		return ErrServerStopped
	case err := <-failed:
		return err
	}
}

// reachable reports whether calls can come, or could before the server was stopped.
func (s *Server) reachable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.listeners) > 0 || len(s.options.userProtocols) > 0 || s.stopping
}

// Start is Serve in the background: it returns once the listeners are served. A server whose calls come by
// protocols without listeners (WithProtocol) is started without any.
func (s *Server) Start(listeners ...net.Listener) error {
	return s.start(listeners, make(chan error, len(listeners)))
}

// start serves listeners in the background. failed is told of those that fail for good.
func (s *Server) start(listeners []net.Listener, failed chan<- error) error {
	var err error
	if slices.Contains(listeners, nil) {
		err = errors.New("trunkcall: a listener is nil: what was to make it has failed")
	} else {
		err = s.startProtocols()
	}
	started, err := s.startAll(listeners, failed, err)
	if err != nil {
		return err
	}
	return s.publish(started)
}

// startAll starts listeners, or closes them for a fault.
func (s *Server) startAll(listeners []net.Listener, failed chan<- error, err error) ([]*transport.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.stopping {
		err = ErrServerStopped
	}
	if err != nil {
		for _, socket := range listeners {
			if socket != nil {
				_ = socket.Close()
			}
		}
		return nil, err
	}
	if s.policies != nil && !s.watching {
		s.watching = true
		s.done.Add(1)
		go func() {
			defer s.done.Done()
			s.policies.watch(s.draining)
		}()
	}
	started := make([]*transport.Listener, len(listeners))
	for i, socket := range listeners {
		started[i] = s.startListener(socket, failed)
	}
	return started, nil
}

// startListener is called under the lock.
func (s *Server) startListener(socket net.Listener, failed chan<- error) *transport.Listener {
	l := &transport.Listener{
		Socket: socket, TLS: s.options.tls, AllowClear: s.options.allowClear,
		Protocols: s.ports, Limits: &s.limits, Refused: s.rejected,
	}
	l.Proxied = s.options.proxied && socket.Addr().Network() == "tcp"
	l.Accepting = func(err error) {
		if err != nil {
			s.options.log(slog.LevelError, "no connections can be accepted", "address", socket.Addr(), "error", err)
		} else {
			s.options.log(slog.LevelInfo, "connections are accepted again", "address", socket.Addr())
		}
	}
	if socket.Addr().Network() == "mem" {
		l.TLS = nil // nobody else can listen in
	}
	s.listeners = append(s.listeners, l)
	s.done.Add(1)
	s.options.listening(&s.events, socket.Addr())
	go func() {
		defer s.done.Done()
		if err := l.Serve(); err != nil {
			s.options.log(slog.LevelError, "a listener has failed", "address", socket.Addr(), "error", err)
			failed <- fmt.Errorf("listener %v: %w", socket.Addr(), err)
		}
	}()
	return l
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

// Stop ends the server without losing a call: it stops listening, asks its peers to open no more
// calls, waits until those that run are answered and the one-way calls that were accepted are done,
// and closes. When ctx ends, or after 30 seconds if it has no deadline, what is left is cut off as
// by Close, and the error says so. With WithDrainDelay all that begins after the delay. A deadline
// of ctx includes the delay; the 30 seconds do not.
func (s *Server) Stop(ctx context.Context) error {
	defer s.options.journal.flush()
	defer s.ended()
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		before := s.options.drainDelay
		if len(s.options.registrars) > 0 {
			before += withdrawWithin
		}
		ctx, cancel = context.WithTimeout(ctx, before+DefaultDrainGrace)
		defer cancel()
	}
	s.leave(ctx)
	for _, c := range s.beginStop((*transport.Listener).Drain) {
		c.link.Drain("the server is stopping")
	}
	stopped := s.stopProtocols()
	done := make(chan struct{})
	go func() {
		<-stopped
		s.done.Wait()
		s.oneWays.done.Wait()
		close(done)
	}()
	select {
	case <-done:
		s.closePools()
		return nil
	case <-ctx.Done():
		running := s.Running()
		for _, c := range s.beginStop((*transport.Listener).Close) {
			c.link.CutOff(ErrServerStopped)
		}
		s.cutOffProtocols()
		s.done.Wait() // each tells its peer, for a second at most
		s.oneWays.cancel()
		s.closePools()
		if running == 0 {
			return nil
		}
		s.options.log(slog.LevelWarn, "calls cut off by the end of the grace", "running", running)
		return fmt.Errorf("calls that still ran were cut off (running: %d): %w", running, ctx.Err())
	}
}

// Leaving returns a channel that is closed when Stop or Close begins. From then on health checks
// should fail, although the server still serves for the delay of WithDrainDelay.
func (s *Server) Leaving() <-chan struct{} { return s.leaving }

// Stopping returns a channel that is closed when the server takes no more calls: when Stop begins,
// or after the delay of WithDrainDelay. A handler whose stream has no end of its own should end it
// then, since Stop waits for it until the grace is over.
func (s *Server) Stopping() <-chan struct{} { return s.draining }

// leave begins the end of the server: it is withdrawn from registries, and then the drain delay is waited for.
func (s *Server) leave(ctx context.Context) {
	s.mu.Lock()
	s.leaveLocked()
	s.mu.Unlock()
	select {
	case <-s.withdraw():
	case <-s.draining: // Close was called meanwhile
	case <-ctx.Done():
	}
	s.mu.Lock()
	if s.leaves.IsZero() {
		s.leaves = time.Now().Add(s.options.drainDelay)
	}
	delay := time.NewTimer(time.Until(s.leaves))
	s.mu.Unlock()
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-s.draining: // Close was called meanwhile
	case <-ctx.Done():
	}
}

// leaveLocked says once that the server is about to go.
func (s *Server) leaveLocked() {
	select {
	case <-s.leaving:
	default:
		close(s.leaving)
	}
}

// ended notes that Stop or Close is at its end.
func (s *Server) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopped:
	default:
		close(s.stopped)
	}
}

// Close ends the server at once: running calls lose their connection and their
// handlers' contexts are cancelled.
func (s *Server) Close() {
	defer s.ended()
	s.withdraw()
	for _, c := range s.beginStop((*transport.Listener).Close) {
		c.link.Close(ErrServerStopped)
	}
	s.cutOffProtocols()
	s.done.Wait()
	s.oneWays.cancel()
	s.withdrawSoon()
	s.closePools()
	s.options.journal.flush()
}

func (s *Server) closePools() {
	s.pool.Close()
	s.http1.Close()
}

func (s *Server) beginStop(end func(*transport.Listener)) []*Connection {
	s.mu.Lock()
	if !s.stopping {
		s.stopping = true
		s.leaveLocked()
		close(s.draining)
	}
	listeners := s.listeners
	s.listeners = nil
	s.mu.Unlock()
	for _, l := range listeners {
		end(l)
	}
	return s.Connections()
}

// Connections returns the connections to clients.
func (s *Server) Connections() []*Connection {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.connections))
}

// connected begins a session on a connection that was accepted.
func (s *Server) connected(socket net.Conn, prefix []byte, by time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		s.limits.Leave(socket.RemoteAddr())
		go transport.Decline(socket, "the server is stopping")
		return
	}
	c := newConnection(s.calling, transport.Prepare(s.config, socket, true, prefix))
	s.addLocked(c)
	c.conn.GreetBy(by)
	c.conn.Start()
}

// addLocked counts a connection that is about to begin.
func (s *Server) addLocked(c *Connection) {
	s.connections[c] = struct{}{}
	s.done.Add(1)
	if age := s.options.maxAge; age > 0 {
		age += time.Duration((rand.Float64()*2 - 1) * ageJitter * float64(age)) //nolint:gosec // only to differ from the others
		c.retiring = time.AfterFunc(age, func() { c.link.Retire("the connection has reached its maximum age") })
	}
}

// ageJitter is by which part of the maximum age connections live longer or shorter, so that those which
// began together do not end together.
const ageJitter = 0.1

// serverConnections is a Server as its connections see it.
type serverConnections struct {
	acceptor
	server *Server
}

func (s serverConnections) Ready(c *transport.Conn, _ *wire.Preface) { connectionOf(c).connected() }

func (s serverConnections) GoesAway(c *transport.Conn, reason uint32, text string) {
	if reason != 0 {
		s.server.options.log(slog.LevelWarn, "peer ends the connection", "remote", c.Remote(), "reason", text)
	}
}

func (s serverConnections) Closed(c *transport.Conn, err error) {
	s.server.closed(connectionOf(c), err, errors.As(err, new(*wire.Error)) || errors.As(err, new(*transport.WebSocketFault)))
}
