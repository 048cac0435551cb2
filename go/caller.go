package trunkcall

import "context"

// Caller is what methods are called through: a Client, which takes whichever of
// its connections is there, or a Connection, which is one. It is safe for
// concurrent use. Only this package can implement it.
type Caller interface {
	// Invoke calls a unary method by its name and fills in response. The error
	// is a *Status.
	Invoke(ctx context.Context, method string, request, response any, options ...CallOption) error
	// NewStream opens a call of a streaming method by its name. The call must be
	// received to its end, or ctx cancelled.
	NewStream(ctx context.Context, method string, kind Kind, options ...CallOption) (Stream, error)

	invoke(ctx context.Context, t *target, request, response any, o *callOptions) error
	open(ctx context.Context, t *target, o *callOptions) (Stream, error)
}

var _ Caller = (*Client)(nil)
