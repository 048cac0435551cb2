package grpc

import (
	"errors"
	"fmt"
	"io"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Serve runs the call on a worker.
func (x *grpcCall) Serve(w *roles.Worker) {
	a, ok := w.Local.(*web.Answer)
	if !ok {
		a = &web.Answer{}
		w.Local = a
	}
	if x.stream.Whole && !x.takeOnly() {
		x.served.Dropped()
		return
	}
	a.Scratch = w.Scratch
	if cap(a.Scratch) < web.Headroom {
		a.Scratch = make([]byte, web.Headroom, 1<<10)
	}
	x.served.Serve(x, a)
	if x.first != (http2.Message{}) {
		x.first.Free()
	}
	w.Scratch = a.Scratch
	if x.finish(a) {
		w.Scratch = nil // it is the stream's now
	}
	*a = web.Answer{}
}

// takeOnly takes the message of a call that takes exactly one, or refuses the
// call.
func (x *grpcCall) takeOnly() bool {
	m, n, err := x.stream.TakeOnly()
	if err == nil && n == 1 {
		x.first = m
		return true
	}
	m.Free()
	e := &wire.Ending{Code: wire.Unimplemented, Delivery: wire.Refused}
	e.Message = fmt.Sprintf("the method takes one request, and %d were sent", n)
	if err != nil {
		e.Code, e.Message = wire.InvalidArgument, "the request is cut off within a message"
	}
	x.stream.Finish(x.failure(e))
	return false
}

// finish sends how the call ended. It reports whether a.Scratch is in use.
func (x *grpcCall) finish(a *web.Answer) (kept bool) {
	answer := http2.Answer{Head: x.head}
	e := &a.Ending
	if e.HasMessage {
		answer.Body = web.Frame(a.Scratch, e.Compression != 0)
	} else {
		answer.Merge = len(a.Header) == 0
	}
	if len(a.Header) > 0 || e.HasMessage && x.served.Compression() != 0 {
		answer.HeadFields = x.headFields(a.Header)
	}
	if e.Code == wire.OK && len(e.Metadata) == 0 {
		answer.Tail = statusOK
	} else {
		answer.TailFields = x.fit(e)
	}
	return x.stream.Finish(&answer)
}

// fit makes the trailers short enough for the peer: details go first, then the
// trailers' metadata, then the end of the message.
func (x *grpcCall) fit(e *wire.Ending) []http2.Field {
	fields := web.AppendStatus(nil, e)
	limit := x.stream.PeerFieldBytes()
	if limit == 0 || fieldBytes(fields) <= limit {
		return fields
	}
	short := wire.Ending{Code: e.Code, Message: e.Message, Metadata: e.Metadata, Delivery: e.Delivery, RetryAfter: e.RetryAfter}
	if fields = web.AppendStatus(nil, &short); fieldBytes(fields) <= limit {
		return fields
	}
	if short.Metadata = nil; len(short.Message) > 128 {
		short.Message = short.Message[:128]
	}
	return web.AppendStatus(nil, &short)
}

// headFields is what a header has beyond its block.
func (x *grpcCall) headFields(m wire.Metadata) []http2.Field {
	var fields []http2.Field
	if packed := x.served.Compression(); packed != 0 {
		fields = append(fields,
			http2.Field{Name: "grpc-encoding", Value: web.Encodings[packed]},
			http2.Field{Name: "grpc-accept-encoding", Value: web.AcceptedEncodings(x.protocol.Compressions)})
	}
	return web.AppendMetadata(fields, m)
}

// Receive implements Exchange.
func (x *grpcCall) Receive() (message *transport.Buffer, compressed bool, err error) {
	m := x.first
	x.first = http2.Message{}
	if x.stream.Whole {
		if x.taken {
			return nil, false, io.EOF
		}
		x.taken = true
	} else {
		switch m, err = x.stream.Receive(); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, false, &web.Fault{Code: wire.InvalidArgument, Text: "the request is cut off within a message"}
		case errors.Is(err, io.EOF):
			return nil, false, io.EOF
		case transport.Misused(err):
			return nil, false, err
		case err != nil:
			return nil, false, web.ErrOver
		}
	}
	switch {
	case m.Flags > 1:
		err = &web.Fault{Code: wire.Internal, Text: fmt.Sprintf("a message has the flags %#x, which mean nothing", m.Flags)}
	case m.Flags == 1 && x.call.Compression == 0:
		err = &web.Fault{Code: wire.Internal, Text: "a message is compressed, and no grpc-encoding says how"}
	}
	if err != nil {
		m.Free()
		return nil, false, err
	}
	compressed = m.Flags == 1
	return m.Take(), compressed, nil
}

// SendHeader implements Exchange.
func (x *grpcCall) SendHeader(m wire.Metadata) error {
	if x.stream.SendHeader(x.head, x.headFields(m)) != nil {
		return web.ErrOver
	}
	return nil
}

// Send implements Exchange.
func (x *grpcCall) Send(message *transport.Buffer, compressed bool) error {
	message.B = web.Frame(message.B, compressed)
	var fields []http2.Field
	if x.served.Compression() != 0 {
		fields = x.headFields(nil)
	}
	err := x.stream.SendAfter(x.head, fields, message)
	if err != nil && !transport.Misused(err) {
		return web.ErrOver
	}
	return err
}
