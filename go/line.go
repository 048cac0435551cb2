package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
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
	current atomic.Pointer[Connection] // nil while there is none

	reopening atomic.Bool // a goroutine tries until there is one

	mu       sync.Mutex
	failures int           // attempts in a row that failed
	last     error         // why the last one did
	nextTry  time.Time     // not before then
	spread   time.Duration // by which the next attempt is put off, once
	reopened bool          // there was a connection before
	attempt  *attempt      // the one that is under way
}

// attempt is a dial that several calls may wait for.
type attempt struct {
	done chan struct{}
	then []roles.Task // run afterwards
	conn *Connection
	err  error
}

// connection returns the current connection or waits for one to be opened.
// After a failure it fails at once until the next attempt is due.
func (l *line) connection(ctx context.Context) (*Connection, error) {
	conn, a, err := l.attend(nil)
	if a == nil {
		return conn, err
	}
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("cannot reach %s in time: %w", l.client.target, ctx.Err())
	}
}

// attend returns the current connection, or the attempt to open one that is under
// way, or why there is none; then is run when the attempt has ended.
func (l *line) attend(then roles.Task) (*Connection, *attempt, error) {
	if conn := l.current.Load(); conn != nil {
		return conn, nil, nil
	}
	if err := l.client.options.fault; err != nil {
		return nil, nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if conn := l.current.Load(); conn != nil {
		return conn, nil, nil
	}
	if l.attempt == nil {
		if wait := time.Until(l.nextTry); wait > 0 {
			return nil, nil, fmt.Errorf("%w (next attempt in %v)", l.last, wait.Round(time.Millisecond))
		}
		if !l.client.begin() {
			return nil, nil, ErrClientClosed
		}
		l.attempt = &attempt{done: make(chan struct{})}
		go l.dial(l.attempt)
	}
	if then != nil {
		l.attempt.then = append(l.attempt.then, then)
	}
	return nil, l.attempt, nil
}

// dial makes an attempt: it tries the addresses of the target in turn.
func (l *line) dial(a *attempt) {
	c := l.client
	defer c.closed.Done()
	l.mu.Lock()
	spread := l.spread
	l.spread = 0
	l.mu.Unlock()
	sleep(c.done, spread)
	err := transport.Dial(c.done, c.target, c.options.tls, func(ctx context.Context, socket net.Conn, several bool) error {
		conn, err := l.join(ctx, socket, several)
		a.conn = conn
		return err
	})
	l.mu.Lock()
	l.attempt = nil
	if err != nil {
		l.failedLocked(err, nil)
		a.err = fmt.Errorf("cannot reach %w", err)
		l.last = a.err
	}
	l.mu.Unlock()
	close(a.done)
	for _, task := range a.then {
		c.pool.Do(task)
	}
	if a.conn != nil && c.done.Err() != nil {
		a.conn.conn.Shut(ErrClientClosed) // Close may not have seen it
	}
}

// join begins a connection on a socket and makes it the line's. Where there is
// another address to turn to, and on every connection but a line's first, that
// waits for the server's greeting: what is sent to one that accepts and says
// nothing might have been run.
func (l *line) join(ctx context.Context, socket net.Conn, several bool) (*Connection, error) {
	c := l.client
	if !c.begin() {
		_ = socket.Close()
		return nil, ErrClientClosed
	}
	conn := newConnection(c.calling, transport.Prepare(c.config, socket, false, nil))
	conn.line, conn.ready = l, make(chan struct{})
	c.mu.Lock()
	c.live[conn] = struct{}{}
	c.mu.Unlock()
	l.mu.Lock()
	// From here on it may be reported as going away, under its lock, which then
	// waits for the line's: nothing here may want it.
	conn.conn.Start()
	wait := several || l.reopened
	if !wait {
		l.takeLocked(conn)
	}
	l.mu.Unlock()
	if wait {
		if err := l.await(ctx, conn); err != nil {
			return nil, err
		}
	}
	return conn, nil
}

func (l *line) takeLocked(conn *Connection) {
	conn.taken = true
	l.reopened = true
	l.current.Store(conn)
}

// await makes a connection the line's once its server has greeted.
func (l *line) await(ctx context.Context, conn *Connection) error {
	select {
	case <-conn.ready:
	case <-ctx.Done():
		err := fmt.Errorf("it accepts connections but does not answer as a Trunkcall server, and may speak something else: %w", ctx.Err())
		conn.conn.Close(err)
		return err
	}
	_ = conn.conn.Err() // waits until all that came with the greeting was taken in
	l.mu.Lock()
	away := conn.away
	if !away {
		l.takeLocked(conn)
	}
	l.mu.Unlock()
	if !away {
		return nil
	}
	err := conn.conn.Err()
	if err == nil || transport.Drained(err) {
		err = errTurnsAway
	}
	conn.conn.Shut(errTurnsAway)
	if errors.As(err, new(*wire.Error)) {
		return reason(conn.conn, err)
	}
	return transport.TurnedAway{Text: reason(conn.conn, err).Error()}
}

var errTurnsAway = errors.New("the server takes no more calls")

// failedLocked notes that an attempt has failed, or that conn, which came of it,
// is no good.
func (l *line) failedLocked(err error, conn *Connection) {
	l.last = err
	l.failures++
	bound := min(firstPause<<min(l.failures-1, 10), lastPause)
	l.nextTry = time.Now().Add(rand.N(bound)) //nolint:gosec // jitter, not a secret
	c := l.client
	c.options.log(slog.LevelWarn, "connect failed", "target", c.target, "error", err)
	if conn == nil || !conn.wasConnected.Load() {
		c.counters.connectFailures.Add(1)
		c.options.connectFailed(&c.events, c.target, err)
	}
}

// pause is how long to wait before the next attempt may be made.
func (l *line) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.nextTry), time.Millisecond)
}

// retire has later calls use another connection, which is opened in the
// background: other lines may carry all calls meanwhile.
func (l *line) retire(conn *Connection) {
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
		for c.done.Err() == nil {
			if _, err := l.connection(c.done); err != nil {
				sleep(c.done, l.pause())
				continue
			}
			l.reopening.Store(false)
			if l.current.Load() != nil || !l.reopening.CompareAndSwap(false, true) {
				return // else it was lost meanwhile, by one that took this for being at it
			}
		}
	}()
}

// greeted waits until the server's preface has come.
func (conn *Connection) greeted(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transport.HandshakeTimeout)
	defer cancel()
	select {
	case <-conn.ready:
	case <-ctx.Done():
		return fmt.Errorf("cannot reach %v: it accepts connections but does not answer as a Trunkcall server, and may speak something else: %w", conn.Remote(), ctx.Err())
	}
	if err := conn.conn.Err(); err != nil && !transport.Drained(err) {
		return explain(conn.conn, err)
	}
	return nil
}

// explain puts into words why a connection ended that had hardly begun.
func explain(conn *transport.Conn, err error) error {
	return fmt.Errorf("cannot reach %v: %w", conn.Remote(), reason(conn, err))
}

func reason(conn *transport.Conn, err error) error {
	var violation *wire.Error
	switch {
	case errors.As(err, &violation) && violation.Class == wire.ErrPreface:
		return fmt.Errorf("this is not a Trunkcall server: %s", violation.Text)
	case !conn.Greeted() && errors.Is(err, io.EOF):
		return errors.New("closed before a greeting: it may not be a Trunkcall server")
	default:
		return errors.New(transport.Describe(err))
	}
}

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
	l := conn.line
	l.mu.Lock()
	conn.away = true
	if conn.taken && reason != wire.GoAwayDraining {
		l.failedLocked(fmt.Errorf("cannot reach %v: the peer ended the connection: %s", tc.Remote(), text), conn)
	}
	l.mu.Unlock()
	l.retire(conn)
	c.client.options.log(slog.LevelInfo, "server goes away", "remote", tc.Remote(), "reason", reason, "text", text)
}

// Closed makes room for a new connection. One that did not live for long counts
// as a failed attempt, so that a server that takes connections only to end them
// is not stormed. After the loss of one that did, the new one is opened a moment
// later, each client's at another: many may have lost theirs together.
func (c clientConnections) Closed(tc *transport.Conn, err error) {
	conn := connectionOf(tc)
	l := conn.line
	why := explain(tc, err) // dial may still hold the line, and conn know nothing of tc
	l.mu.Lock()
	went := conn.away // announced, and counted if it is to be
	conn.away = true
	switch {
	case !conn.taken || went || c.client.done.Err() != nil || transport.Drained(err):
	case errors.Is(err, ErrDisconnected): // the next call opens another at once
	case time.Since(conn.began) >= steady:
		l.failures = 0
		l.spread = rand.N(firstPause) //nolint:gosec // jitter, not a secret
		c.client.options.log(slog.LevelInfo, "connection lost", "remote", tc.Remote(), "pause", l.spread)
	default:
		l.failedLocked(why, conn)
	}
	l.mu.Unlock()
	l.retire(conn)
	conn.once.Do(func() { close(conn.ready) })
	c.client.mu.Lock()
	delete(c.client.live, conn)
	c.client.mu.Unlock()
	c.client.options.log(slog.LevelDebug, "disconnected", "remote", tc.Remote(), "cause", transport.Describe(err))
	conn.disconnected(err)
	c.client.closed.Done()
}
