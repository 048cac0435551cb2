package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// ServerCall is one call at the server: what a handler can learn of it and add
// to its answer. CallFromContext finds it. Its methods are safe for concurrent
// use until the handler has returned.
type ServerCall struct {
	// Metadata is the request's; it must not be changed.
	Metadata Metadata

	serving *serving
	handler *Handler
	codec   Codec
	stream  transport.Stream
	context handlerContext

	http *httpCall // the call that this is part of, if it came over HTTP

	admission *Admission   // nil without
	fault     *statusError // why the request could not be decoded, so that the handler did not begin

	sizeHint atomic.Uint32 // of the next message that a streaming handler sends: the last one's
	asked    atomic.Uint32 // the compression that the last compressed request was sent with
	progress atomic.Uint32 // how far the call has come, a progress
	chosen   atomic.Pointer[choice]

	mu         sync.Mutex
	headerSent bool
	accepted   bool // a one-way call was
	header     Metadata
	trailer    Metadata
}

// Method is the method that was called.
func (c *ServerCall) Method() Method { return c.handler.Method }

// Codec is the codec of the call's messages.
func (c *ServerCall) Codec() Codec { return c.codec }

// StrictJSON reports whether requests in JSON with fields that are not known are to be
// refused (WithStrictJSON).
func (c *ServerCall) StrictJSON() bool { return c.serving.options.strictJSON }

// Peer is the caller's end.
func (c *ServerCall) Peer() Peer {
	if c.http != nil {
		return c.http.peer()
	}
	return peerOf(c.stream.Conn())
}

// Authority is the host, with its port if that was said, that a caller by HTTP asked
// for; "" natively.
func (c *ServerCall) Authority() string {
	if c.http != nil {
		return c.http.call.Authority
	}
	return ""
}

// Connection is the connection that the call came over. Through it the server can call its client,
// if that speaks Trunkcall, also while the call is open. It is nil for a call of a Protocol without
// connections.
func (c *ServerCall) Connection() *Connection {
	if c.http != nil {
		return c.http.connection()
	}
	return connectionOf(c.stream.Conn())
}

func peerOf(conn *transport.Conn) Peer {
	if conn == nil {
		return Peer{}
	}
	return Peer{Remote: conn.Remote(), Local: conn.Local(), TLS: conn.TLS()}
}

// errHeaderSent is returned when the answer has begun already.
var errHeaderSent = Errorf(Internal, "the answer has begun, its header can no longer be changed")

// SetHeader adds to the metadata that goes ahead of the answer. It fails once
// that was sent, and for metadata that the caller would not take.
func (c *ServerCall) SetHeader(m Metadata) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.headerSent {
		return errHeaderSent
	}
	return c.addTo(&c.header, m)
}

// SendHeader adds m to the header and sends it now.
func (c *ServerCall) SendHeader(m Metadata) error {
	if err := c.SetHeader(m); err != nil {
		return err
	}
	if c.http != nil {
		return c.http.sendHeader(true)
	}
	c.sendHeader()
	return nil
}

// SetTrailer adds to the metadata that goes with the end of the call.
func (c *ServerCall) SetTrailer(m Metadata) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addTo(&c.trailer, m)
}

func (c *ServerCall) addTo(to *Metadata, m Metadata) error {
	sum := append((*to)[:len(*to):len(*to)], m...)
	limits := c.peerLimits()
	if err := wire.CheckMetadata(sum, nil, &limits); err != nil {
		code := Internal // the fault is the handler's
		if err.Class == wire.ErrMetadataLimit {
			code = ResourceExhausted
		}
		return Status{Code: code, Message: "the answer's metadata: " + err.Text, cause: err}.Err()
	}
	*to = sum
	return nil
}

// peerLimits are what the caller takes; what other protocols do not tell is taken
// to be what this side takes.
func (c *ServerCall) peerLimits() wire.Settings {
	if c.http != nil {
		return c.serving.options.local
	}
	return c.stream.Conn().PeerLimits()
}

// sendHeader sends the header once, if there is one.
func (c *ServerCall) sendHeader() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.headerSent && len(c.header) > 0 {
		c.stream.SendMetadata(c.header)
	}
	c.headerSent = true
}

// Decode fills in the request of a unary call. It is for Handler.Unary, which must call it once,
// before anything else: if the request cannot be decoded, the caller is told that the handler did
// not run.
func (c *ServerCall) Decode(request any) error { return c.decode(c.codec, request) }

// decodeNew is Decode into a request that was just made.
func (c *ServerCall) decodeNew(request any) error { return c.decode(forNew(c.codec), request) }

func (c *ServerCall) decode(codec Codec, request any) error {
	m, ok := c.stream.TakeFirst()
	var err error
	switch {
	case ok:
		err = c.decodeRequest(codec, &m, request)
	case c.http == nil:
		return Errorf(Internal, "%s decodes its request twice", c.handler.Method.Name)
	default:
		err = c.http.decode(request)
	}
	if err == nil && !c.Intercepted() {
		return c.acceptOneWay()
	}
	return c.undecoded(err)
}

// Intercepted reports whether the server has interceptors, which Intercept
// would run.
func (c *ServerCall) Intercepted() bool { return len(c.serving.interceptors) > 0 }

// Intercept runs the server's interceptors around serve, for Handler.Unary.
func (c *ServerCall) Intercept(
	ctx context.Context, request any, serve func(ctx context.Context, request any) (any, error),
) (any, error) {
	call := c.describe()
	call.Request = request
	c.progress.Store(uint32(notEntered))
	err := call.run(ctx, c.serving.interceptors, func(ctx context.Context, call *Call) (err error) {
		if err := c.acceptOneWay(); err != nil {
			return err
		}
		c.progress.Store(uint32(entered))
		defer c.left()
		call.Response, err = serve(ctx, call.Request)
		return err
	})
	if err == nil && call.Response == nil && c.handler.Method.Kind == KindUnary {
		err = c.leftUnanswered()
	}
	if adopted := c.adopt(call); adopted != nil {
		call.Response, err = nil, adopted
	}
	c.tellEnd(call, err)
	return call.Response, err
}

// tellEnd tells interceptors how the call has ended.
func (c *ServerCall) tellEnd(call *Call, err error) {
	if len(call.ends) == 0 {
		return
	}
	s := StatusOf(err)
	if s.Code != OK {
		s.Delivery = c.delivery(err)
	}
	call.ended(s)
}

func (c *ServerCall) describe() *Call {
	return &Call{Method: c.handler.Method, Metadata: c.Metadata, Peer: c.Peer()}
}

// adopt takes over the metadata that interceptors left on their Call.
func (c *ServerCall) adopt(call *Call) error {
	if len(call.Header) > 0 {
		if err := c.SetHeader(call.Header); err != nil {
			return err
		}
	}
	if len(call.Trailer) > 0 {
		return c.SetTrailer(call.Trailer)
	}
	return nil
}

// Serve runs the handler of a call on a worker.
func (s acceptor) Serve(w *roles.Worker, st *transport.Stream) {
	c := st.Owner.(*ServerCall) //nolint:forcetypeassert // Accept sets nothing else
	if s.options.unshared {
		alone(func() { s.run(w, st, c) })
		return
	}
	s.run(w, st, c)
}

// alone runs f on a goroutine of its own and waits for that to end.
func alone(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done) // also if f ends the goroutine
		f()
	}()
	<-done
}

// run runs the handler on the goroutine that it is called on.
func (s acceptor) run(w *roles.Worker, st *transport.Stream, c *ServerCall) {
	withoutLabels()
	if st.OneWay() {
		stop := c.watchOneWay()
		defer func() { s.finishOneWay(w, c, stop) }()
	}
	returned := false
	defer func() {
		c.leave()
		if p := recover(); !returned { // p is nil when the handler ended its goroutine
			c.panicked(&w.Ending, p)
		}
		c.context.cancel(context.Canceled)
	}()
	response, err := c.serve()
	c.finish(w, response, err)
	returned = true
}

// withoutLabels takes off what profiler labels an earlier handler has left on the goroutine.
func withoutLabels() { pprof.SetGoroutineLabels(noContext) }

// panicked is how a call ends whose handler has panicked, with p.
func (c *ServerCall) panicked(e *wire.Ending, p any) {
	id := newErrorID()
	c.serving.options.journal.panicked("handler panicked", p, "method", c.handler.Method.Name, "id", id)
	*e = wire.Ending{Code: Internal, Message: c.untold("panicked", id), Delivery: c.delivery(nil)}
}

func (c *ServerCall) serveStream() error {
	var stream Stream = (*serverStream)(c)
	if !c.Intercepted() {
		if err := c.acceptOneWay(); err != nil {
			return err
		}
		return c.runStream(&c.context, stream)
	}
	call := c.describe()
	call.Stream = stream
	c.progress.Store(uint32(notEntered))
	err := call.run(&c.context, c.serving.interceptors, func(ctx context.Context, call *Call) error {
		if err := c.acceptOneWay(); err != nil {
			return err
		}
		c.progress.Store(uint32(entered))
		defer c.left()
		return c.runStream(ctx, call.Stream)
	})
	if adopted := c.adopt(call); adopted != nil && err == nil && !errors.Is(adopted, errHeaderSent) {
		err = adopted
	}
	c.tellEnd(call, err)
	return err
}

// finish says how the call ended.
func (c *ServerCall) finish(w *roles.Worker, response any, err error) {
	refused := err != nil && c.delivery(err) == Refused
	c.mu.Lock()
	if refused {
		c.keepHeaderLocked()
	}
	hasHeader := len(c.header) > 0
	w.Ending = wire.Ending{Metadata: c.trailer}
	c.mu.Unlock()
	if hasHeader {
		c.sendHeader()
	}
	answers := c.handler.Method.Kind == KindUnary && !c.stream.OneWay()
	if err == nil && answers {
		if w.Scratch, err = c.codec.Append(w.Scratch[:0], response); err != nil {
			err = c.uncarriedResponse(err)
		} else if err = c.checkSize(len(w.Scratch)); err == nil && c.packs() {
			c.packAnswer(w)
		}
	}
	if err != nil {
		c.failed(&w.Ending, err)
		return
	}
	if answers {
		w.Ending.HasMessage, w.Ending.Payload = true, w.Scratch
	}
}

// keepHeaderLocked sends the header of a refused call together with its end, if it fits. Sent
// ahead, it would say that the call has begun.
func (c *ServerCall) keepHeaderLocked() {
	if !c.headerSent && len(c.header) > 0 {
		_ = c.addTo(&c.trailer, c.header)
		c.header = nil
	}
}

// uncarriedResponse logs and tells that the codec cannot write the response.
func (c *ServerCall) uncarriedResponse(err error) error {
	why := err
	if said, ok := statusWithin(err); ok && said.cause != nil {
		why = said.cause
	}
	c.unsent(why)
	return c.uncarried(Internal, "response", err)
}

// unsent logs why a response cannot be sent, always: the owner of the server is who can mend it.
func (c *ServerCall) unsent(why error) {
	c.serving.options.journal.failed("response cannot be carried", "method", c.handler.Method.Name, "error", why)
}

// leftUnanswered logs and tells that interceptors ended a call in success without a response.
func (c *ServerCall) leftUnanswered() error {
	text := "an interceptor of the " + c.serving.side + " left no response"
	if progress(c.progress.Load()) == notEntered {
		text = "an interceptor of the " + c.serving.side + " neither went on nor answered"
	}
	c.unsent(errors.New(text))
	return Errorf(Internal, "%s", text)
}

// wrongRequest is for a request that an interceptor has replaced by one that the handler cannot
// take: it logs that and returns the error.
func (c *ServerCall) wrongRequest(request any) error {
	c.serving.options.journal.failed("request cannot be carried", "method", c.handler.Method.Name,
		"error", fmt.Sprintf("an interceptor replaced it by a %T", request))
	return Errorf(Internal, "an interceptor replaced the request by one of another type")
}

// uncarried is the error for a message that the codec could not write or read. Names of this side's
// types are not told to the caller.
func (c *ServerCall) uncarried(code Code, what string, err error) error {
	if _, said := statusWithin(err); !said && errors.Is(err, ErrMessageType) {
		code := Internal
		if what == "request" {
			code = Unimplemented // whoever calls in another codec may fare better
		}
		return Status{Code: code, Message: "codec " + c.codec.Name() + " cannot carry the messages of this method", cause: err}.Err()
	}
	return uncarried(code, what, c.codec, err)
}

// checkSize refuses a message that the caller would not take.
func (c *ServerCall) checkSize(size int) error {
	if size <= wire.MinPiece {
		return nil // nearly always; a lower limit of the peer's is its own to enforce
	}
	if limits := c.stream.Conn().PeerLimits(); uint64(size) > uint64(limits.Message) {
		err := Errorf(ResourceExhausted, "response of %d bytes exceeds the caller's max_message %d%s", size, limits.Message, raiseIt)
		c.unsent(err)
		return err
	}
	return nil
}

// serverStream is a ServerCall as the Stream of its handler.
type serverStream ServerCall

func (s *serverStream) Send(message any) error {
	c := (*ServerCall)(s)
	if c.http != nil {
		return c.http.send(message)
	}
	if c.stream.OneWay() {
		return nil // nobody asked for answers
	}
	buffer := transport.GetBuffer(int(c.sizeHint.Load()))
	var err error
	if buffer.B, err = c.codec.Append(buffer.B, message); err != nil {
		return c.uncarriedResponse(err)
	}
	if err := c.checkSize(len(buffer.B)); err != nil {
		return err
	}
	c.sendHeader()
	c.sizeHint.Store(uint32(len(buffer.B)))
	compression := uint8(0)
	if c.packs() {
		buffer, compression = c.packBuffer(buffer)
	}
	if err := c.stream.Send(buffer, compression, false); transport.Misused(err) {
		return Errorf(Internal, "%v", err)
	} else if err != nil {
		return c.stopped()
	}
	return nil
}

func (s *serverStream) Receive(message any) error {
	c := (*ServerCall)(s)
	if c.http != nil {
		return c.http.receive(message)
	}
	m, err := c.stream.Receive()
	if err != nil {
		if transport.Misused(err) {
			return Errorf(Internal, "%v", err)
		}
		if c.context.Err() != nil {
			return c.stopped()
		}
		return io.EOF
	}
	return c.decodeRequest(c.codec, &m, message)
}

func (s *serverStream) CloseSend() error { return nil }

// stopped is what a handler is told when its call ended without it.
func (c *ServerCall) stopped() error {
	if err := c.context.Err(); err != nil {
		return StatusOf(err).Err()
	}
	return Errorf(Canceled, "the call is over")
}
