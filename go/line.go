package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/transport"
	"github.com/trunkcall/trunkcall/go/wire"
)

// Reconnection (spec/limits.md): the pause before the nth attempt is drawn
// from 0 to firstPause * 2^n, at most lastPause.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second

	// steady is how long a connection lives before its end counts as no
	// failure of the attempt that opened it.
	steady = 5 * time.Second
)

// line is one of a client's connections: the current one, or the attempt to
// replace it.
type line struct {
	client  *Client
	current atomic.Pointer[connection] // nil while there is none

	reopening atomic.Bool // a goroutine tries until there is one

	mu       sync.Mutex
	failures int       // attempts in a row that failed
	last     error     // why the last one did
	nextTry  time.Time // not before then
	attempt  *attempt  // the one that is under way
}

// attempt is a dial that several calls may wait for.
type attempt struct {
	done chan struct{}
	conn *connection
	err  error
}

// connection is a transport.Conn that belongs to a line.
type connection struct {
	*transport.Conn
	line  *line
	began time.Time
	ready chan struct{} // closed when the server's preface has come, or the end
	once  sync.Once
}

// connection returns the current connection or waits for one to be opened.
// After a failure it fails at once until the next attempt is due.
func (l *line) connection(ctx context.Context) (*connection, error) {
	if conn := l.current.Load(); conn != nil {
		return conn, nil
	}
	if err := l.client.options.fault; err != nil {
		return nil, err
	}
	l.mu.Lock()
	if conn := l.current.Load(); conn != nil {
		l.mu.Unlock()
		return conn, nil
	}
	a := l.attempt
	if a == nil {
		if wait := time.Until(l.nextTry); wait > 0 {
			defer l.mu.Unlock()
			return nil, fmt.Errorf("%w (next attempt in %v)", l.last, wait.Round(time.Millisecond))
		}
		if !l.client.begin() {
			l.mu.Unlock()
			return nil, ErrClientClosed
		}
		a = &attempt{done: make(chan struct{})}
		l.attempt = a
		go l.dial(a)
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot reach %s in time: %w", l.client.target, ctx.Err())
	}
}

func (l *line) dial(a *attempt) {
	c := l.client
	defer c.closed.Done()
	socket, err := transport.Dial(c.done, c.target, c.options.tls)
	defer func() {
		if a.conn != nil {
			l.dialled(a.conn)
		}
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	defer close(a.done)
	l.attempt = nil
	if err == nil && !c.begin() {
		_ = socket.Close()
		err = ErrClientClosed
	}
	if err != nil {
		l.failedLocked(err)
		a.err = fmt.Errorf("cannot reach %w", err)
		l.last = a.err
		return
	}
	conn := &connection{line: l, began: time.Now(), ready: make(chan struct{})}
	// From here on it may be reported as going away, under its lock, which then
	// waits for the line's: nothing here may want it.
	conn.Conn = transport.NewConn(c.config, socket, false, nil, conn)
	c.mu.Lock()
	c.live[conn] = struct{}{}
	c.mu.Unlock()
	a.conn = conn
	l.current.Store(conn)
	c.options.log(slog.LevelDebug, "connected", "remote", conn.Remote())
}

// dialled looks after what may have happened to a connection before it was the
// line's.
func (l *line) dialled(conn *connection) {
	if l.client.done.Err() != nil {
		conn.Shut(ErrClientClosed) // Close may not have seen it
	} else if conn.Err() != nil {
		l.retire(conn)
	}
}

func (l *line) failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failedLocked(err)
}

func (l *line) failedLocked(err error) {
	l.last = err
	l.failures++
	bound := min(firstPause<<min(l.failures-1, 10), lastPause)
	l.nextTry = time.Now().Add(rand.N(bound)) //nolint:gosec // jitter, not a secret
	l.client.options.log(slog.LevelWarn, "connect failed", "target", l.client.target, "error", err)
}

// pause is how long to wait before the next attempt may be made.
func (l *line) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.nextTry), time.Millisecond)
}

// retire has later calls use another connection, which is opened in the
// background: other lines may carry all calls meanwhile.
func (l *line) retire(conn *connection) {
	if l.current.CompareAndSwap(conn, nil) {
		l.reopen()
	}
}

// reopen tries in the background until there is a connection again.
func (l *line) reopen() {
	if l.client.options.fault != nil || l.reopening.Load() || !l.reopening.CompareAndSwap(false, true) {
		return
	}
	c := l.client
	if !c.begin() {
		return
	}
	go func() {
		defer c.closed.Done()
		defer l.reopening.Store(false)
		for c.done.Err() == nil {
			if _, err := l.connection(c.done); err == nil {
				return
			}
			sleep(c.done, l.pause())
		}
	}()
}

// greeted waits until the server's preface has come.
func (conn *connection) greeted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transport.HandshakeTimeout)
	defer cancel()
	select {
	case <-conn.ready:
	case <-ctx.Done():
		return fmt.Errorf("cannot reach %v: it accepts connections but does not answer as a Trunkcall server: %w", conn.Remote(), ctx.Err())
	}
	if err := conn.Err(); err != nil && !transport.Drained(err) {
		return explain(conn.Conn, err)
	}
	return nil
}

// explain puts into words why a connection ended that had hardly begun.
func explain(conn *transport.Conn, err error) error {
	var violation *wire.Error
	switch {
	case errors.As(err, &violation) && violation.Class == wire.ErrPreface:
		return fmt.Errorf("cannot reach %v: this is not a Trunkcall server (%w)", conn.Remote(), err)
	case !conn.Greeted() && errors.Is(err, io.EOF):
		return fmt.Errorf("cannot reach %v: closed before a greeting: it may not be a Trunkcall server", conn.Remote())
	default:
		return fmt.Errorf("cannot reach %v: %s", conn.Remote(), transport.Describe(err))
	}
}

// clientConnections is a Client as its connections see it.
type clientConnections struct{ *Client }

func connectionOf(c *transport.Conn) *connection {
	return c.Owner.(*connection) //nolint:forcetypeassert // dial sets nothing else
}

// Accept refuses all: a client serves nothing.
func (clientConnections) Accept(_ *transport.Conn, in *wire.Incoming) (*transport.Stream, *wire.Refusal) {
	return nil, &wire.Refusal{Code: Unimplemented, Message: fmt.Sprintf("method %s is not served here", in.Method.Name)}
}

func (clientConnections) Serve(*transport.Worker, *transport.Stream) {}
func (clientConnections) Dropped(*transport.Stream)                  {}
func (clientConnections) Stopped(*transport.Stream, wire.Code)       {}

// Ready says that a server answered.
func (c clientConnections) Ready(tc *transport.Conn, _ *wire.Preface) {
	conn := connectionOf(tc)
	conn.once.Do(func() { close(conn.ready) })
}

// GoesAway has later calls use a new connection, while those that run go on.
func (c clientConnections) GoesAway(tc *transport.Conn, reason uint32, text string) {
	conn := connectionOf(tc)
	if reason != wire.GoAwayDraining {
		conn.line.failed(fmt.Errorf("cannot reach %v: the peer ended the connection: %s", tc.Remote(), text))
	}
	conn.line.retire(conn)
	c.options.log(slog.LevelInfo, "server goes away", "remote", tc.Remote(), "reason", reason, "text", text)
}

// Closed makes room for a new connection. One that did not live for long counts
// as a failed attempt, so that a server that takes connections only to end them
// is not stormed.
func (c clientConnections) Closed(tc *transport.Conn, err error) {
	conn := connectionOf(tc)
	l := conn.line
	why := explain(tc, err) // dial may still hold the line, and conn know nothing of tc
	l.mu.Lock()
	switch {
	case c.done.Err() != nil || transport.Drained(err):
	case time.Since(conn.began) >= steady:
		l.failures = 0
	default:
		l.failedLocked(why)
	}
	l.mu.Unlock()
	l.retire(conn)
	conn.once.Do(func() { close(conn.ready) })
	c.mu.Lock()
	delete(c.live, conn)
	c.mu.Unlock()
	c.options.log(slog.LevelDebug, "disconnected", "remote", tc.Remote(), "cause", transport.Describe(err))
	c.closed.Done()
}
