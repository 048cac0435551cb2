package conformance

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/trunkcall/trunkcall/go"
)

// call is a call to be made, by whichever side.
type call struct {
	through  trunkcall.Caller
	name     string
	kind     trunkcall.Kind
	requests []any
	options  []trunkcall.CallOption
	// held, if not nil, is closed when the requests behind the first may be sent.
	held <-chan struct{}
	// answered is called when the first answer has come, if it is not nil.
	answered func()
}

// result is how a call ended: an error has been made a status.
type result struct {
	answers         []*answer
	header, trailer trunkcall.Metadata
	status          trunkcall.Status
	results         []byte    // JSON: of a code-first call
	observed        *observed // what became of its handler, if that was asked
	broken          error     // why it could not be made, or observed
}

// make makes the call and waits for its end.
func (c *call) make(ctx context.Context) *result {
	r := &result{}
	var err error
	switch c.kind {
	case trunkcall.KindUnary:
		err = c.unary(ctx, r)
	case trunkcall.KindOneWay:
		err = c.do(ctx, r, c.first(), nil, c.options...)
	default:
		err = c.stream(ctx, r)
	}
	r.status = trunkcall.StatusOf(err)
	return r
}

// first is the request of a method that takes one.
func (c *call) first() any {
	if len(c.requests) == 0 {
		return &request{}
	}
	return c.requests[0]
}

// do makes a call that is no stream, whose metadata goes to r.
func (c *call) do(ctx context.Context, r *result, request, response any, options ...trunkcall.CallOption) error {
	reply, err := trunkcall.Do(ctx, c.through, trunkcall.NewMethod(c.name, c.kind), request, response, options...)
	r.header, r.trailer = reply.Header, reply.Trailer
	return err
}

func (c *call) unary(ctx context.Context, r *result) error {
	var got answer
	err := c.do(ctx, r, c.first(), &got, c.options...)
	if err == nil {
		c.take(r, &got)
	}
	return err
}

func (c *call) take(r *result, got *answer) {
	r.answers = append(r.answers, got)
	if len(r.answers) == 1 && c.answered != nil {
		c.answered()
	}
}

// stream makes a call that is not unary. It sends and receives at once, and to the
// end of both. What ends the call while it is sent is what counts: a request that
// could not be sent is known to the sending side alone.
func (c *call) stream(ctx context.Context, r *result) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := trunkcall.OpenStream(ctx, c.through, trunkcall.NewMethod(c.name, c.kind), c.options...)
	if err != nil {
		return err
	}
	var sending sync.WaitGroup
	var unsent error
	sending.Go(func() { unsent = c.sendAll(ctx, s) })
	err = c.receiveAll(s, r)
	cancel()
	sending.Wait()
	if unsent != nil {
		err = unsent
	}
	r.header, r.trailer = s.Header(), s.Trailer()
	return err
}

// sendAll sends the requests. The end of the call meanwhile is for receiving to
// tell.
func (c *call) sendAll(ctx context.Context, s trunkcall.Stream) error {
	for n, in := range c.requests {
		if n == 1 && c.held != nil {
			select {
			case <-c.held:
			case <-ctx.Done():
				return nil
			}
		}
		if err := s.Send(in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return s.CloseSend()
}

func (c *call) receiveAll(s trunkcall.Stream, r *result) error {
	for {
		got := &answer{}
		if err := s.Receive(got); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		c.take(r, got)
	}
}
