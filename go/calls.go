package trunkcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// How users' protocols hand over calls. They use the same interface as the protocols of package
// web, without its rules for speed (buffers with free space in front, no waiting under a lock).

// Calls is where a Protocol hands over the calls that come by it. Its methods are safe for concurrent use.
type Calls struct {
	server *Server
	name   string // of the protocol

	mu    sync.Mutex
	calls map[*AcceptedCall]struct{} // of no connection, not over
}

// IncomingCall is a call that has come by a Protocol, as that knows it.
type IncomingCall struct {
	Method   string // "/package.Service/Method"
	Metadata Metadata
	// Codec is the name of the codec that messages are in (Codec.Name): "protobuf", "json".
	Codec string
	// Compression is the name of the one that messages of the request may be in, "" for none; Accepts those that
	// messages of the answer may be in.
	Compression string
	Accepts     []string
	// Deadline is when the call ends; zero: it has none of its own.
	Deadline time.Time
	// Authority is the host that the caller asked for, if it did.
	Authority string
	// Conn is the connection that it came over; nil if it came another way, which Peer then
	// describes.
	Conn *PortConn
	Peer Peer
}

// AcceptedCall is a call that the server serves. Either Serve or Drop is to be called, once.
type AcceptedCall struct {
	calls    *Calls
	link     *portLink // nil without a connection
	call     web.Call
	served   *httpCall
	deadline time.Time

	ctx    context.Context
	cancel context.CancelCauseFunc

	gone sync.Once // the server waits no more for it

	mu    sync.Mutex
	state callState
}

type callState uint8

const (
	callAccepted callState = iota
	callStarting           // Serve waits for the request
	callRuns
	callOver
)

// Method returns what is served under a name.
func (c *Calls) Method(name string) (m Method, ok bool) {
	h := c.server.named(name)
	if h == nil {
		return m, false
	}
	return h.Method, true
}

// Accept decides about a call, before any of its messages is asked for. The error is a StatusError with the delivery Refused: nobody
// serves the method, a limit was reached, or the server stops. Admission is asked by AcceptedCall.Serve. Accept does not wait,
// and does not call the protocol.
func (c *Calls) Accept(in *IncomingCall) (*AcceptedCall, error) {
	a := &AcceptedCall{calls: c, deadline: in.Deadline}
	a.call = web.Call{
		Method: in.Method, Codec: web.NamedCodec, CodecName: in.Codec, Metadata: in.Metadata, Authority: in.Authority, Protocol: c.name,
		Peer: callPeer{peer: in.Peer, name: c.name},
	}
	if in.Conn != nil {
		a.link, a.call.Owner, a.call.Peer = in.Conn.link, in.Conn.connection, in.Conn.link
	}
	methods := httpMethods{&c.server.serving}
	if refusal := c.check(a, in); refusal != nil {
		methods.Refused(&a.call, refusal)
		return nil, refused(refusal)
	}
	served, refusal := methods.open(&a.call)
	if refusal != nil {
		methods.Refused(&a.call, refusal)
		return nil, refused(refusal)
	}
	a.served = served
	a.ctx, a.cancel = context.WithCancelCause(noContext)
	if !c.add(a) {
		refusal := &wire.Refusal{Code: Unavailable, Message: "the server is stopping", RetryAfter: 1}
		served.Dropped()
		methods.Refused(&a.call, refusal)
		return nil, refused(refusal)
	}
	return a, nil
}

// refused is what the protocol is told of a call that is not accepted.
func refused(r *wire.Refusal) error {
	return Status{
		Code: r.Code, Message: r.Message, Details: r.Details, Delivery: Refused, RetryAfter: time.Duration(r.RetryAfter) * time.Millisecond,
	}.Err()
}

// check looks for what keeps a call from being served, whatever its method.
func (c *Calls) check(a *AcceptedCall, in *IncomingCall) *wire.Refusal {
	options := &c.server.options
	if len(in.Method) > wire.MaxMethodName {
		return &wire.Refusal{Code: InvalidArgument, Message: "the method's name is too long"}
	}
	if err := wire.CheckMetadata(in.Metadata, nil, &options.local); err != nil {
		code := InvalidArgument
		if err.Class == wire.ErrMetadataLimit {
			code = ResourceExhausted
		}
		return &wire.Refusal{Code: code, Message: err.Error()}
	}
	if !in.Deadline.IsZero() {
		left := time.Until(in.Deadline)
		if left <= 0 {
			return &wire.Refusal{Code: DeadlineExceeded, Message: "the deadline has passed"}
		}
		a.call.Deadline = roles.Clock() + int64(left)
	}
	for _, one := range options.compressions.byCode {
		for _, name := range in.Accepts {
			if one != nil && one.Name() == name {
				a.call.Accepts |= 1 << one.Number()
			}
		}
		if one != nil && one.Name() == in.Compression {
			a.call.Compression = one.Number()
		}
	}
	if in.Compression != "" && a.call.Compression == 0 {
		return &wire.Refusal{Code: Unimplemented, Message: fmt.Sprintf("the compression %q is not accepted here", in.Compression)}
	}
	return nil
}

// add has the server wait for a call. It fails when the server takes no more.
func (c *Calls) add(a *AcceptedCall) bool {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping || a.link != nil && !a.link.add(a) {
		return false
	}
	if a.link == nil {
		s.done.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.calls[a] = struct{}{}
	}
	return true
}

// remove is the end of add.
func (c *Calls) remove(a *AcceptedCall) {
	a.gone.Do(func() {
		if a.link != nil {
			a.link.remove(a)
			return
		}
		c.mu.Lock()
		delete(c.calls, a)
		c.mu.Unlock()
		c.server.done.Done()
	})
}

// cutOff ends the calls that came by no connection.
func (c *Calls) cutOff(why error) {
	c.mu.Lock()
	var all []*AcceptedCall
	for a := range c.calls {
		all = append(all, a)
	}
	c.mu.Unlock()
	for _, a := range all {
		a.end(why)
		time.AfterFunc(transport.LingerTime, func() { c.remove(a) }) // whether its protocol returns or not
	}
}

// callPeer is the other end of a call that came by no connection.
type callPeer struct {
	peer Peer
	name string
}

func (p callPeer) Remote() net.Addr { return p.address(p.peer.Remote) }
func (p callPeer) Local() net.Addr  { return p.address(p.peer.Local) }

// TLS is the state of TLS, if the protocol knows of one.
func (p callPeer) TLS() *tls.ConnectionState { return p.peer.TLS }

func (p callPeer) address(a net.Addr) net.Addr {
	if a == nil {
		return protocolAddress(p.name)
	}
	return a
}

// protocolAddress stands for an address that there is none of.
type protocolAddress string

func (a protocolAddress) Network() string { return string(a) }
func (a protocolAddress) String() string  { return string(a) }

// Method is the one that was called.
func (a *AcceptedCall) Method() Method { return a.served.handler.Method }

// Compression is the name of the one that messages of the answer may be in, "" for none. Handlers may choose it until
// they send.
func (a *AcceptedCall) Compression() string {
	if one := a.served.packsWith(); one != nil {
		return one.Name()
	}
	return ""
}

// Drop gives up a call that will not be served.
func (a *AcceptedCall) Drop() { a.dropped() }

// end ends the call without its handler.
func (a *AcceptedCall) end(why error) {
	a.cancel(why)
	a.mu.Lock()
	idle := a.state == callAccepted
	a.mu.Unlock()
	if idle {
		a.dropped()
	}
}

// dropped ends a call whose handler has not begun.
func (a *AcceptedCall) dropped() {
	a.mu.Lock()
	begun := a.state >= callRuns
	if !begun {
		a.state = callOver
	}
	a.mu.Unlock()
	if begun {
		return
	}
	a.cancel(nil)
	a.served.Dropped()
	a.calls.remove(a)
}

// begins moves the call on from one state, which it must have.
func (a *AcceptedCall) begins(from, to callState) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state != from {
		return false
	}
	a.state = to
	return true
}

// Serve serves the call: it receives and sends the messages through x, and returns how the call
// ended, with the trailer for its caller. The error is nil or a StatusError. Its Delivery says
// whether the handler ran; its RetryAfter, when a refused call may come again. When ctx or the
// call's deadline ends, or the grace of the server, Serve returns without waiting for the handler.
func (a *AcceptedCall) Serve(ctx context.Context, x Exchange) (trailer Metadata, err error) {
	if !a.begins(callAccepted, callStarting) {
		return nil, Status{Code: Unavailable, Message: "the call is over", Delivery: Refused}.Err()
	}
	defer context.AfterFunc(ctx, func() { a.cancel(context.Cause(ctx)) })()
	if !a.deadline.IsZero() {
		defer time.AfterFunc(time.Until(a.deadline), func() { a.cancel(context.DeadlineExceeded) }).Stop()
	}
	e := &userExchange{call: a, user: x, limit: int(a.calls.server.options.local.Message)}
	defer a.calls.remove(a)
	defer e.leave()
	if refusal := e.readFirst(); refusal != nil {
		a.dropped()
		httpMethods{a.served.serving}.Refused(&a.call, refusal)
		return nil, refused(refusal)
	}
	if !a.begins(callStarting, callRuns) {
		return nil, Status{Code: Unavailable, Message: "the call is over", Delivery: Refused}.Err()
	}
	done := make(chan *web.Answer, 1)
	go func() {
		answer := &web.Answer{Scratch: make([]byte, web.Headroom, 1<<10)}
		defer func() {
			e.free()
			done <- answer
		}()
		a.served.Serve(e, answer)
	}()
	select {
	case answer := <-done:
		a.begins(callRuns, callOver)
		return e.finish(answer)
	case <-a.ctx.Done():
		why := a.why()
		a.begins(callRuns, callOver)
		a.served.Stopped(web.Stop{Code: why.Code, Message: why.Message, Lost: why.Code == Canceled})
		return nil, Status{Code: why.Code, Message: why.Message}.Err()
	}
}

// why is why the call was ended without its handler.
func (a *AcceptedCall) why() *wire.Refusal {
	switch cause := context.Cause(a.ctx); {
	case errors.Is(cause, context.DeadlineExceeded):
		return &wire.Refusal{Code: DeadlineExceeded, Message: "the deadline has passed"}
	default:
		if s, ours := statusWithin(cause); ours {
			return &wire.Refusal{Code: s.Code, Message: s.Message}
		}
		return &wire.Refusal{Code: Canceled, Message: "the caller has gone"}
	}
}

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
}

var errRequestCut = &web.Fault{Code: InvalidArgument, Text: "the request is cut off"}

// contained makes a panic of the protocol's the end of its call.
func (e *userExchange) contained(err *error) {
	if p := recover(); p != nil {
		e.call.served.serving.options.journal.panicked("a protocol panicked", p, "protocol", e.call.calls.name)
		*err = &web.Fault{Code: Internal, Text: "the protocol " + e.call.calls.name + " failed"}
	}
}

// next has the protocol receive a message.
func (e *userExchange) next() (message *transport.Buffer, compressed bool, err error) {
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
	message = transport.GetBuffer(len(m))
	message.B = append(message.B, m...)
	return message, compressed, nil
}

// readFirst receives the request of a handler that takes one, or says why the handler does not begin.
func (e *userExchange) readFirst() *wire.Refusal {
	if !e.call.served.Whole() {
		return nil
	}
	m, packed, err := e.next()
	if errors.Is(err, io.EOF) {
		err = &web.Fault{Code: Unimplemented, Text: "the method takes one request, and none was sent"}
	}
	if err == nil {
		e.first, e.packed = m, packed
		var more *transport.Buffer
		if more, _, err = e.next(); errors.Is(err, io.EOF) {
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
	return &wire.Refusal{Code: fault.Code, Message: fault.Text}
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
}

// Receive implements web.Exchange.
func (e *userExchange) Receive() (message *transport.Buffer, compressed bool, err error) {
	if !e.call.served.Whole() {
		return e.next()
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
