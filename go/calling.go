package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
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
	target       string     // a client's
	endpoints    *endpoints // a client's; a server has none
	policies     *policies  // nil: there are none
	next         atomic.Uint32
	waiting      atomic.Int64
	calls        sync.Pool       // of *unaryCall
	asyncs       sync.Pool       // of *asyncCall
	repeats      *repeats        // that of a policy file takes its place
	done         context.Context // ends with the client
}

func newCalling(done context.Context, options *common, interceptors []Interceptor, pool *roles.Pool) *calling {
	c := &calling{options: options, interceptors: interceptors, pool: pool, done: done}
	c.repeats = newRepeats(policy.BudgetRules{Percent: repeatPercent, Least: leastRepeats})
	c.calls.New = func() any {
		call := &unaryCall{number: c.next.Add(1)}
		call.InitUnary()
		return call
	}
	return c
}

// unaryCall is what one unary call needs, used again by the next. It stays with
// one connection of an endpoint for a while: callers whose answers come in one read then make
// their next calls on the same connection, where they leave in one write.
type unaryCall struct {
	transport.Call
	number   uint32 // of the connection
	uses     uint32
	watching *attempt // once it is open, if somebody wants to know how it ends
	opening  opening
	waiter   waiter
	attempt  attempt
}

// stay is how many calls are made before another connection is looked at, which
// is taken if it carries less, so that the load stays even. It is a multiple of
// countedTogether.
const stay = 256

// quicklyEncoded is the size of requests, in bytes, up to which encoding takes no time that matters: the first attempt is
// made when the call begins.
const quicklyEncoded = 4 << 10

// unary makes one unary call. A call that provably was not run is repeated
// once, over another connection if there is one; one under a policy file as its rules say.
func (c *route) unary(ctx context.Context, t *Method, request, response any, o *callOptions) (err error) {
	call := c.calls.Get().(*unaryCall) //nolint:forcetypeassert // the pool holds nothing else
	if call.uses++; call.uses%countedTogether == 0 {
		if o.governed == nil { // else it was counted when it began
			c.repeats.made(elapsed(), countedTogether)
		}
		if call.uses%stay == 0 && c.via == nil {
			call.number = c.lighter(call.number)
		}
	}
	var next *nextAttempt
	for again := true; again; {
		var codec Codec
		if codec, err = c.encode(&call.Call, request, o); err != nil {
			break
		}
		var passed *passage
		now := int64(0)
		if next == nil && len(call.Buf) <= quicklyEncoded {
			now = o.began
		}
		if o.governed != nil {
			if now == 0 {
				now = roles.Clock()
			}
			if passed, err = o.governed.attempt(elapsedAt(now)); err != nil {
				break
			}
		}
		if err = c.start(ctx, call, t, codec, o, next, passed, now); err != nil {
			if passed != nil {
				passed.unmade(err)
				o.governed.ended(err)
			}
			break
		}
		call.await(ctx, t, o)
		if call.watching != nil {
			call.watching.end(&call.Ending)
			call.watching = nil
		}
		again, err = c.conclude(ctx, &call.Call, t, codec, response, o)
		if o.governed != nil {
			o.governed.ended(err)
		}
		if again = again && c.again(ctx, t, &call.Ending, o, next); again {
			next = &nextAttempt{own: wire.Own{Attempt: next.number() + 1}, not: c.endpointOf(&call.Call)}
			call.Reset()
			call.number++ // elsewhere, if there is more than one connection
		}
	}
	call.Reset()
	c.calls.Put(call)
	return err
}

// nextAttempt is what a further attempt of a call has that its first has not.
type nextAttempt struct {
	own   wire.Own
	not   *EndpointState   // that of the one before
	tried []*EndpointState // of a hedge: those of all attempts before it
}

// number is which attempt it is; nil is the first.
func (n *nextAttempt) number() uint32 {
	if n == nil {
		return 1
	}
	return n.own.Attempt
}

// again reports whether a call whose attempt has failed is made again, and waits until then.
func (c *route) again(ctx context.Context, t *Method, e *wire.Ending, o *callOptions, attempt *nextAttempt) bool {
	if o.governed != nil {
		return c.retried(ctx, t, e, o.governed, attempt == nil)
	}
	return attempt == nil && repeatable(e) && c.pauseBefore(ctx, t, e)
}

// endpointOf is the endpoint at which a call was made, nil if it is none of a client's.
func (c *route) endpointOf(call *transport.Call) *EndpointState {
	if conn := call.Conn(); conn != nil && c.via == nil {
		return connectionOf(conn).redialer.endpoint
	}
	return nil
}

// start opens the call, waiting as long as that takes. What it needs lies in the call and not on the stack, of
// which writing within TLS needs much. now is the time, by roles.Clock, or 0 if it was not looked at.
func (c *route) start(
	ctx context.Context, call *unaryCall, t *Method, codec Codec, o *callOptions, next *nextAttempt, passed *passage, now int64,
) error {
	opening := &call.opening // field by field: a literal would be made beside it and copied
	opening.route, opening.ctx, opening.call, opening.method, opening.options = c, ctx, &call.Call, t, o
	opening.passage = passed
	opening.number, opening.waiter, opening.attempt, opening.now = call.number, &call.waiter, &call.attempt, now
	if len(c.options.attemptObservers) > 0 {
		opening.asked = opening.time()
	}
	m := o.metadata
	if !o.intercepted {
		m = outgoing(ctx)
	}
	opening.carry(call.Buf, codec, m)
	if next != nil {
		opening.follows(next)
	}
	wait, err := opening.try()
	if wait {
		err = opening.wait()
	}
	call.watching = opening.watching
	call.forget()
	return err
}

// forget drops what the call was opened with.
func (call *unaryCall) forget() { call.opening = opening{} }

// now is when a call began to be opened, if attempts are told of.
func (c *calling) now() int64 {
	if len(c.options.attemptObservers) == 0 {
		return 0
	}
	return roles.Clock()
}

// encode puts the request into the call's buffer.
func (c *route) encode(call *transport.Call, request any, o *callOptions) (Codec, error) {
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

// conclude fills in the response of a call that has ended, or says whether it was answered with
// a failure and how it failed. Decoders may need much stack, so there is little of it above them:
// what is seldom needed has functions of its own.
func (c *route) conclude(
	ctx context.Context, call *transport.Call, t *Method, codec Codec, response any, o *callOptions,
) (failed bool, err error) {
	e := &call.Ending
	if o.reply != nil {
		o.tell(call)
	}
	switch {
	case e.Code != OK:
		return true, c.failure(ctx, call, e)
	case t.Kind == KindOneWay:
		return false, nil
	case o.fresh && len(c.interceptors) == 0: // they may have put something else in its place
		codec = forNew(codec)
	}
	payload, compression, count := call.Answer()
	if count != 1 {
		return false, wrongAnswer(count)
	}
	if compression == 0 && o.maxReceive == 0 { // as with most: one function less above the decoder
		if err = codec.Decode(payload, response); err != nil {
			err = uncarried(Internal, "response", codec, err)
		}
	} else {
		err = c.options.decodeResponse(codec, compression, payload, response, o)
	}
	if err != nil {
		return false, local(err, Executed)
	}
	return false, nil
}

// failure is the error of a call that has ended so.
func (c *calling) failure(ctx context.Context, call *transport.Call, e *wire.Ending) error {
	s := statusOfEnding(e)
	s.Header, s.Peer, s.cause = call.Header, peerOf(call.Conn()), c.causeOf(ctx, e)
	if conn := call.Conn(); e.Local && e.Code == DeadlineExceeded && c.endpoints != nil && !conn.Greeted() {
		s.Message = fmt.Sprintf("%s; of %v: %s", e.Message, conn.Remote(), connectionOf(conn).silence())
	}
	return s.Err()
}

// wrongAnswer is the error of a call that was answered with no message, or with several.
func wrongAnswer(messages int) error {
	what := wire.NoMessage
	if messages > 0 {
		what = wire.SeveralMessages
	}
	return local(Errorf(Unimplemented, "the answer: %s", what), Executed)
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

// giveUp is how a call of a method ends when its context does. How long it had is known of the client's own
// timeouts, and of this call's only: a call that an interceptor makes has the outer call's deadline.
func giveUp(ctx context.Context, method string) (reason uint32, e *wire.Ending) {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return wire.CancelDeadline, &wire.Ending{Code: DeadlineExceeded, Message: overdue(method, overrunOf(ctx)), Local: true}
	}
	return wire.CancelGivenUp, &wire.Ending{Code: Canceled, Message: "the caller gave the call up", Local: true}
}

// overdue is what is said of a call of a method whose deadline has passed; by is the timeout that it was, nil if it was none.
func overdue(method string, by *overrun) string {
	text := "the deadline passed: " + method
	if by != nil && by.method == method {
		text += " had " + by.had.String()
	}
	return text
}

// overrunOf is the timeout of a client by which a context has ended, nil if that was not it.
func overrunOf(ctx context.Context) *overrun {
	if b, ok := ctx.(*bounded); ok {
		return &b.by
	}
	var by *overrun
	_ = errors.As(context.Cause(ctx), &by)
	return by
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

// raiseIt is what helps where the other side takes no message of that size.
const raiseIt = ": raise Limits.MessageBytes there, or stream"

func checkOutgoing(conn *Connection, out *wire.Outgoing) error {
	limits := conn.conn.PeerLimits()
	if uint64(len(out.Payload)) > uint64(limits.Message) {
		return notSent(Errorf(ResourceExhausted, "message of %d bytes exceeds the peer's max_message %d%s", len(out.Payload), limits.Message, raiseIt))
	}
	if err := wire.CheckMetadata(out.Metadata, out.Own, &limits); err != nil {
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
func (c *route) pauseBefore(ctx context.Context, m *Method, refusal *wire.Ending) bool {
	wait, ok := c.pause(ctx, m, refusal)
	if !ok {
		return false
	}
	sleep(ctx, wait)
	return ctx.Err() == nil && c.done.Err() == nil
}

// pause is how long to wait before a call is repeated. It is not to be when the
// wait is long, or would outlast the deadline, or there is no connection for it.
func (c *route) pause(ctx context.Context, m *Method, refusal *wire.Ending) (wait time.Duration, ok bool) {
	wait = time.Duration(refusal.RetryAfter) * time.Millisecond
	switch {
	case !c.repeatsCalls(m):
		return 0, false
	case c.via != nil && (refusal.Delivery == NotSent || refusal.Code == Unavailable):
		return 0, false // there is no other connection
	case refusal.Code == Unavailable && c.severalConnections():
		wait = 0 // another connection may do
	}
	if deadline, ok := ctx.Deadline(); wait > longestPause || ok && time.Until(deadline) <= wait {
		return 0, false
	}
	return wait, ctx.Err() == nil && c.done.Err() == nil && c.budget().take(elapsed())
}

// budget is what all repetitions draw on.
func (c *calling) budget() *repeats {
	if c.policies != nil && c.policies.file != nil {
		return c.policies.file.current.Load().repeats
	}
	return c.repeats
}

// severalConnections reports whether a call may be made over another than it was.
func (c *calling) severalConnections() bool {
	s := c.endpoints.current.Load()
	return len(s.endpoints) > 1 || len(s.endpoints) == 1 && len(s.endpoints[0].dialed) > 1
}

// lighter returns the next connection's number in turn if it carries fewer calls than the
// current one does, else that one's. With several endpoints picks see to that.
func (c *calling) lighter(current uint32) uint32 {
	e := c.endpoints.current.Load().only
	if e == nil || len(e.dialed) == 1 {
		return current
	}
	n := uint32(len(e.dialed))
	next := c.next.Add(1)
	a, b := e.dialed[current%n].current.Load(), e.dialed[next%n].current.Load()
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

// unreachable is the status of a call for which there is no connection.
func (c *calling) unreachable(ctx context.Context, err error) error {
	switch {
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

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
