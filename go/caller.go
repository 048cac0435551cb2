package trunkcall

import (
	"context"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Caller is what methods are called through: a Client, which chooses among its connections, a
// Connection, or any type with these two methods, such as one that wraps another Caller, chooses
// among several, or answers itself in a test. Typed methods, stubs, code-first functions and
// asynchronous calls all use it. It is safe for concurrent use.
//
// If a struct embeds a Client or a Connection and overrides one of these methods, every call made
// through the struct takes the overriding method.
type Caller interface {
	// Invoke calls a unary or one-way method, waits for its end, and fills in response,
	// which is nil for a one-way method. An error that is no StatusError and wraps none counts as
	// UNKNOWN, with an unknown delivery; one of a deadline or cancellation keeps its code.
	Invoke(ctx context.Context, method *Method, request, response any, options ...CallOption) error
	// NewStream opens a call of a streaming method. The call must be received to its end,
	// or closed, or ctx cancelled. A stream may have more than the methods of Stream: see there.
	NewStream(ctx context.Context, method *Method, options ...CallOption) (Stream, error)
}

var (
	_ Caller = (*Client)(nil)
	_ Caller = (*Connection)(nil)
)

// route is the way that calls take: over whichever connection of a client is
// there, or over one.
type route struct {
	*calling
	via *Connection // nil: whichever
}

// routeOf is the way of the calls of a Client or Connection, nil for any other Caller: one that
// embeds those may do otherwise.
func routeOf(c Caller) *route {
	switch c := c.(type) {
	case *Client:
		return &c.route
	case *Connection:
		return &c.route
	}
	return nil
}

// invoke makes a unary or one-way call through a Caller, for a response that was just made.
func invoke(ctx context.Context, c Caller, m *Method, request, response any, options []CallOption) error {
	r := routeOf(c)
	if r == nil {
		return foreign(c.Invoke(ctx, m, request, response, options...))
	}
	o := gatherFresh(options)
	if r.plain(o) {
		return r.unary(ctx, m, request, response, o)
	}
	return r.around(ctx, m, request, response, o)
}

// Invoke calls a unary or one-way method through any Caller and fills in response. The error is a
// StatusError.
func Invoke(ctx context.Context, c Caller, method *Method, request, response any, options ...CallOption) error {
	return foreign(c.Invoke(ctx, method, request, response, options...))
}

// foreign is the error of a call that a Caller of the user's has made.
func foreign(err error) error {
	if err == nil {
		return nil
	}
	if _, ours := statusWithin(err); !ours {
		return local(err, DeliveryUnknown)
	}
	return err
}

// Invoke calls a unary or one-way method, waits for its end, and fills in response, which is
// nil for a one-way method. Typed methods (Unary, OneWay) do the same. The error is a
// StatusError.
func (c *route) Invoke(ctx context.Context, method *Method, request, response any, options ...CallOption) error {
	if err := method.callable(false); err != nil {
		return err
	}
	o := gather(options)
	if c.plain(o) {
		return c.unary(ctx, method, request, response, o)
	}
	return c.around(ctx, method, request, response, o)
}

// plain reports whether nothing is around a call: no timeout but its context's, and no interceptor.
func (c *route) plain(o *callOptions) bool {
	return c.policies == nil && !o.timed && !o.prioritised && len(c.interceptors) == 0
}

// around makes a call within its timeout and through the interceptors.
func (c *route) around(ctx context.Context, m *Method, request, response any, o *callOptions) error {
	if len(c.interceptors) == 0 {
		return c.alone(ctx, m, request, response, o)
	}
	o = c.underRules(m, o)
	ctx, cancel := c.within(ctx, m, o, time.Time{})
	if cancel != nil {
		defer cancel()
	}
	return c.intercepted(ctx, m, request, response, o)
}

// alone makes a call without interceptors within its timeout.
func (c *route) alone(ctx context.Context, m *Method, request, response any, o *callOptions) error {
	g := governedCalls.Get().(*governedCall) //nolint:forcetypeassert // the pool holds nothing else
	over := false
	defer func() {
		if !over { // a codec has panicked
			g.unbind()
		}
	}()
	g.options = *o
	o = &g.options
	o.rules, o.began = c.governed(m), roles.Clock()
	if limit := c.timeoutOf(m, o); limit > 0 {
		if g.bound == nil {
			g.bound = &bounded{}
		}
		if g.bound.begin(ctx, m.Name, limit, o.began) {
			ctx, o.within = g.bound, g.bound
		}
	}
	err := c.inside(ctx, m, request, response, o, g)
	over = true
	g.unbind()
	*g = governedCall{bound: g.bound}
	governedCalls.Put(g)
	return err
}

// inside makes a call behind the interceptors; under a policy file it is g.
func (c *route) inside(ctx context.Context, m *Method, request, response any, o *callOptions, g *governedCall) error {
	switch {
	case o.rules != nil:
		return c.underPolicy(ctx, m, request, response, o, g)
	case o.prioritised:
		o = o.carriesPriority(ctx)
	}
	return c.unary(ctx, m, request, response, o)
}

// intercepted makes a call through the interceptors.
func (c *route) intercepted(ctx context.Context, m *Method, request, response any, o *callOptions) error {
	call := &Call{Method: *m, Metadata: outgoing(ctx), Request: request, Response: response}
	var tried attempts
	before := call.Metadata
	err := call.run(ctx, c.interceptors, func(ctx context.Context, call *Call) error {
		tried.begin()
		var reply Reply
		within := *o
		within.reply, within.intercepted, within.metadata = &reply, true, withAdded(call.Metadata, before, ctx)
		err := c.inside(ctx, m, call.Request, call.Response, &within, &governedCall{})
		tried.end(err)
		call.Header, call.Trailer, call.Peer = reply.Header, reply.Trailer, reply.Peer
		return err
	})
	if o.reply != nil {
		*o.reply = Reply{call.Header, call.Trailer, call.Peer}
	}
	err = tried.after(err)
	call.ended(StatusOf(err))
	return err
}

// attempts is what became of a call each time that its interceptors went on.
type attempts struct {
	mu       sync.Mutex
	began    int
	ended    int
	delivery Delivery // that promises least, of those that ended; unknown while none has
}

func (a *attempts) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.began++
}

func (a *attempts) end(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delivery := Executed
	if err != nil {
		delivery = StatusOf(err).Delivery
	}
	if a.ended++; a.ended > 1 {
		delivery = leastPromise(a.delivery, delivery)
	}
	a.delivery = delivery
}

// after is the error that interceptors of the caller's side end a call with. Delivery follows from what the
// attempts came to, whatever the interceptors say (client.md 5). While they did not go on, nothing was sent.
func (a *attempts) after(err error) error {
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.began == 0 {
		return notSent(err)
	}
	s, ours := statusWithin(err)
	if !ours {
		return local(err, DeliveryUnknown)
	}
	s.Delivery = a.delivery
	if a.began > a.ended {
		s.Delivery = leastPromise(a.delivery, DeliveryUnknown)
	}
	return s.Err()
}

// leastPromise is that one of two deliveries which promises less (client.md 5).
func leastPromise(a, b Delivery) Delivery {
	promise := [...]int{NotSent: 3, Refused: 2, DeliveryUnknown: 1, Executed: 0}
	if promise[b&3] < promise[a&3] {
		return b
	}
	return a
}
