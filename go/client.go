package trunkcall

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Client owns connections to the endpoints of one target and calls methods there. Its methods
// are safe for concurrent use.
type Client struct {
	route   // what it calls
	serving // what it serves to its servers

	options   clientOptions
	config    *transport.Config
	pool      *roles.Pool
	resolving resolving
	events    sequence // what observers are told of failed attempts to connect

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

// NewClient returns a client of target: HOST:PORT, unix:PATH, mem:NAME, ws://HOST:PORT/PATH or
// wss://HOST:PORT/PATH, or several of them separated by commas, each of which is an endpoint;
// dns:HOST:PORT, of which each address is one; or SCHEME:REST for the resolver of that scheme
// (WithResolver). Connections are opened with the first calls, or by Connect. The error says what
// is wrong with the target or the options.
func NewClient(target string, options ...ClientOption) (*Client, error) {
	c := &Client{pool: &roles.Pool{}, live: map[*Connection]struct{}{}}
	c.options = clientOptions{connections: 1, most: DefaultMostEndpoints, common: defaults(DefaultKeepaliveInterval)}
	for i, o := range options {
		if o == nil {
			c.options.wrong("option %d is nil", i+1)
			continue
		}
		o.applyClient(&c.options)
	}
	policies := newPolicies(&c.options)
	fault := c.options.complete()
	done, cancel := context.WithCancel(context.Background())
	c.close = cancel
	c.calling = newCalling(done, &c.options.common, c.options.interceptors, c.pool)
	c.calling.target, c.calling.policies = target, policies
	if policies != nil && policies.file != nil && fault == nil {
		c.closed.Add(1)
		go func() {
			defer c.closed.Done()
			policies.file.watch(done.Done())
		}()
	}
	c.serving.begin("client", &c.options.common, c.options.reverse)
	c.config = c.options.transport(clientConnections{acceptor{&c.serving}, c}, c.pool)
	c.config.Slots = &transport.SlotQueue{}
	c.endpoints = newEndpoints(c)
	if err := errors.Join(fault, c.resolving.begin(c)); err != nil {
		cancel()
		return nil, err
	}
	return c, nil
}

// Dial is NewClient and Connect: it returns a client whose connections are open. The error is a
// StatusError that says what was tried and why it failed: that of Connect, or FAILED_PRECONDITION
// where NewClient fails.
func Dial(ctx context.Context, target string, options ...ClientOption) (*Client, error) {
	c, err := NewClient(target, options...)
	if err != nil {
		return nil, notSent(Status{Code: FailedPrecondition, Message: err.Error(), cause: err}.Err())
	}
	if err := c.Connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Connect opens the connections that are not open and waits until each server has greeted. With a
// Lazy balancer it connects only to the first endpoint that can be reached. The error is a
// StatusError, not sent: UNAVAILABLE when no endpoint could be reached or, of a single endpoint,
// not every connection.
func (c *Client) Connect(ctx context.Context) error {
	if err := c.endpoints.connect(ctx); err != nil {
		return c.unreachable(ctx, err)
	}
	return nil
}

// Close ends the client: calls that run fail, connections are closed, and the contexts of handlers
// are cancelled. It returns when nothing of the client runs any more except the user's handlers and
// callbacks.
func (c *Client) Close() {
	c.mu.Lock()
	c.close()
	live := slices.Collect(maps.Keys(c.live))
	c.mu.Unlock()
	c.endpoints.close()
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
