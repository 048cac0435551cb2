package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// How a call ends at the server: what the caller is told of the handler's error, and of whether the
// handler ran.

// progress says how far a call has come between the interceptors and the handler.
type progress uint32

const (
	direct     progress = iota // there are no interceptors: the handler is what runs
	notEntered                 // the handler has not begun
	entered                    // it runs
	returned                   // it is done
)

// left notes that the handler is done, or has panicked. One that says that it did not
// begin keeps its word.
func (c *ServerCall) left() { c.progress.CompareAndSwap(uint32(entered), uint32(returned)) }

// unbegunError is what the handler of a stream returns that has found nothing to begin
// with.
type unbegunError struct{ error }

func (e *unbegunError) Unwrap() error { return e.error }

// runStream runs the handler of a stream.
func (c *ServerCall) runStream(ctx context.Context, stream Stream) error {
	err := c.handler.Stream(ctx, stream)
	if err == nil {
		return nil
	}
	var e *unbegunError
	if errors.As(err, &e) {
		c.progress.Store(uint32(notEntered))
		return e.error
	}
	return err
}

// undecoded notes why a request could not be decoded ahead of the handler.
func (c *ServerCall) undecoded(err error) error {
	c.fault, _ = err.(*statusError) //nolint:errorlint // it is to be that very one
	return err
}

// delivery is what is known of a call that ends with err.
func (c *ServerCall) delivery(err error) Delivery {
	switch progress(c.progress.Load()) {
	case notEntered:
		return Refused
	case entered:
		return DeliveryUnknown // an interceptor did not wait for it
	}
	if c.fault != nil && errors.Is(err, c.fault) {
		return Refused
	}
	return Executed
}

// failed says that err is how the call ended.
func (c *ServerCall) failed(e *wire.Ending, err error) {
	s, ours := statusWithin(err)
	switch {
	case !ours:
		s = c.foreign(err)
	case errors.Is(err, errNoResponse):
		s.Message = fmt.Sprintf("the handler of %s returned neither a response nor an error", c.handler.Method.Name)
		c.unsent(errNoResponse)
	}
	e.Code, e.Message, e.Details = s.Code, s.Message, s.Details
	if e.Delivery = c.delivery(err); e.Delivery == Refused {
		e.RetryAfter = retryMilliseconds(s.RetryAfter)
	}
}

// retryMilliseconds is a time to come back as it goes over the wire; 0: none.
func retryMilliseconds(after time.Duration) uint32 {
	if after <= 0 {
		return 0
	}
	return uint32(min((after-1)/time.Millisecond+1, 1<<32-1))
}

// foreign is what a caller is told of an error that is no Status. The error's text goes to the log
// only, since it may hold secrets. A timeout of the handler's own, while the call had time, is logged too.
func (c *ServerCall) foreign(err error) Status {
	if c.isOver() {
		switch err { //nolint:errorlint // what wraps them says more
		case context.DeadlineExceeded:
			return Status{Code: DeadlineExceeded, Message: "the handler ran out of time"}
		case context.Canceled:
			return Status{Code: Canceled, Message: "the handler was cancelled"}
		}
	}
	id := newErrorID()
	c.serving.options.journal.failed("handler failed", "method", c.handler.Method.Name, "id", id, "error", err)
	return Status{Code: codeOf(err), Message: c.untold("failed", id)}
}

// isOver reports whether the call has ended without its handler, or its deadline has passed.
func (c *ServerCall) isOver() bool {
	deadline, ok := c.context.Deadline()
	return c.context.Err() != nil || ok && !time.Now().Before(deadline)
}

// untold tells a caller that the log has more about a handler's end.
func (c *ServerCall) untold(how, id string) string { return c.serving.untold("handler "+how, id) }

func (s *serving) untold(what, id string) string {
	return "the " + what + " (error " + id + " in the log of the " + s.side + ")"
}

// newErrorID returns what a message and the log have in common.
func newErrorID() string { return fmt.Sprintf("%016x", rand.Uint64()) } //nolint:gosec // a name, not a secret

// acceptOneWay tells the caller of a one-way call that the handler is about to run. It
// fails if the call was ended before.
func (c *ServerCall) acceptOneWay() error {
	if c.http != nil || !c.stream.OneWay() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.accepted && !c.stream.AcceptOneWay() {
		return c.stopped()
	}
	c.accepted = true
	return nil
}

// wasAccepted reports whether the caller of a one-way call was told so.
func (c *ServerCall) wasAccepted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.accepted
}
