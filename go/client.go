package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/transport"
	"github.com/trunkcall/trunkcall/go/wire"
)

// Client owns connections to one target and calls methods there. Its methods
// are safe for concurrent use.
type Client struct {
	target  string
	options clientOptions
	config  *transport.Config
	pool    *transport.Pool
	lines   []*line
	next    atomic.Uint32
	waiting atomic.Int64
	calls   sync.Pool // of *unaryCall

	done   context.Context // ends with Close
	close  context.CancelFunc
	mu     sync.Mutex // orders begin and Close
	live   map[*connection]struct{}
	closed sync.WaitGroup // one for each connection and dialling goroutine
}

// begin counts something that Close waits for; it reports false once Close has
// begun.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done.Err() != nil {
		return false
	}
	c.closed.Add(1)
	return true
}

// ErrClientClosed is the cause of calls that fail because the client was
// closed.
var ErrClientClosed = errors.New("the client is closed")

// NewClient returns a client of target, which is HOST:PORT, unix:PATH,
// mem:NAME, or several of them separated by commas, tried in turn. Connections
// are opened with the first calls, or by Connect.
func NewClient(target string, options ...ClientOption) *Client {
	c := &Client{target: target, pool: &transport.Pool{}, live: map[*connection]struct{}{}}
	c.options = clientOptions{connections: 1, waitingCalls: DefaultWaitingCalls, common: common{
		codec: Protobuf, keepaliveInterval: DefaultKeepaliveInterval, keepaliveTimeout: DefaultKeepaliveTimeout,
	}}
	for _, o := range options {
		o.applyClient(&c.options)
	}
	c.options.sane(DefaultKeepaliveInterval)
	c.done, c.close = context.WithCancel(context.Background())
	c.calls.New = func() any { return &unaryCall{Call: transport.NewCall(true), line: c.next.Add(1)} }
	c.config = c.options.transport(clientConnections{c}, c.pool)
	for range c.options.connections {
		c.lines = append(c.lines, &line{client: c})
	}
	return c
}

// Dial returns a client whose connections are open. The error says what was
// tried and why it failed.
func Dial(ctx context.Context, target string, options ...ClientOption) (*Client, error) {
	c := NewClient(target, options...)
	if err := c.Connect(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Connect opens all connections of the client that are not open and waits for
// each server's first bytes.
func (c *Client) Connect(ctx context.Context) error {
	errs := make(chan error, len(c.lines))
	limit := make(chan struct{}, 64) // connections opened at a time
	for _, l := range c.lines {
		go func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			conn, err := l.connection(ctx)
			if err == nil {
				err = conn.greeted(ctx)
			}
			errs <- err
		}()
	}
	var first error
	for range c.lines {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Close ends the client: calls that run fail, and connections are closed. It
// returns when nothing of the client runs any more.
func (c *Client) Close() {
	c.mu.Lock()
	c.close()
	live := slices.Collect(maps.Keys(c.live))
	c.mu.Unlock()
	for _, conn := range live {
		conn.Shut(ErrClientClosed)
	}
	c.closed.Wait()
	c.pool.Close()
}

// Target is what the client was made for.
func (c *Client) Target() string { return c.target }

// Secure reports whether the client uses TLS.
func (c *Client) Secure() bool { return c.options.tls != nil }

// Invoke calls a unary method by its name and fills in response. Typed methods
// (Unary) do the same. The error is a *Status.
func (c *Client) Invoke(ctx context.Context, method string, request, response any, options ...CallOption) error {
	return c.invoke(ctx, unaryTarget(method), request, response, gather(options))
}

func (c *Client) invoke(ctx context.Context, t *target, request, response any, o *callOptions) error {
	if len(c.options.interceptors) == 0 {
		if s := c.unary(ctx, t, request, response, outgoing(ctx), o); s != nil {
			return s
		}
		return nil
	}
	call := &Call{Method: t.Method, Metadata: outgoing(ctx), Request: request, Response: response}
	err := chain(c.options.interceptors, func(ctx context.Context, call *Call) error {
		within := *o
		within.header, within.trailer, within.peer = &call.Header, &call.Trailer, &call.Peer
		if s := c.unary(ctx, t, call.Request, call.Response, call.Metadata, &within); s != nil {
			return s
		}
		return nil
	})(ctx, call)
	o.store(call.Header, call.Trailer, call.Peer)
	if err != nil {
		return StatusOf(err)
	}
	return nil
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
func (c *Client) unary(ctx context.Context, t *target, request, response any, m Metadata, o *callOptions) *Status {
	call := c.calls.Get().(*unaryCall) //nolint:forcetypeassert // the pool holds nothing else
	if call.uses++; call.uses%stay == 0 {
		call.line = c.lighter(call.line)
	}
	s, again := c.attempt(ctx, call, t, request, response, m, o, nil)
	if again {
		if c.pauseBefore(ctx, &call.Ending) {
			call.Reset()
			call.line = c.next.Add(1)
			s, _ = c.attempt(ctx, call, t, request, response, m, o, &wire.Own{Has: wire.OwnAttempt, Attempt: 2})
		}
	}
	call.Reset()
	c.calls.Put(call)
	return s
}

func (c *Client) attempt(
	ctx context.Context, call *unaryCall, t *target, request, response any, m Metadata, o *callOptions, own *wire.Own,
) (s *Status, again bool) {
	codec, s := c.options.codecOf(o)
	if s != nil {
		return s, false
	}
	buf, err := codec.Append(call.Buf[:0], request)
	if err != nil {
		return &Status{Code: Internal, Message: fmt.Sprintf("the request is not a valid %s message: %v", codec.Name(), err), Delivery: NotSent}, false
	}
	call.Buf = buf
	out := wire.Outgoing{Method: t.wire, Codec: codec.Number(), Metadata: m, Own: own, Payload: buf, HasMessage: true, End: true}
	if s := c.start(ctx, call.Call, call.line, &out, o); s != nil {
		return s, false
	}
	if !call.Wait(ctx) {
		reason, ending := giveUp(ctx)
		call.GiveUp(reason, ending)
	} else {
		call.Surplus(&tooManyAnswers)
	}
	e := &call.Ending
	if o != &noOptions {
		o.store(call.Header, e.Metadata, peerOf(call.Conn()))
	}
	if e.Code != OK {
		s = statusOfEnding(e)
		s.cause = causeOf(ctx, s)
		return s, e.Delivery == NotSent || e.Delivery == Refused && e.RetryAfter > 0
	}
	return c.takeAnswer(call.Call, codec, response, o), false
}

const severalAnswers = "the server answered with several messages where one is expected"

var tooManyAnswers = wire.Ending{Code: Unimplemented, Message: severalAnswers, Delivery: DeliveryUnknown}

// takeAnswer decodes the one message of an answer.
func (c *Client) takeAnswer(call *transport.Call, codec Codec, response any, o *callOptions) *Status {
	payload, compression := call.Ending.Payload, call.Ending.Compression
	m, inData := call.TakeFirst()
	switch has := call.Ending.HasMessage; {
	case !has && !inData:
		return Errorf(Unimplemented, "the server answered without a message")
	case has && inData:
		m.Free()
		return Errorf(Unimplemented, severalAnswers)
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
// callee noticed first.
func causeOf(ctx context.Context, s *Status) error {
	switch {
	case s.Delivery == Executed:
		return nil
	case s.Code == DeadlineExceeded:
		return context.DeadlineExceeded
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
func (c *Client) start(ctx context.Context, call *transport.Call, line uint32, out *wire.Outgoing, o *callOptions) *Status {
	if n := len(out.Method.Name); n < 2 || n > wire.MaxMethodName {
		return notSent(Errorf(InvalidArgument, "method name of %d bytes: want /package.Service/Method, at most %d", n, wire.MaxMethodName))
	}
	if err := ctx.Err(); err != nil {
		return notSent(StatusOf(err))
	}
	promised := false
	order, plain, packed := c.order(o), out.Payload, (*transport.Buffer)(nil)
	for conn := (*connection)(nil); ; {
		var s *Status
		if !promised {
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
			packed = c.packCall(conn, out, plain, order)
		}
		if deadline, ok := ctx.Deadline(); ok {
			left := time.Until(deadline)
			if left <= 0 {
				if promised {
					conn.Decline()
				}
				return notSent(StatusOf(context.DeadlineExceeded))
			}
			out.Remaining = wire.Remaining(int64(left))
		}
		err := conn.Open(call, out, promised)
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
		default:
			conn.line.retire(conn)
		}
	}
}

func checkOutgoing(conn *connection, out *wire.Outgoing) *Status {
	limits := conn.PeerLimits()
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
// call is better given back to the caller: the wait is long, or would outlast
// the deadline.
func (c *Client) pauseBefore(ctx context.Context, refusal *wire.Ending) bool {
	wait := time.Duration(refusal.RetryAfter) * time.Millisecond
	if refusal.Code == Unavailable && len(c.lines) > 1 {
		wait = 0 // another connection may do
	}
	if deadline, ok := ctx.Deadline(); wait > longestPause || ok && time.Until(deadline) <= wait {
		return false
	}
	sleep(ctx, wait)
	return ctx.Err() == nil && c.done.Err() == nil
}

// lighter returns the next line in turn if it carries fewer calls than current
// does, else current.
func (c *Client) lighter(current uint32) uint32 {
	n := uint32(len(c.lines))
	next := c.next.Add(1)
	a, b := c.lines[current%n].current.Load(), c.lines[next%n].current.Load()
	if a == nil || b == nil || a == b {
		return current
	}
	mine, _ := a.Counts()
	others, _ := b.Counts()
	if others < mine {
		return next
	}
	return current
}

// pick returns the connection of a line, or of the next one that has any.
func (c *Client) pick(ctx context.Context, first uint32, o *callOptions) (*connection, *Status) {
	n := uint32(len(c.lines))
	for i := range n {
		l := c.lines[(first+i)%n]
		if conn := l.current.Load(); conn != nil {
			return conn, nil
		}
		if n > 1 {
			l.reopen()
		}
	}
	return c.dialled(ctx, c.lines[first%n], o)
}

// dialled waits for a connection to be opened.
func (c *Client) dialled(ctx context.Context, l *line, o *callOptions) (*connection, *Status) {
	for {
		conn, err := l.connection(ctx)
		switch {
		case err == nil:
			return conn, nil
		case c.options.fault != nil:
			return nil, notSent(&Status{Code: FailedPrecondition, Message: err.Error(), cause: err})
		case ctx.Err() != nil:
			s := notSent(StatusOf(ctx.Err()))
			s.Message = err.Error()
			return nil, s
		case c.done.Err() != nil:
			return nil, notSent(&Status{Code: Canceled, Message: ErrClientClosed.Error(), cause: ErrClientClosed})
		case !o.waitForReady:
			return nil, notSent(&Status{Code: Unavailable, Message: err.Error(), cause: err})
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

// awaitSlot waits in order for a free slot, in a queue that is bounded over
// the whole client.
func (c *Client) awaitSlot(ctx context.Context, conn *connection) (promised bool, s *Status) {
	defer c.waiting.Add(-1)
	if n := c.waiting.Add(1); n > int64(c.options.waitingCalls) {
		return false, notSent(Errorf(ResourceExhausted, "waiting calls have reached their limit of %d", c.options.waitingCalls))
	}
	promised, ok := conn.AwaitSlot(ctx.Done())
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
