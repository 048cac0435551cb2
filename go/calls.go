package trunkcall

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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
	e := newUserExchange(a, x)
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
			return &wire.Refusal{Code: s.Code, Message: s.Message, RetryAfter: retryMilliseconds(s.RetryAfter)}
		}
		return &wire.Refusal{Code: Canceled, Message: "the caller has gone"}
	}
}
