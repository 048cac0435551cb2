package trunkcall

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

var noContext = context.Background()

// Peer is the other end of a call.
type Peer struct {
	Remote, Local net.Addr
	TLS           *tls.ConnectionState // nil without TLS
}

type metadataKey struct{}

// WithMetadata returns a context whose calls carry m as request metadata, after the metadata that
// ctx carries already.
func WithMetadata(ctx context.Context, m Metadata) context.Context {
	if before := outgoing(ctx); len(before) > 0 {
		m = append(before[:len(before):len(before)], m...)
	}
	// Without room to spare: what interceptors add goes elsewhere.
	return context.WithValue(ctx, metadataKey{}, m[:len(m):len(m)])
}

func outgoing(ctx context.Context) Metadata {
	m, _ := ctx.Value(metadataKey{}).(Metadata)
	return m[:len(m):len(m)] // what is added to it later is not the context's
}

// withAdded is the metadata of a call whose interceptors go on with ctx: what they put
// there, beside what there was before them, is sent too.
func withAdded(m, before Metadata, ctx context.Context) Metadata { //nolint:revive // the context comes of the interceptors
	added := outgoing(ctx)
	if len(added) >= len(before) && slices.Equal(added[:len(before)], before) {
		added = added[len(before):]
	}
	if len(added) == 0 {
		return m
	}
	return append(m[:len(m):len(m)], added...)
}

type callKey struct{}

// CallFromContext returns the call that a handler's context belongs to, nil in
// a context that is not a handler's.
func CallFromContext(ctx context.Context) *ServerCall {
	c, _ := ctx.Value(callKey{}).(*ServerCall)
	return c
}

// handlerContext is the context of a handler: one object per call, together
// with its ServerCall, whose parts are made when they are first asked for. Above
// 512 bytes that object costs the collector considerably more.
type handlerContext struct {
	call     *ServerCall
	deadline int64 // in the sessions' time, 0: none

	mu    sync.Mutex
	err   error
	done  chan struct{}
	after map[*func()]struct{}
}

// Deadline is the caller's, carried over as time remaining.
func (c *handlerContext) Deadline() (time.Time, bool) {
	if c.deadline == 0 {
		return time.Time{}, false
	}
	return roles.TimeOf(c.deadline), true
}

func (c *handlerContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

func (c *handlerContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *handlerContext) Value(key any) any {
	if key == (callKey{}) {
		return c.call
	}
	return nil
}

// AfterFunc lets contexts derived from this one follow it without a goroutine
// each; package context looks for it.
func (c *handlerContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[&f]
		delete(c.after, &f)
		return waiting
	}
}

// cancel ends the context; later calls do nothing.
func (c *handlerContext) cancel(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	for f := range c.after {
		go (*f)()
	}
	c.after = nil
}
