package trunkcall

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// open opens a call. It returns the stream that the interceptors have left, which may be wrapped,
// and the stream below it; the latter is nil if they did not go on.
func (c *route) open(ctx context.Context, t *Method, o *callOptions) (Stream, *clientStream, error) {
	if len(c.interceptors) == 0 {
		s, err := c.openStream(ctx, outgoing(ctx), t, o, time.Time{})
		if err != nil {
			return nil, nil, err
		}
		return s, s, nil
	}
	call := &Call{Method: *t, Metadata: outgoing(ctx)}
	var tried attempts
	var end atomic.Pointer[clientStream]
	before, began := call.Metadata, time.Now()
	err := call.run(ctx, c.interceptors, func(ctx context.Context, call *Call) error {
		tried.begin()
		s, err := c.openStream(ctx, withAdded(call.Metadata, before, ctx), t, o, began)
		if err != nil {
			tried.end(err)
			return err
		}
		end.Store(s)
		call.Stream, call.Peer = s, peerOf(s.call.Conn())
		return nil
	})
	if err == nil && call.Stream == nil {
		err = local(Errorf(Internal, "an interceptor left no stream of the call of %s", t.Name), DeliveryUnknown)
	}
	if err != nil {
		if s := end.Load(); s != nil {
			_ = s.Close() // nobody else has it
		}
		err = tried.after(err)
		call.ended(StatusOf(err))
		return nil, nil, err
	}
	return call.watched(ctx), end.Load(), nil
}

// clientStream is the StreamCall of a Client or Connection.
type clientStream struct {
	ctx     context.Context
	calling *calling
	method  string
	call    *transport.Call
	codec   Codec
	order   []Compression // of what is sent
	limit   *callOptions
	stop    func() bool

	told     bool         // how the call ended
	late     error        // how it did, if its context ended before that was received
	closed   atomic.Bool  // by Close
	sizeHint atomic.Int64 // of the next message to send: the last one's
}

// openStream begins an attempt of a call that began then, which was now if the time is zero.
func (c *route) openStream(ctx context.Context, m Metadata, t *Method, o *callOptions, began time.Time) (*clientStream, error) {
	if o = c.underRules(t, o); o.rules == nil && o.prioritised {
		m = withPriority(m, o.priority.core())
	} else if o.rules != nil {
		own := *o
		own.metadata, own.intercepted = m, true // governStream adds to it
		o = &own
	}
	codec, err := c.options.codecOf(o)
	if err != nil {
		return nil, err
	}
	s := &clientStream{
		ctx: ctx, calling: c.calling, method: t.Name, call: transport.NewCall(false),
		codec: codec, order: c.options.order(o), limit: o,
	}
	if t.Kind == KindClientStream {
		s.call.ExpectOne()
	}
	ctx, cancel := c.within(ctx, t, o, began)
	s.ctx = ctx
	opening := opening{
		route: c, ctx: ctx, call: s.call, method: t, options: o, number: c.next.Add(1), asked: c.now(),
		out: wire.Outgoing{Method: t.wire(), Codec: s.codec.Number(), Metadata: m},
	}
	if o.rules != nil {
		err = c.governStream(&opening)
	} else {
		c.repeats.made(elapsed(), 1)
	}
	if err == nil {
		var wait bool
		if wait, err = opening.try(); wait {
			err = opening.wait()
		}
		if err != nil && opening.passage != nil {
			opening.passage.unmade(err)
		}
	}
	if err != nil {
		if cancel != nil {
			cancel()
		}
		return nil, err
	}
	if ctx.Done() != nil {
		s.stop = watch(ctx, s.call, t.Name, cancel)
	}
	if opening.watching != nil {
		opening.watching.dropped(s, cancel)
	}
	return s, nil
}

// watch has a call end when its context does, until it is stopped; cancel is that of a
// timeout, nil without. It knows nothing of the stream, so that one which its user drops
// can be told of (attempt.go).
func watch(ctx context.Context, call *transport.Call, method string, cancel func()) (stop func() bool) {
	unwatch := context.AfterFunc(ctx, func() {
		reason, ending := giveUp(ctx, method)
		call.GiveUp(reason, ending)
	})
	if cancel == nil {
		return unwatch
	}
	return func() bool {
		defer cancel()
		return unwatch()
	}
}

// Send sends a message; see Stream. A message that cannot be sent at all, for
// its size or because it does not encode, ends the call.
func (s *clientStream) Send(message any) error {
	if s.ctx.Err() != nil {
		s.giveUp()
		return io.EOF
	}
	buffer := transport.GetBuffer(int(s.sizeHint.Load()))
	var err error
	if buffer.B, err = s.codec.Append(buffer.B, message); err != nil {
		return s.abandon(uncarried(Internal, "request", s.codec, err), wire.CancelGivenUp)
	}
	if len(buffer.B) > wire.MinPiece {
		if limits := s.call.Conn().PeerLimits(); uint64(len(buffer.B)) > uint64(limits.Message) {
			tooLong := Errorf(ResourceExhausted, "message of %d bytes exceeds the peer's max_message %d%s", len(buffer.B), limits.Message, raiseIt)
			return s.abandon(tooLong, wire.CancelGivenUp)
		}
	}
	s.sizeHint.Store(int64(len(buffer.B)))
	compression := uint8(0)
	if len(s.order) > 0 {
		buffer, compression = s.packBuffer(buffer)
	}
	switch err := s.call.Send(buffer, compression, false); {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrSendClosed):
		return s.abandon(Errorf(Internal, "%v", err), wire.CancelGivenUp)
	case transport.Misused(err):
		return local(Errorf(Internal, "%v", err), DeliveryUnknown)
	default:
		return io.EOF
	}
}

// CloseSend says that no more messages will be sent.
func (s *clientStream) CloseSend() error {
	if s.ctx.Err() != nil {
		s.giveUp()
	}
	s.call.CloseSend()
	return nil
}

// Receive receives the next message; see Stream.
func (s *clientStream) Receive(message any) error {
	switch {
	case s.late != nil:
		return s.late
	case s.ctx.Err() != nil && !s.told:
		s.late = s.cancelled()
		return s.late
	case s.closed.Load():
		return s.finished()
	}
	m, err := s.call.Receive()
	switch {
	case transport.Misused(err):
		return local(Errorf(Internal, "%v", err), DeliveryUnknown)
	case err != nil:
		return s.finished()
	}
	defer m.Free()
	if err := s.calling.options.decodeResponse(s.codec, m.Compression, m.Payload, message, s.limit); err != nil {
		return s.Abandon(err)
	}
	return nil
}

// giveUp ends the call because its context has ended.
func (s *clientStream) giveUp() {
	reason, ending := giveUp(s.ctx, s.method)
	s.call.GiveUp(reason, ending)
}

// cancelled is the error of a call whose context ended before the call's end was received. Messages
// that have arrived meanwhile are not handed out.
func (s *clientStream) cancelled() error {
	s.giveUp()
	if err := s.finished(); !errors.Is(err, io.EOF) {
		return err
	}
	_, ending := giveUp(s.ctx, s.method)
	ending.Delivery = Executed
	return s.calling.failure(s.ctx, s.call, ending)
}

// Close ends the call, with CANCEL, if it has not ended; Receive then says CANCELED.
// It may be called at any time and from any goroutine, and always returns nil. Whoever
// does not receive a call to its end closes it, or ends its context.
func (s *clientStream) Close() error {
	s.closed.Store(true)
	if s.stop != nil {
		s.stop()
	}
	s.call.GiveUp(wire.CancelGivenUp, &wire.Ending{Code: Canceled, Message: "the caller closed the stream", Local: true})
	return nil
}

// Abandon ends the call, with CANCEL, because its answer cannot be used. It returns the
// error, with its delivery unknown, and does nothing to a call that is over.
func (s *clientStream) Abandon(err error) error { return s.abandon(err, wire.CancelUnusable) }

func (s *clientStream) abandon(err error, reason uint32) error {
	err = local(err, DeliveryUnknown)
	if s.stop != nil {
		s.stop()
	}
	told := StatusOf(err)
	s.call.GiveUp(reason, &wire.Ending{Code: told.Code, Message: told.Message, Local: true})
	return err
}

// finished is io.EOF when the call succeeded, else its StatusError.
func (s *clientStream) finished() error {
	if s.stop != nil {
		s.stop()
	}
	s.told = true
	e := s.call.Result()
	if e.Code == OK {
		return io.EOF
	}
	return s.calling.failure(s.ctx, s.call, e)
}

// Header waits for the metadata that comes ahead of the answer.
func (s *clientStream) Header() Metadata { return s.call.AwaitHeader() }

// Trailer is the metadata that came with the end of the call, once Receive has
// returned that end.
func (s *clientStream) Trailer() Metadata { return s.call.Result().Metadata }

// Peer is the server's end.
func (s *clientStream) Peer() Peer { return peerOf(s.call.Conn()) }
