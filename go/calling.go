package trunkcall

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// calling is what the calls of one Client or Server have in common, those that
// it makes.
type calling struct {
	options      *common
	interceptors []Interceptor
	pool         *roles.Pool
	lines        []*line // a client's; a server has none
	next         atomic.Uint32
	waiting      atomic.Int64
	calls        sync.Pool // of *unaryCall
	asyncs       sync.Pool // of *asyncCall
	repeats      repeats
	done         context.Context // ends with the client
}

func newCalling(done context.Context, options *common, interceptors []Interceptor, pool *roles.Pool) *calling {
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
// is taken if it carries less, so that the load stays even. It is a multiple of
// countedTogether.
const stay = 256

// unary makes one unary call. A call that provably was not run is repeated
// once, over another connection if there is one.
func (c *route) unary(ctx context.Context, t *Method, request, response any, m Metadata, o *callOptions) error {
	call := c.calls.Get().(*unaryCall) //nolint:forcetypeassert // the pool holds nothing else
	if call.uses++; call.uses%countedTogether == 0 {
		c.repeats.made(thisSecond(), countedTogether)
		if call.uses%stay == 0 && c.via == nil {
			call.line = c.lighter(call.line)
		}
	}
	again, err := c.attempt(ctx, call, t, request, response, m, o, nil)
	if again {
		if c.pauseBefore(ctx, &call.Ending) {
			call.Reset()
			call.line++ // elsewhere, if there is more than one connection
			_, err = c.attempt(ctx, call, t, request, response, m, o, &wire.Own{Attempt: 2})
		}
	}
	call.Reset()
	c.calls.Put(call)
	return err
}

func (c *route) attempt(
	ctx context.Context, call *unaryCall, t *Method, request, response any, m Metadata, o *callOptions, own *wire.Own,
) (again bool, err error) {
	codec, err := c.encode(call.Call, t, request, o)
	if err != nil {
		return false, err
	}
	out := outgoingOf(t, codec, m, own, call.Buf)
	if err := c.start(ctx, call.Call, call.line, &out, o); err != nil {
		return false, err
	}
	if !call.Wait(ctx) {
		reason, ending := giveUp(ctx)
		call.GiveUp(reason, ending)
	}
	return c.conclude(ctx, call.Call, t, codec, response, o)
}

// encode puts the request into the call's buffer.
func (c *route) encode(call *transport.Call, t *Method, request any, o *callOptions) (Codec, error) {
	codec, err := c.options.codecOf(o)
	if err != nil {
		return nil, err
	}
	buf, err := codec.Append(call.Buf[:0], request)
	if err != nil {
		return nil, notSent(uncarried(Internal, "request", codec, err))
	}
	call.Buf = buf
	return codec, nil
}

func outgoingOf(t *Method, codec Codec, m Metadata, own *wire.Own, payload []byte) wire.Outgoing {
	return wire.Outgoing{
		Method: t.wire(), Codec: codec.Number(), Metadata: m, Own: own,
		Payload: payload, HasMessage: true, End: true, OneWay: t.Kind == KindOneWay,
	}
}

// conclude fills in the response of a call that has ended, or says whether it is to be
// made again and how it failed.
func (c *route) conclude(
	ctx context.Context, call *transport.Call, t *Method, codec Codec, response any, o *callOptions,
) (again bool, err error) {
	e := &call.Ending
	if o.reply != nil {
		*o.reply = Reply{call.Header, e.Metadata, peerOf(call.Conn())}
	}
	if e.Code != OK {
		return repeatable(e), c.failure(ctx, call, e)
	}
	if t.Kind == KindOneWay {
		return false, nil
	}
	if o.fresh && len(c.interceptors) == 0 { // they may have put something else in its place
		codec = forNew(codec)
	}
	return false, c.options.takeAnswer(call, codec, response, o)
}

// failure is the error of a call that has ended so.
func (c *calling) failure(ctx context.Context, call *transport.Call, e *wire.Ending) error {
	s := statusOfEnding(e)
	s.Header, s.Peer, s.cause = call.Header, peerOf(call.Conn()), c.causeOf(ctx, e)
	return s.Err()
}

// takeAnswer decodes the one message of an answer.
func (c *common) takeAnswer(call *transport.Call, codec Codec, response any, o *callOptions) error {
	payload, compression := call.Ending.Payload, call.Ending.Compression
	m, inData := call.TakeFirst()
	switch has := call.Ending.HasMessage; {
	case !has && !inData:
		return local(Errorf(Unimplemented, "the answer: "+wire.NoMessage), Executed)
	case has && inData:
		m.Free()
		return local(Errorf(Unimplemented, "the answer: "+wire.SeveralMessages), Executed)
	case inData:
		payload, compression = m.Payload, m.Compression
	}
	defer m.Free()
	if err := c.decodeResponse(codec, compression, payload, response, o); err != nil {
		return local(err, Executed)
	}
	return nil
}

func (o *callOptions) checkReceived(size int) error {
	if o.maxReceive > 0 && size > o.maxReceive {
		return Errorf(ResourceExhausted, "message of %d bytes exceeds the call's limit of %d", size, o.maxReceive)
	}
	return nil
}

// causeOf is the context's error if that is why the call ended, also when the
// callee noticed first, or that the client is closed.
func (c *calling) causeOf(ctx context.Context, e *wire.Ending) error {
	switch {
	case e.Delivery == Executed:
		return nil
	case e.Code == DeadlineExceeded:
		return context.DeadlineExceeded
	case e.Code == Canceled && ctx.Err() == nil && c.done.Err() != nil:
		return ErrClientClosed
	case e.Code == Canceled:
		return ctx.Err()
	}
	return nil
}

// giveUp is how a call ends when its context does.
func giveUp(ctx context.Context) (reason uint32, e *wire.Ending) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return wire.CancelDeadline, &wire.Ending{Code: DeadlineExceeded, Message: "the deadline passed", Local: true}
	}
	return wire.CancelGivenUp, &wire.Ending{Code: Canceled, Message: "the caller gave the call up", Local: true}
}

// start opens a call on some connection. Whatever fails here was not sent.
func (c *route) start(ctx context.Context, call *transport.Call, line uint32, out *wire.Outgoing, o *callOptions) error {
	if err := checkName(out.Method); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return notSent(err)
	}
	if c.via != nil && c.via.conn == nil {
		return c.via.foreign()
	}
	promised := false
	order, plain, packed := c.options.order(o), out.Payload, (*transport.Buffer)(nil)
	for conn := c.via; ; {
		var err error
		if conn == nil {
			if conn, err = c.pick(ctx, line, o); err != nil {
				return err
			}
		}
		if err := c.fit(conn, out, plain); err != nil {
			if promised {
				conn.conn.Decline()
			}
			return err
		}
		if len(order) > 0 {
			if packed != nil {
				packed.Free()
			}
			packed = c.options.packCall(conn, out, plain, order)
		}
		if deadline, ok := ctx.Deadline(); ok {
			left := time.Until(deadline)
			if left <= 0 {
				if promised {
					conn.conn.Decline()
				}
				return notSent(context.DeadlineExceeded)
			}
			out.Remaining = wire.Remaining(int64(left))
		}
		err = conn.conn.Open(call, out, promised)
		promised = false
		switch {
		case err == nil:
			if packed != nil && !call.Keeps() {
				packed.Free()
			}
			return nil
		case errors.Is(err, transport.ErrNoSlot):
			if conn, promised, err = c.awaitSlot(ctx, conn); err != nil {
				return err
			}
		case c.via != nil:
			return conn.unusable(err)
		default:
			conn.line.retire(conn)
			conn = nil
		}
	}
}

// fit refuses a call that a connection's peer would not take.
func (c *route) fit(conn *Connection, out *wire.Outgoing, plain []byte) error {
	if out.Codec >= firstNamedCodec {
		if err := c.options.unknownToPeer(conn, out.Codec); err != nil {
			return err
		}
	}
	out.Payload = plain
	if len(out.Metadata) == 0 && len(plain) <= wire.MinPiece {
		return nil
	}
	err := checkOutgoing(conn, out)
	if err != nil && out.Own != nil {
		out.Own = nil // there is room for the user's own metadata only
		err = checkOutgoing(conn, out)
	}
	return err
}

// checkName refuses what is no name of a method.
func checkName(m wire.Method) error {
	if m.Index >= 0 {
		return nil // looked at when it was put into the table
	}
	if err := nameFault(m.Name); err != nil {
		return notSent(Errorf(InvalidArgument, "%v", err))
	}
	return nil
}

func checkOutgoing(conn *Connection, out *wire.Outgoing) error {
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
	case c.options.once:
		return 0, false
	case c.via != nil && (refusal.Delivery == NotSent || refusal.Code == Unavailable):
		return 0, false // there is no other connection
	case refusal.Code == Unavailable && len(c.lines) > 1:
		wait = 0 // another connection may do
	}
	if deadline, ok := ctx.Deadline(); wait > longestPause || ok && time.Until(deadline) <= wait {
		return 0, false
	}
	return wait, ctx.Err() == nil && c.done.Err() == nil && c.repeats.take(thisSecond())
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
func (c *calling) pick(ctx context.Context, first uint32, o *callOptions) (*Connection, error) {
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
func (c *calling) dialled(ctx context.Context, l *line, o *callOptions) (*Connection, error) {
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
func (c *calling) unreachable(ctx context.Context, err error) error {
	switch {
	case c.options.fault != nil:
		return notSent(Status{Code: FailedPrecondition, Message: err.Error(), cause: err}.Err())
	case ctx.Err() != nil:
		return notSent(Status{Code: codeOf(ctx.Err()), Message: err.Error(), cause: ctx.Err()}.Err())
	case c.done.Err() != nil:
		return notSent(Status{Code: Canceled, Message: ErrClientClosed.Error(), cause: ErrClientClosed}.Err())
	default:
		return notSent(Status{Code: Unavailable, Message: err.Error(), cause: err}.Err())
	}
}

// enterQueue counts a call that waits.
func (c *calling) enterQueue() error {
	if n := c.waiting.Add(1); n > int64(c.options.waitingCalls) {
		c.waiting.Add(-1)
		return notSent(Errorf(ResourceExhausted, "waiting calls have reached their limit of %d", c.options.waitingCalls))
	}
	return nil
}

// awaitSlot finds a connection for a call that full has no slot for: another one that
// has, or whichever has one first, for which calls wait in order, in a queue that is
// bounded over the whole client. No connection means that one is to be picked anew.
func (c *route) awaitSlot(ctx context.Context, full *Connection) (conn *Connection, promised bool, err error) {
	if conn := c.elsewhere(full); conn != nil {
		return conn, false, nil
	}
	if err := c.enterQueue(); err != nil {
		return nil, false, err
	}
	defer c.waiting.Add(-1)
	turn := &transport.Turn{}
	come, queue := turn.Come(), full.conn.Slots()
	c.queue(queue, turn)
	if !c.admit() && queue.Leave(turn) {
		return c.via, false, nil
	}
	select {
	case <-come:
	case <-ctx.Done():
		if !queue.Leave(turn) {
			if <-come; turn.Conn != nil { // meanwhile: pass it on
				turn.Conn.Decline()
			}
		}
		return nil, false, notSent(ctx.Err())
	}
	if turn.Conn == nil {
		return c.via, false, nil
	}
	return connectionOf(turn.Conn), true, nil
}

// queue has turn wait for a slot of a connection that the route allows.
func (c *route) queue(queue *transport.SlotQueue, turn *transport.Turn) {
	if turn.Only = nil; c.via != nil {
		turn.Only = c.via.conn
	}
	queue.Queue(turn)
}

// elsewhere is another connection than full that has a free slot, nil if there is none.
func (c *route) elsewhere(full *Connection) *Connection {
	if c.via != nil {
		return nil
	}
	for _, l := range c.lines {
		if conn := l.current.Load(); conn != nil && conn != full && conn.conn.SlotFree() {
			return conn
		}
	}
	return nil
}

// admit has the connections that the route allows promise free slots to those who
// wait. It reports whether there is one to wait for.
func (c *route) admit() bool {
	if c.via != nil {
		return c.via.conn.Admit()
	}
	some := false
	for _, l := range c.lines {
		if conn := l.current.Load(); conn != nil && conn.conn.Admit() {
			some = true
		}
	}
	return some
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
