package trunkcall

import (
	"context"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Arrival is a call that has come to a server, before anything is done for it.
type Arrival struct {
	Method Method
	// Metadata is the request's; it must not be changed.
	Metadata Metadata
	Peer     Peer
	// Protocol is "trunk", "grpc", "grpc-web", "connect", or the name of a user's Protocol.
	Protocol string
	// Authority is the host, and perhaps port, of an HTTP caller's request.
	Authority string
	// Deadline is when the call ends, zero if it has none.
	Deadline time.Time
}

// Admission is what the admission says of a call that it lets in.
type Admission struct {
	// Principal is who calls, for handlers and interceptors: ServerCall.Principal,
	// PrincipalFromContext.
	Principal any
	// Release, if set, is called once when the call is over at the server: its handler has
	// returned, or will not run. It must not wait.
	Release func()

	place *limitedPlace // by limits of a policy file, else nil
}

// WithAdmission makes a server ask admit about each call, of every protocol: before messages are
// decompressed or decoded, before messages of a stream are awaited, and before a one-way call is
// accepted. It is the place to identify callers and to limit rates and numbers of calls. If admit
// returns an error, the call is refused: the caller gets the error's Status, with its RetryAfter,
// and knows that the handler did not run. An error that is no status becomes UNKNOWN with an id, as
// a handler's does. Calls of unknown methods, and those beyond the server's own limits, are refused
// without asking admit.
//
// Many goroutines call admit at once, each of them the one that then runs the call's handler, with
// the handler's context. So admit may wait: verify a signature, or ask another service. Meanwhile
// the call counts as a running handler. For a method whose handler runs inline (Handler.Inline)
// admit must not wait either.
func WithAdmission(admit func(ctx context.Context, call *Arrival) (Admission, error)) ServerOption {
	return serverOption(func(s *serverOptions) {
		switch {
		case admit == nil:
			s.wrong("the function of WithAdmission is nil")
		case s.admit != nil:
			s.wrong("WithAdmission is given twice")
		}
		s.admit = admit
	})
}

// Principal is who calls, as the server's admission has found out; nil without (WithAdmission).
func (c *ServerCall) Principal() any {
	if c.admission == nil {
		return nil
	}
	return c.admission.Principal
}

// PrincipalFromContext is ServerCall.Principal, by the context of a handler or of an interceptor
// at the server. It is nil for any other.
func PrincipalFromContext(ctx context.Context) any {
	if c := CallFromContext(ctx); c != nil {
		return c.Principal()
	}
	return nil
}

// leave gives back the place of a handler (serving.admit), and releases what the admission has given.
func (c *ServerCall) leave() {
	c.serving.running.Add(-1)
	a := c.admission
	if a == nil {
		return
	}
	released := a.Release == nil
	if a.place != nil {
		a.place.leave()
	}
	if !released {
		c.release()
	}
}

func (c *ServerCall) release() {
	defer func() {
		if p := recover(); p != nil {
			c.serving.options.journal.panicked("admission panicked", p, "method", c.handler.Method.Name)
		}
	}()
	c.admission.Release()
}

// serve asks the admission, if there is one, and runs the handler.
func (c *ServerCall) serve() (response any, err error) {
	if c.serving.admission != nil || c.serving.callLimits != nil {
		if err := c.ask(); err != nil {
			return nil, err
		}
	}
	if c.handler.Unary != nil {
		response, err = c.handler.Unary(&c.context, c)
	} else {
		err = c.serveStream()
	}
	if c.admission != nil && c.admission.place != nil {
		c.admission.place.ended(c, err)
	}
	return response, err
}

// ask has a call pass the limits of a policy file, and asks the admission about it. The error is the Status of one that is refused.
func (c *ServerCall) ask() error {
	c.progress.Store(uint32(notEntered))
	place, err := c.limit()
	if err != nil {
		c.turnedAway(err)
		return err
	}
	if c.serving.admission != nil {
		if err := c.askAdmission(place); err != nil {
			return err
		}
	} else if place != nil {
		c.admission = &place.admission
	}
	c.progress.Store(uint32(direct))
	return nil
}

// turnedAway tells of a call by HTTP that was refused. Of native calls the session tells.
func (c *ServerCall) turnedAway(err error) {
	if s := StatusOf(err); c.http != nil {
		c.serving.unserved(c.Peer().Remote, c.handler.Method.Name, true, s.Code, s.Message)
	}
}

// askAdmission asks the user's admission about a call that has a place by limits, nil: none.
func (c *ServerCall) askAdmission(place *limitedPlace) (err error) {
	returned := false
	defer func() {
		if p := recover(); !returned { // p is nil when it ended its goroutine
			id := newErrorID()
			c.serving.options.journal.panicked("admission panicked", p, "method", c.handler.Method.Name, "id", id)
			err = Status{Code: Internal, Message: c.serving.untold("admission panicked", id)}.Err()
		}
		if err != nil {
			if place != nil {
				place.refused()
			}
			c.turnedAway(err)
		}
	}()
	admission, err := c.serving.admission(&c.context, c.arrival())
	returned = true
	if err == nil {
		admission.place = place
		c.admission = &admission
		return nil
	}
	if _, ours := statusWithin(err); !ours {
		id := newErrorID()
		c.serving.options.journal.failed("admission failed", "method", c.handler.Method.Name, "id", id, "error", err)
		return Status{Code: codeOf(err), Message: c.serving.untold("admission failed", id)}.Err()
	}
	return err
}

func (c *ServerCall) arrival() *Arrival {
	a := &Arrival{Method: c.handler.Method, Metadata: c.Metadata, Protocol: transport.ALPN, Authority: c.Authority(), Peer: c.Peer()}
	if c.http != nil {
		a.Protocol = c.http.call.Protocol
	}
	if c.context.deadline != 0 {
		a.Deadline = roles.TimeOf(c.context.deadline)
	}
	return a
}
