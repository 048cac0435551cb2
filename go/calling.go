package trunkcall

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/transport"
	"github.com/trunkcall/trunkcall/go/wire"
)

// calling is what the calls of one Client or Server have in common, those that
// it makes.
type calling struct {
	options      *common
	interceptors []Interceptor
	pool         *transport.Pool
	lines        []*line // a client's; a server has none
	next         atomic.Uint32
	waiting      atomic.Int64
	calls        sync.Pool       // of *unaryCall
	asyncs       sync.Pool       // of *asyncCall
	done         context.Context // ends with the client
}

func newCalling(done context.Context, options *common, interceptors []Interceptor, pool *transport.Pool) *calling {
	c := &calling{options: options, interceptors: interceptors, pool: pool, done: done}
	c.calls.New = func() any { return &unaryCall{Call: transport.NewCall(true), line: c.next.Add(1)} }
	return c
}

// unaryCall is what one unary call needs, used again by the next. It stays with
// one connection for a while: callers whose answers come in one read then make
// their next calls on the same connection, where they leave in one write.
type unaryCall struct {
	*transport.Call
	line uint32
	uses uint32
}

// stay is how many calls are made before another connection is looked at, which
// is taken if it carries less, so that the load stays even.
const stay = 256

// unary makes one unary call. A call that provably was not run is repeated
// once, over another connection if there is one.
func (c *route) unary(ctx context.Context, t *target, request, response any, m Metadata, o *callOptions) *Status {
	call := c.calls.Get().(*unaryCall) //nolint:forcetypeassert // the pool holds nothing else
	if call.uses++; call.uses%stay == 0 && c.via == nil {
		call.line = c.lighter(call.line)
	}
	s, again := c.attempt(ctx, call, t, request, response, m, o, nil)
	if again {
		if c.pauseBefore(ctx, &call.Ending) {
			call.Reset()
			call.line++ // elsewhere, if there is more than one connection
			s, _ = c.attempt(ctx, call, t, request, response, m, o, &wire.Own{Has: wire.OwnAttempt, Attempt: 2})
		}
	}
	call.Reset()
	c.calls.Put(call)
	return s
}

func (c *route) attempt(
	ctx context.Context, call *unaryCall, t *target, request, response any, m Metadata, o *callOptions, own *wire.Own,
) (s *Status, again bool) {
	codec, s := c.encode(call.Call, t, request, o)
	if s != nil {
		return s, false
	}
	out := outgoingOf(t, codec, m, own, call.Buf)
	if s := c.start(ctx, call.Call, call.line, &out, o); s != nil {
		return s, false
	}
	if !call.Wait(ctx) {
		reason, ending := giveUp(ctx)
		call.GiveUp(reason, ending)
	}
	return c.conclude(ctx, call.Call, t, codec, response, o)
}

// encode puts the request into the call's buffer.
func (c *route) encode(call *transport.Call, t *target, request any, o *callOptions) (Codec, *Status) {
	codec, s := c.options.codecOf(o)
	if s != nil {
		return nil, s
	}
	buf, err := codec.Append(call.Buf[:0], request)
	if err != nil {
		if _, tuple := request.(*Arguments); tuple && !carriesValues(codec) {
			return nil, notSent(cannotCarry(codec, t.Name))
		}
		return nil, notSent(uncarried(Internal, "request", codec, err))
	}
	call.Buf = buf
	return codec, nil
}

func outgoingOf(t *target, codec Codec, m Metadata, own *wire.Own, payload []byte) wire.Outgoing {
	return wire.Outgoing{
		Method: t.wire, Codec: codec.Number(), Metadata: m, Own: own,
		Payload: payload, HasMessage: true, End: true, OneWay: t.Kind == KindOneWay,
	}
}

// conclude fills in the response of a call that has ended, or says how it failed
// and whether it is to be made again.
func (c *route) conclude(
	ctx context.Context, call *transport.Call, t *target, codec Codec, response any, o *callOptions,
) (s *Status, again bool) {
	e := &call.Ending
	if o != &noOptions {
		o.store(call.Header, e.Metadata, peerOf(call.Conn()))
	}
	if e.Code != OK {
		s = statusOfEnding(e)
		s.cause = c.causeOf(ctx, s)
		return s, e.Delivery == NotSent || e.Delivery == Refused && e.RetryAfter > 0
	}
	if t.Kind == KindOneWay {
		return nil, false
	}
	if t.makes && len(c.interceptors) == 0 { // they may have put something else in its place
		codec = forNew(codec)
	}
	return c.options.takeAnswer(call, codec, response, o), false
}

// takeAnswer decodes the one message of an answer.
func (c *common) takeAnswer(call *transport.Call, codec Codec, response any, o *callOptions) *Status {
	payload, compression := call.Ending.Payload, call.Ending.Compression
	m, inData := call.TakeFirst()
	switch has := call.Ending.HasMessage; {
	case !has && !inData:
		return Errorf(Unimplemented, "the answer: no message where one is expected")
	case has && inData:
		m.Free()
		return Errorf(Unimplemented, "the answer: several messages where one is expected")
	case inData:
		payload, compression = m.Payload, m.Compression
	}
	defer m.Free()
	return c.decodeResponse(codec, compression, payload, response, o)
}

func (o *callOptions) checkReceived(size int) *Status {
	if o.maxReceive > 0 && size > o.maxReceive {
		return Errorf(ResourceExhausted, "message of %d bytes exceeds the call's limit of %d", size, o.maxReceive)
	}
	return nil
}

// causeOf is the context's error if that is why the call ended, also when the
// callee noticed first, or that the client is closed.
func (c *calling) causeOf(ctx context.Context, s *Status) error {
	switch {
	case s.Delivery == Executed:
		return nil
	case s.Code == DeadlineExceeded:
		return context.DeadlineExceeded
	case s.Code == Canceled && ctx.Err() == nil && c.done.Err() != nil:
		return ErrClientClosed
	case s.Code == Canceled:
		return ctx.Err()
	}
	return nil
}

// giveUp is how a call ends when its context does.
func giveUp(ctx context.Context) (reason uint32, e *wire.Ending) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return wire.CancelDeadline, &wire.Ending{Code: DeadlineExceeded, Message: "the deadline passed", Delivery: DeliveryUnknown}
	}
	return wire.CancelGivenUp, &wire.Ending{Code: Canceled, Message: "the caller gave the call up", Delivery: DeliveryUnknown}
}

// start opens a call on some connection. Whatever fails here was not sent.
func (c *route) start(ctx context.Context, call *transport.Call, line uint32, out *wire.Outgoing, o *callOptions) *Status {
	if s := checkName(&out.Method); s != nil {
		return s
	}
	if err := ctx.Err(); err != nil {
		return notSent(StatusOf(err))
	}
	if c.via != nil && c.via.conn == nil {
		return c.via.foreign()
	}
	promised := false
	order, plain, packed := c.options.order(o), out.Payload, (*transport.Buffer)(nil)
	for conn := c.via; ; {
		var s *Status
		if !promised && c.via == nil {
			if conn, s = c.pick(ctx, line, o); s != nil {
				return s
			}
		}
		if !promised && out.Codec >= firstNamedCodec {
			if s := c.options.unknownToPeer(conn, out.Codec); s != nil {
				return s
			}
		}
		if !promised && (len(out.Metadata) > 0 || len(plain) > wire.MinPiece) {
			out.Payload = plain
			s := checkOutgoing(conn, out)
			if s != nil && out.Own != nil {
				out.Own = nil // there is room for the user's own metadata only
				s = checkOutgoing(conn, out)
			}
			if s != nil {
				return s
			}
		}
		if !promised && len(order) > 0 {
			packed = c.options.packCall(conn, out, plain, order)
		}
		if deadline, ok := ctx.Deadline(); ok {
			left := time.Until(deadline)
			if left <= 0 {
				if promised {
					conn.conn.Decline()
				}
				return notSent(StatusOf(context.DeadlineExceeded))
			}
			out.Remaining = wire.Remaining(int64(left))
		}
		err := conn.conn.Open(call, out, promised)
		promised = false
		switch {
		case err == nil:
			if packed != nil && !call.Keeps() {
				packed.Free()
			}
			return nil
		case errors.Is(err, transport.ErrNoSlot):
			if promised, s = c.awaitSlot(ctx, conn); s != nil {
				return s
			}
		case c.via != nil:
			return conn.unusable(err)
		default:
			conn.line.retire(conn)
		}
	}
}

// checkName refuses what is no name of a method.
func checkName(m *wire.Method) *Status {
	if m.Index >= 0 {
		return nil // looked at when it was put into the table
	}
	if err := nameFault(m.Name); err != nil {
		return notSent(Errorf(InvalidArgument, "%v", err))
	}
	return nil
}

func checkOutgoing(conn *Connection, out *wire.Outgoing) *Status {
	limits := conn.conn.PeerLimits()
	if uint64(len(out.Payload)) > uint64(limits.Message) {
		return notSent(Errorf(ResourceExhausted, "message of %d bytes exceeds the peer's max_message %d", len(out.Payload), limits.Message))
	}
	if err := out.Metadata.CheckWith(out.Own, &limits); err != nil {
		code := InvalidArgument
		if err.Class == wire.ErrMetadataLimit {
			code = ResourceExhausted
		}
		return notSent(Errorf(code, "metadata: %s", err.Text))
	}
	return nil
}

func notSent(s *Status) *Status {
	s.Delivery = NotSent
	return s
}

// longestPause bounds how long a refused call waits before it is repeated.
const longestPause = time.Second

// pauseBefore waits as long as a refusal asks for. It reports false when the
// call is better given back to the caller.
func (c *route) pauseBefore(ctx context.Context, refusal *wire.Ending) bool {
	wait, ok := c.pause(ctx, refusal)
	if !ok {
		return false
	}
	sleep(ctx, wait)
	return ctx.Err() == nil && c.done.Err() == nil
}

// pause is how long to wait before a call is repeated. It is not to be when the
// wait is long, or would outlast the deadline, or there is no connection for it.
func (c *route) pause(ctx context.Context, refusal *wire.Ending) (wait time.Duration, ok bool) {
	wait = time.Duration(refusal.RetryAfter) * time.Millisecond
	switch {
	case c.via != nil && (refusal.Delivery == NotSent || refusal.Code == Unavailable):
		return 0, false // there is no other connection
	case refusal.Code == Unavailable && len(c.lines) > 1:
		wait = 0 // another connection may do
	}
	if deadline, ok := ctx.Deadline(); wait > longestPause || ok && time.Until(deadline) <= wait {
		return 0, false
	}
	return wait, ctx.Err() == nil && c.done.Err() == nil
}

// lighter returns the next line in turn if it carries fewer calls than current
// does, else current.
func (c *calling) lighter(current uint32) uint32 {
	n := uint32(len(c.lines))
	next := c.next.Add(1)
	a, b := c.lines[current%n].current.Load(), c.lines[next%n].current.Load()
	if a == nil || b == nil || a == b {
		return current
	}
	mine, _ := a.conn.Counts()
	others, _ := b.conn.Counts()
	if others < mine {
		return next
	}
	return current
}

// pick returns the connection of a line, or of the next one that has any.
func (c *calling) pick(ctx context.Context, first uint32, o *callOptions) (*Connection, *Status) {
	l, conn := c.find(first)
	if conn != nil {
		return conn, nil
	}
	return c.dialled(ctx, l, o)
}

// find is pick without waiting: if there is no connection, it returns the line to
// wait for.
func (c *calling) find(first uint32) (*line, *Connection) {
	n := uint32(len(c.lines))
	for i := range n {
		l := c.lines[(first+i)%n]
		if conn := l.current.Load(); conn != nil {
			return l, conn
		}
		if n > 1 {
			l.reopen()
		}
	}
	return c.lines[first%n], nil
}

// dialled waits for a connection to be opened.
func (c *calling) dialled(ctx context.Context, l *line, o *callOptions) (*Connection, *Status) {
	for {
		conn, err := l.connection(ctx)
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil || c.options.fault != nil || c.done.Err() != nil || !o.waitForReady:
			return nil, c.unreachable(ctx, err)
		}
		t := time.NewTimer(l.pause())
		select {
		case <-t.C:
		case <-ctx.Done():
		case <-c.done.Done():
		}
		t.Stop()
	}
}

// unreachable is the status of a call for which there is no connection.
func (c *calling) unreachable(ctx context.Context, err error) *Status {
	switch {
	case c.options.fault != nil:
		return notSent(&Status{Code: FailedPrecondition, Message: err.Error(), cause: err})
	case ctx.Err() != nil:
		s := notSent(StatusOf(ctx.Err()))
		s.Message = err.Error()
		return s
	case c.done.Err() != nil:
		return notSent(&Status{Code: Canceled, Message: ErrClientClosed.Error(), cause: ErrClientClosed})
	default:
		return notSent(&Status{Code: Unavailable, Message: err.Error(), cause: err})
	}
}

// enterLine counts a call that waits.
func (c *calling) enterLine() *Status {
	if n := c.waiting.Add(1); n > int64(c.options.waitingCalls) {
		c.waiting.Add(-1)
		return notSent(Errorf(ResourceExhausted, "waiting calls have reached their limit of %d", c.options.waitingCalls))
	}
	return nil
}

// awaitSlot waits in order for a free slot, in a queue that is bounded over
// the whole client.
func (c *calling) awaitSlot(ctx context.Context, conn *Connection) (promised bool, s *Status) {
	if s := c.enterLine(); s != nil {
		return false, s
	}
	defer c.waiting.Add(-1)
	promised, ok := conn.conn.AwaitSlot(ctx.Done())
	if !ok {
		return false, notSent(StatusOf(ctx.Err()))
	}
	return promised, nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
