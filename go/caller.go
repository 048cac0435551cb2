package trunkcall

import (
	"context"
	"sync/atomic"
)

// Caller is what methods are called through: a Client, which takes whichever of
// its connections is there, or a Connection, which is one. It is safe for
// concurrent use. Only this package can implement it.
type Caller interface {
	// Invoke calls a unary method by its name and fills in response. The error
	// is a StatusError.
	Invoke(ctx context.Context, method string, request, response any, options ...CallOption) error
	// NewStream opens a call of a streaming method by its name. The call must be
	// received to its end, or ctx cancelled.
	NewStream(ctx context.Context, method string, kind Kind, options ...CallOption) (Stream, error)
	// Send calls a one-way method by its name. It returns when the other side has
	// accepted the call; the error is a StatusError.
	Send(ctx context.Context, method string, request any, options ...CallOption) error
	// InvokeFunc is Invoke that does not wait: done is called once, on another
	// goroutine, when response is filled in or the call has failed.
	InvokeFunc(ctx context.Context, method string, request, response any, done func(error), options ...CallOption)
	// Target is what the calls go to: that of a client, or the address of a
	// connection's other end.
	Target() string
	// Secure reports whether the calls go through TLS.
	Secure() bool

	invoke(ctx context.Context, t *target, request, response any, o *callOptions) error
	open(ctx context.Context, t *target, o *callOptions) (Stream, *ClientStreamCall, error)
	launch(ctx context.Context, t *target, request, response any, o *callOptions, out sink)
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

// Invoke calls a unary method by its name and fills in response. Typed methods
// (Unary) do the same. The error is a StatusError.
func (c *route) Invoke(ctx context.Context, method string, request, response any, options ...CallOption) error {
	return c.invoke(ctx, unaryTarget(method), request, response, gather(options))
}

func (c *route) invoke(ctx context.Context, t *target, request, response any, o *callOptions) error {
	if len(c.interceptors) == 0 {
		return c.unary(ctx, t, request, response, outgoing(ctx), o)
	}
	call := &Call{Method: t.Method, Metadata: outgoing(ctx), Request: request, Response: response}
	var wentOn atomic.Bool
	before := call.Metadata
	err := chain(c.interceptors, func(ctx context.Context, call *Call) error {
		wentOn.Store(true)
		within := *o
		within.header, within.trailer, within.peer = &call.Header, &call.Trailer, &call.Peer
		return c.unary(ctx, t, call.Request, call.Response, withAdded(call.Metadata, before, ctx), &within)
	})(ctx, call)
	o.store(call.Header, call.Trailer, call.Peer)
	return intercepted(err, wentOn.Load())
}

// intercepted is the error that interceptors of the caller's side end a call with.
// While they did not go on, nothing of the call was sent, whatever they say.
func intercepted(err error, wentOn bool) error {
	switch _, ours := statusWithin(err); {
	case err == nil:
		return nil
	case !wentOn:
		return notSent(err)
	case !ours:
		return local(err, DeliveryUnknown)
	}
	return StatusOf(err).Err()
}

// NewStream opens a call of a streaming method by its name. Typed methods
// (ServerStream, ClientStream, Bidi) do the same. The call must be received to
// its end, or ctx cancelled.
func (c *route) NewStream(ctx context.Context, method string, kind Kind, options ...CallOption) (Stream, error) {
	s, _, err := c.open(ctx, newTarget(method, kind), gather(options))
	return s, err
}
