package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Client owns connections to one target and calls methods there. Its methods
// are safe for concurrent use.
type Client struct {
	route   // what it calls
	serving // what it serves to its servers

	target  string
	options clientOptions
	config  *transport.Config
	pool    *roles.Pool
	events  sequence // what observers are told of failed attempts to connect

	close  context.CancelFunc
	mu     sync.Mutex // orders begin and Close
	live   map[*Connection]struct{}
	closed sync.WaitGroup // one for each connection and dialling goroutine
}

// begin counts something that Close waits for; it reports false once Close has
// begun.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done.Err() != nil {
		return false
	}
	c.closed.Add(1)
	return true
}

// ErrClientClosed is the cause of calls that fail because the client was
// closed.
var ErrClientClosed = errors.New("the client is closed")

// NewClient returns a client of target, which is HOST:PORT, unix:PATH,
// mem:NAME, or several of them separated by commas, tried in turn. Connections
// are opened with the first calls, or by Connect.
func NewClient(target string, options ...ClientOption) *Client {
	c := &Client{target: target, pool: &roles.Pool{}, live: map[*Connection]struct{}{}}
	c.options = clientOptions{connections: 1, common: defaults(DefaultKeepaliveInterval)}
	for i, o := range options {
		if o == nil {
			panic(fmt.Sprintf("trunkcall: option %d of NewClient or Dial is nil", i+1))
		}
		o.applyClient(&c.options)
	}
	c.options.sane(DefaultKeepaliveInterval)
	c.options.fault = errors.Join(c.options.fault, transport.CheckTarget(target))
	done, cancel := context.WithCancel(context.Background())
	c.close = cancel
	c.calling = newCalling(done, &c.options.common, c.options.interceptors, c.pool)
	c.serving.begin("client", &c.options.common, c.options.reverse)
	c.config = c.options.transport(clientConnections{acceptor{&c.serving}, c}, c.pool)
	c.config.Slots = &transport.SlotQueue{}
	for range c.options.connections {
		c.lines = append(c.lines, &line{client: c})
	}
	return c
}

// Dial returns a client whose connections are open. The error is a StatusError
// that says what was tried and why it failed.
func Dial(ctx context.Context, target string, options ...ClientOption) (*Client, error) {
	c := NewClient(target, options...)
	if err := c.Connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Connect opens all connections of the client that are not open and waits for
// each server's first bytes. The error is a StatusError, not sent: UNAVAILABLE when a
// server could not be reached, FAILED_PRECONDITION for options that are no good.
func (c *Client) Connect(ctx context.Context) error {
	errs := make(chan error, len(c.lines))
	limit := make(chan struct{}, 64) // connections opened at a time
	for _, l := range c.lines {
		go func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			conn, err := l.connection(ctx)
			if err == nil {
				err = conn.greeted(ctx)
			}
			if err != nil {
				err = c.unreachable(ctx, err)
			}
			errs <- err
		}()
	}
	var first error
	for range c.lines {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Close ends the client: calls that run fail, connections are closed, and the
// contexts of handlers are cancelled. It returns when nothing of the client runs
// any more but handlers and callbacks of the user's.
func (c *Client) Close() {
	c.mu.Lock()
	c.close()
	live := slices.Collect(maps.Keys(c.live))
	c.mu.Unlock()
	for _, conn := range live {
		conn.conn.Shut(ErrClientClosed)
	}
	c.closed.Wait()
	c.oneWays.cancel()
	c.pool.Close()
	c.options.journal.flush()
}

// Connections returns the client's connections.
func (c *Client) Connections() []*Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.live))
}

// Target is what the client was made for.
func (c *Client) Target() string { return c.target }

// Secure reports whether all that the client sends goes through TLS.
func (c *Client) Secure() bool {
	if c.options.tls != nil {
		return true
	}
	for address := range strings.SplitSeq(c.target, ",") {
		if !strings.HasPrefix(strings.TrimSpace(address), "wss://") {
			return false
		}
	}
	return true
}
