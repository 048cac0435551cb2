package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// userExchange is the Exchange of a protocol of the user's as handlers have it.
type userExchange struct {
	call  *AcceptedCall
	user  Exchange
	limit int

	first  *transport.Buffer // of a call whose handler takes one request
	packed bool
	taken  bool

	receiving, sending sync.Mutex // held while the protocol is called
	over               bool       // with both
	share              wire.Share // of what the server holds for its peers: the message received last; with receiving
}

func newUserExchange(a *AcceptedCall, user Exchange) *userExchange {
	s := a.calls.server
	e := &userExchange{call: a, user: user, limit: int(s.options.local.Message)}
	e.share.Budget = s.config.Budget
	e.share.Shed = func() {
		go a.end(Status{Code: ResourceExhausted, Message: e.share.Budget.Full(), RetryAfter: roomRetry}.Err()) // and leave follows
	}
	return e
}

// roomFor charges so many bytes, in place of those before.
func (e *userExchange) roomFor(bytes int) error {
	e.share.GiveBack(int64(bytes))
	if !e.share.Affords(int64(bytes)) {
		return &web.Fault{Code: ResourceExhausted, Text: e.share.Budget.Full(), RetryAfter: wire.RoomRetry}
	}
	return nil
}

var errRequestCut = &web.Fault{Code: InvalidArgument, Text: "the request is cut off"}

// contained makes a panic of the protocol's the end of its call.
func (e *userExchange) contained(err *error) {
	if p := recover(); p != nil {
		e.call.served.serving.options.journal.panicked("a protocol panicked", p, "protocol", e.call.calls.name)
		*err = &web.Fault{Code: Internal, Text: "the protocol " + e.call.calls.name + " failed"}
	}
}

// next has the protocol receive a message. So many bytes of the one before are still held beside it.
func (e *userExchange) next(kept int) (message *transport.Buffer, compressed bool, err error) {
	e.receiving.Lock()
	defer e.receiving.Unlock()
	if e.over {
		return nil, false, web.ErrOver
	}
	defer e.contained(&err)
	m, compressed, err := e.user.Receive(e.call.ctx)
	switch s, ours := statusWithin(err); {
	case errors.Is(err, io.EOF):
		return nil, false, io.EOF
	case e.call.ctx.Err() != nil:
		return nil, false, web.ErrOver
	case err != nil && ours:
		return nil, false, &web.Fault{Code: s.Code, Text: s.Message}
	case err != nil:
		return nil, false, errRequestCut
	case len(m) > e.limit:
		return nil, false, &web.Fault{Code: ResourceExhausted, Text: fmt.Sprintf("message of %d bytes exceeds max_message %d", len(m), e.limit)}
	case compressed && e.call.call.Compression == 0:
		return nil, false, &web.Fault{Code: Internal, Text: "a message is compressed, and the call does not say how"}
	}
	if err := e.roomFor(kept + len(m)); err != nil {
		return nil, false, err
	}
	message = transport.GetBuffer(len(m))
	message.B = append(message.B, m...)
	return message, compressed, nil
}

// readFirst receives the request of a handler that takes one, or says why the handler does not begin.
func (e *userExchange) readFirst() *wire.Refusal {
	if !e.call.served.Whole() {
		return nil
	}
	m, packed, err := e.next(0)
	if errors.Is(err, io.EOF) {
		err = &web.Fault{Code: Unimplemented, Text: "the method takes one request, and none was sent"}
	}
	if err == nil {
		e.first, e.packed = m, packed
		var more *transport.Buffer
		if more, _, err = e.next(len(m.B)); errors.Is(err, io.EOF) {
			return nil
		}
		e.free()
		if err == nil {
			more.Free()
			err = &web.Fault{Code: Unimplemented, Text: "the method takes one request, and more were sent"}
		}
	}
	if e.call.ctx.Err() != nil {
		return e.call.why()
	}
	var fault *web.Fault
	errors.As(err, &fault)
	return fault.Refusal()
}

func (e *userExchange) free() {
	if e.first != nil {
		e.first.Free()
		e.first = nil
	}
}

// leave waits until the protocol is not called any more, and sees to it that it stays so.
func (e *userExchange) leave() {
	e.call.cancel(nil)
	e.receiving.Lock()
	defer e.receiving.Unlock()
	e.sending.Lock()
	defer e.sending.Unlock()
	e.over = true
	e.share.GiveBack(0)
	e.share.Relieved()
}

// Receive implements web.Exchange.
func (e *userExchange) Receive() (message *transport.Buffer, compressed bool, err error) {
	if !e.call.served.Whole() {
		return e.next(0)
	}
	if e.taken {
		return nil, false, io.EOF
	}
	m := e.first
	e.first, e.taken = nil, true
	return m, e.packed, nil
}

// send calls the protocol, unless the call is over.
func (e *userExchange) send(do func(ctx context.Context) error) (err error) {
	e.sending.Lock()
	defer e.sending.Unlock()
	if e.over {
		return web.ErrOver
	}
	defer e.contained(&err)
	if do(e.call.ctx) != nil {
		return web.ErrOver
	}
	return nil
}

// SendHeader implements web.Exchange.
func (e *userExchange) SendHeader(m wire.Metadata) error {
	if len(m) == 0 {
		return nil
	}
	return e.send(func(ctx context.Context) error { return e.user.SendHeader(ctx, m) })
}

// Send implements web.Exchange.
func (e *userExchange) Send(message *transport.Buffer, compressed bool) error {
	defer message.Free()
	return e.send(func(ctx context.Context) error { return e.user.Send(ctx, message.B[web.Headroom:], compressed) })
}

// finish sends what the handler has left for the end, and says how the call ended.
func (e *userExchange) finish(a *web.Answer) (trailer Metadata, err error) {
	end := &a.Ending
	if end.Delivery == Refused && end.Code != OK {
		return append(a.Header, end.Metadata...), refused(&wire.Refusal{Code: end.Code, Message: end.Message, Details: end.Details, RetryAfter: end.RetryAfter})
	}
	if err = e.SendHeader(a.Header); err == nil && end.HasMessage && e.call.Method().Kind == KindUnary {
		err = e.send(func(ctx context.Context) error {
			return e.user.Send(ctx, a.Scratch[web.Headroom:], end.Compression != 0)
		})
	}
	if err != nil {
		return nil, Status{Code: Canceled, Message: "the answer cannot be sent"}.Err()
	}
	return end.Metadata, Status{Code: end.Code, Message: end.Message, Details: end.Details, Delivery: end.Delivery}.Err()
}
