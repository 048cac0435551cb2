package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Reconnection (spec/client.md 9.2): the pause after n failures in a row is drawn
// from 0 to firstPause * 2^(n-1), at most lastPause.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second

	// steady is how long a connection must last so that its end does not count as a failed attempt.
	steady = 5 * time.Second
)

// longestWait is how long the pause after so many failures in a row can be, at least one.
func longestWait(failures int) time.Duration { return min(firstPause<<min(failures-1, 10), lastPause) }

// redialer is one of the connections to an endpoint: the current one, or the attempts to
// open the next.
type redialer struct {
	endpoint *EndpointState
	current  atomic.Pointer[Connection] // nil while there is none; changes under endpoints.mu

	// These are guarded by endpoints.mu.
	state    State
	dialing  bool          // a goroutine tries until there is a connection
	attempt  uint64        // that is under way; 0: none
	failures int           // attempts in a row that failed
	last     error         // why the last one did
	nextTry  time.Time     // not before then
	hurry    chan struct{} // closed to have the pause cut short
	reopened bool          // there was a connection before
	restarts bool          // the last attempt failed as one does at a server that is being restarted
	drained  bool          // the server drained the last one before it could be used

	// Only closeIdle, which one goroutine calls, touches these.
	idle  time.Duration // for how long the connection was seen to be
	calls uint64        // how many it had then
}

// setLocked notes how the client stands with a connection, and so with its endpoint.
func (l *redialer) setLocked(state State) {
	l.state = state
	e := l.endpoint
	all, failures := StateIdle, l.failures
	for _, l := range e.dialed {
		failures = min(failures, l.failures)
		if rank[l.state] > rank[all] {
			all = l.state
		}
	}
	if all == StateReady {
		e.of.broken, failures = false, 0
	}
	e.failures.Store(int64(failures))
	if State(e.state.Swap(uint32(all))) != all {
		e.of.changedLocked()
		return
	}
	e.of.version.Add(1)
	e.of.wakeLocked()
}

// rank orders the states of an endpoint's connections: the endpoint has the highest.
var rank = [...]int{StateIdle: 0, StateFailing: 1, StateConnecting: 2, StateReady: 3}

// connectLocked has all connections to the endpoint opened that are not.
func (e *EndpointState) connectLocked() {
	for _, l := range e.dialed {
		if l.current.Load() == nil {
			l.connectLocked(StateConnecting)
		}
	}
}

// connectLocked tries in the background until there is a connection.
func (l *redialer) connectLocked(state State) {
	e := l.endpoint
	if l.dialing && l.state == StateIdle && e.within.Err() == nil {
		l.setLocked(state) // the goroutine that opened a connection, which was closed for being idle at once, opens another
		return
	}
	if l.dialing || e.within.Err() != nil || !e.of.client.begin() {
		return
	}
	l.dialing = true
	l.setLocked(state)
	go l.dial()
}

// leaveLocked has the endpoint take no more calls. It returns the connections, to drain.
func (e *EndpointState) leaveLocked() (conns []*Connection) {
	e.leave()
	for _, l := range e.dialed {
		if conn := l.current.Swap(nil); conn != nil {
			conns = append(conns, conn)
		}
		l.state = StateIdle
	}
	e.state.Store(uint32(StateIdle))
	return conns
}

// dial tries until there is a connection, or the endpoint has left.
func (l *redialer) dial() {
	e := l.endpoint
	s := e.of
	c := s.client
	defer c.closed.Done()
	for {
		if l.pause(); !l.goesOn() {
			return
		}
		err := l.open()
		s.mu.Lock()
		if l.attempt > 0 {
			l.attempt = 0
			s.version.Add(1)
			s.wakeLocked() // they may have waited for this very attempt
		}
		switch {
		case err != nil && e.within.Err() == nil:
			l.failedLocked(err, nil)
			l.setLocked(StateFailing)
			s.lastLocked(l)
			l.drained = false
		case l.current.Load() != nil || err == nil && l.state == StateIdle:
			l.dialing = false
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
}

// open makes an attempt, in its turn.
func (l *redialer) open() error {
	e := l.endpoint
	select {
	case e.opening <- struct{}{}:
	case <-e.within.Done():
		return e.within.Err() //nolint:wrapcheck // nobody is told: the endpoint has left
	}
	defer func() { <-e.opening }()
	return transport.Dial(e.within, e.target(), l.join)
}

// goesOn begins an attempt. It reports false if none is wanted any more.
func (l *redialer) goesOn() bool {
	e := l.endpoint
	s := e.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.within.Err() != nil || !s.wanted {
		l.dialing = false
		l.setLocked(StateIdle)
		return false
	}
	s.attempts++
	l.attempt = s.attempts
	return true
}

// target is where an endpoint is dialled.
func (e *EndpointState) target() *transport.Target {
	s := e.of
	s.mu.Lock()
	several := len(s.set) > 1
	s.mu.Unlock()
	told, options := e.endpoint.Load(), &s.client.options
	t := &transport.Target{Addresses: told.Addresses, ServerName: told.ServerName, TLS: options.forClient(), Several: several, Handshakes: &s.handshakes}
	if dial := options.dialer; dial != nil {
		t.Open = func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, *told, address) }
	}
	return t
}

// pause waits until the next attempt may be made.
func (l *redialer) pause() {
	s := l.endpoint.of
	s.mu.Lock()
	l.hurry = make(chan struct{})
	hurry, wait := l.hurry, time.Until(l.nextTry)
	s.mu.Unlock()
	if wait <= 0 {
		return
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
	case <-hurry:
	case <-l.endpoint.within.Done():
	}
}

// lastLocked is called when l has failed or was lost and no other endpoint is ready. It tries at
// once those failing endpoints whose servers may just have restarted: servers are restarted in
// turn, and one that was down may be back by the time that the next one stops. A single endpoint is
// tried if its server drained that very connection, for instance for its age. lastLocked does this
// again only after an endpoint was ready in between.
func (s *endpoints) lastLocked(l *redialer) {
	if s.broken || len(s.set) == 1 && !l.drained {
		return
	}
	for _, e := range s.set {
		if state := e.State(); state == StateReady || state == StateConnecting && e != l.endpoint {
			return
		}
	}
	s.broken = true
	for _, e := range s.set {
		for _, l := range e.dialed {
			if l.state == StateFailing && l.dialing && l.restarts {
				l.nextTry = time.Time{}
				if l.hurry != nil {
					close(l.hurry)
					l.hurry = nil
				}
				l.setLocked(StateConnecting)
			}
		}
	}
}

// join begins a connection on a socket and makes it the current one. If there is another address or
// endpoint to try, and on every connection after an endpoint's first, or where TLS has agreed on no
// protocol, it waits for the server's greeting: a call sent to a server that accepts but says nothing
// might have been run.
func (l *redialer) join(ctx context.Context, socket net.Conn, several bool) error {
	e := l.endpoint
	s := e.of
	c := s.client
	if !c.begin() {
		_ = socket.Close()
		return ErrClientClosed
	}
	conn := newConnection(c.calling, transport.Prepare(c.config, socket, false, nil))
	conn.redialer, conn.ready = l, make(chan struct{})
	conn.conn.Group = e
	secure := conn.conn.TLS()
	unagreed := secure != nil && secure.NegotiatedProtocol == "" // it may be a server of something else
	c.mu.Lock()
	c.live[conn] = struct{}{}
	c.mu.Unlock()
	s.mu.Lock()
	// From here on it may be reported as going away, under its lock, which then
	// waits for this one: nothing here may want it.
	conn.conn.Start()
	wait := several || l.reopened || len(s.set) > 1 || unagreed
	if !wait {
		l.takeLocked(conn)
	}
	s.mu.Unlock()
	if wait {
		if err := l.await(ctx, conn); err != nil {
			return err
		}
	}
	switch {
	case c.done.Err() != nil:
		conn.conn.Shut(ErrClientClosed) // Close may not have seen it
	case e.within.Err() != nil:
		conn.conn.Drain(textLeft)
	}
	return nil
}

// textLeft is why a connection is drained whose endpoint left the set.
const textLeft = "the endpoint is no longer among those of the target"

func (l *redialer) takeLocked(conn *Connection) {
	if l.current.Load() != nil {
		return // another address was quicker
	}
	conn.taken = true
	l.reopened, l.drained = true, false
	l.attempt = 0                       // it is over for those who wait for what comes of it
	if l.endpoint.within.Err() == nil { // else it has left just now
		l.current.Store(conn)
		l.setLocked(StateReady)
	}
}

// await makes a connection the current one once its server has greeted.
func (l *redialer) await(ctx context.Context, conn *Connection) error {
	select {
	case <-conn.ready:
	case <-ctx.Done():
		err := fmt.Errorf("%s: %w", conn.silence(), ctx.Err())
		conn.conn.Close(err)
		return err
	}
	_ = conn.conn.Err() // waits until all that came with the greeting was taken in
	s := l.endpoint.of
	s.mu.Lock()
	if !conn.away {
		l.takeLocked(conn)
	}
	taken, away := conn.taken, conn.away
	s.mu.Unlock()
	if taken {
		return nil
	}
	err := conn.conn.Err()
	if err == nil || transport.Drained(err) {
		err = errTurnsAway
		s.mu.Lock()
		l.drained = away // else another address was quicker
		s.mu.Unlock()
	}
	conn.conn.Shut(errTurnsAway)
	if errors.As(err, new(*wire.Error)) {
		return reason(conn.conn, err)
	}
	return transport.TurnedAway{Text: reason(conn.conn, err).Error()}
}

var errTurnsAway = errors.New("the server takes no more calls")

// failedLocked notes that an attempt has failed, or that the connection it gave is of no use.
func (l *redialer) failedLocked(err error, conn *Connection) {
	l.last, l.restarts = err, conn != nil || transport.Restarts(err)
	l.failures++
	l.nextTry = time.Now().Add(rand.N(longestWait(l.failures))) //nolint:gosec // jitter, not a secret
	c := l.endpoint.of.client
	c.options.log(slog.LevelWarn, "connect failed", "target", c.target, "error", err)
	if conn == nil || !conn.wasConnected.Load() {
		c.counters.connectFailures.Add(1)
		c.options.connectFailed(&c.events, c.target, err)
	}
	c.resolving.unreached()
}

// whyLocked is why there is no connection.
func (l *redialer) whyLocked() error {
	if wait := time.Until(l.nextTry); wait > 0 {
		return fmt.Errorf("%w (next attempt in %v)", l.last, wait.Round(time.Millisecond))
	}
	return l.last
}

// unreached is why each of some endpoints was not reached.
type unreached []error

func (u unreached) Error() string {
	texts := make([]string, 0, min(len(u), toldReasons)+1)
	for i, err := range u {
		if i == toldReasons {
			texts = append(texts, fmt.Sprintf("and %d more", len(u)-i))
			break
		}
		texts = append(texts, err.Error())
	}
	return "cannot reach " + strings.Join(texts, "; ")
}

func (u unreached) Unwrap() []error { return u }

// retire makes later calls use another connection than conn, which has refused one because of
// cause. A new one is opened in the background; meanwhile others may carry all calls.
func (l *redialer) retire(conn *Connection, cause error) {
	s := l.endpoint.of
	why := explain(conn.conn, cause) // not under the lock, which the connection's is taken before
	s.mu.Lock()
	defer s.mu.Unlock()
	l.endedLocked(conn, cause, why)
}

// endedLocked accounts for the end of conn, once. The first to learn of it calls it: by the
// server's GOAWAY, by the end itself, or by a refused call. A connection that did not last counts
// as a failed attempt, so that a server that ends connections at once is not flooded with attempts.
// After the loss of one that did last, the new one is opened after a short random time, since many
// clients may have lost theirs together. why is cause in words.
func (l *redialer) endedLocked(conn *Connection, cause, why error) {
	state := StateConnecting
	if conn.taken && !conn.away && l.endpoint.within.Err() == nil {
		drained := transport.Drained(cause) || errors.Is(cause, transport.ErrDraining)
		lasted := time.Since(conn.began) >= steady
		if lasted || drained { // the attempts that had failed are in a row with no others
			l.failures = 0
		}
		c := l.endpoint.of.client
		switch {
		case drained || errors.Is(cause, ErrDisconnected): // another is opened at once
		case lasted && !errors.Is(cause, errTurnsAway):
			spread := rand.N(firstPause) //nolint:gosec // jitter, not a secret
			l.nextTry = time.Now().Add(spread)
			c.options.log(slog.LevelInfo, "connection lost", "remote", conn.Remote(), "pause", spread)
			c.resolving.unreached()
		default:
			l.failedLocked(why, conn)
			state = StateFailing
		}
	}
	conn.away = true
	l.retireLocked(conn, state)
}

// retireLocked also says how the client stands with what is lost.
func (l *redialer) retireLocked(conn *Connection, state State) {
	if l.current.Load() != conn {
		return
	}
	l.current.Store(nil)
	if s := l.endpoint.of; s.lazy && state == StateConnecting && s.turns.Len() == 0 && !l.dialing {
		l.setLocked(StateIdle) // until a call is picked for it
		return
	}
	if l.dialing {
		l.setLocked(state) // the goroutine that has just opened it goes on
	} else {
		l.connectLocked(state)
	}
	l.endpoint.of.lastLocked(l)
}

// greeted waits until the server's preface has come.
func (conn *Connection) greeted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transport.HandshakeTimeout)
	defer cancel()
	select {
	case <-conn.ready:
	case <-ctx.Done():
		return fmt.Errorf("cannot reach %v: %s: %w", conn.Remote(), conn.silence(), ctx.Err())
	}
	if err := conn.conn.Err(); err != nil && !transport.Drained(err) {
		return unreached{explain(conn.conn, err)}
	}
	return nil
}

// silence is what there is to know of a server that has not greeted.
func (conn *Connection) silence() string { return transport.Silence(time.Since(conn.began)) }

// explain puts into words why a connection ended that had hardly begun.
func explain(conn *transport.Conn, err error) error {
	return fmt.Errorf("%v: %w", conn.Remote(), reason(conn, err))
}

func reason(conn *transport.Conn, err error) error { return errors.New(conn.Why(err)) }

// clientConnections is a Client as its connections see it.
type clientConnections struct {
	acceptor
	client *Client
}

// Ready says that a server answered.
func (c clientConnections) Ready(tc *transport.Conn, _ *wire.Preface) {
	conn := connectionOf(tc)
	conn.connected()
	conn.once.Do(func() { close(conn.ready) })
}

// GoesAway has later calls use a new connection, while those that run go on.
func (c clientConnections) GoesAway(tc *transport.Conn, reason uint32, text string) {
	conn := connectionOf(tc)
	cause := errTurnsAway
	if reason == wire.GoAwayDraining {
		cause = transport.ErrDraining
	}
	s := conn.redialer.endpoint.of
	s.mu.Lock()
	conn.redialer.endedLocked(conn, cause, fmt.Errorf("%v: the peer ended the connection: %s", tc.Remote(), text))
	s.mu.Unlock()
	c.client.options.log(slog.LevelInfo, "server goes away", "remote", tc.Remote(), "reason", reason, "text", text)
}

// Closed makes room for a new connection.
func (c clientConnections) Closed(tc *transport.Conn, err error) {
	conn := connectionOf(tc) // whoever dials may still hold the lock, and it know nothing of tc
	conn.redialer.retire(conn, err)
	conn.once.Do(func() { close(conn.ready) })
	c.client.mu.Lock()
	delete(c.client.live, conn)
	c.client.mu.Unlock()
	c.client.options.log(slog.LevelDebug, "disconnected", "remote", tc.Remote(), "cause", transport.Describe(err))
	conn.disconnected(err)
	c.client.closed.Done()
}
