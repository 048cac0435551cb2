// Package grpc is the protocol of stock gRPC clients, over HTTP/2 (spec/http.md 3).
package grpc

import (
	"math"

	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Protocol is how a server serves it.
type Protocol struct {
	Server web.Server
	// MaxMessage is the longest message taken, as sent. 0: 64 MiB.
	MaxMessage uint32
	// Compressions are those that request messages may be in, bit n standing for number n.
	Compressions uint16
	// Limits are those of metadata; nil: the defaults.
	Limits *wire.Settings
}

var defaultLimits = wire.DefaultSettings()

func (g *Protocol) limits() *wire.Settings {
	if g.Limits != nil {
		return g.Limits
	}
	return &defaultLimits
}

func (g *Protocol) maxMessage() uint32 {
	if g.MaxMessage != 0 {
		return g.MaxMessage
	}
	return defaultLimits.Message
}

// The heads of the usual answers, by their content type, and their tail.
var (
	grpcHeads = map[string]*http2.Block{
		"application/grpc":       grpcHead("application/grpc"),
		"application/grpc+proto": grpcHead("application/grpc+proto"),
		"application/grpc+json":  grpcHead("application/grpc+json"),
	}
	grpcHeadPlain = grpcHeads["application/grpc"]
	statusOK      = http2.NewBlock(http2.Field{Name: "grpc-status", Value: "0"})
)

func grpcHead(kind string) *http2.Block {
	return http2.NewBlock(http2.Field{Name: ":status", Value: "200"}, http2.Field{Name: "content-type", Value: kind})
}

// grpcCall is one call: its stream, its head and its exchange in one object.
type grpcCall struct {
	stream   http2.Stream
	call     web.Call
	protocol *Protocol
	served   web.Served
	head     *http2.Block

	timeout  string
	encoding string
	fault    *wire.Refusal
	one      [4]wire.Pair // where the metadata begins

	first http2.Message // of a call that is Whole, until it is received
	taken bool
}

// Accept takes a request whose content type, kind, is gRPC's.
func (g *Protocol) Accept(c *http2.Conn, r *http2.Request, kind, codec string) (*http2.Stream, *http2.Answer) {
	if r.Method != "POST" {
		return nil, web.StatusAnswer(405, http2.Field{Name: "allow", Value: "POST"})
	}
	x := &grpcCall{protocol: g}
	x.call = web.Call{Method: r.Path, Protocol: "grpc", Peer: c, Owner: c.Owner, Authority: r.Authority}
	if x.head = grpcHeadPlain; kind != "application/grpc" {
		if x.head = grpcHeads[kind]; x.head == nil {
			x.head = grpcHead("application/grpc+" + codec)
		}
	}
	x.call.Codec, x.call.CodecName = web.CodecNumber(codec), codec
	x.readFields(r.Fields)
	if refusal := x.check(r); refusal != nil {
		g.Server.Refused(&x.call, refusal)
		return nil, x.refuse(refusal)
	}
	served, refusal := g.Server.Accept(&x.call)
	if refusal != nil {
		return nil, x.refuse(refusal)
	}
	x.served = served
	x.stream.Init(x)
	x.stream.Whole = served.Whole()
	x.stream.Framed = true
	x.stream.MaxMessage = g.maxMessage()
	x.stream.Pace = served.Pace()
	x.stream.Deadline = x.call.Deadline
	return &x.stream, nil
}

// check looks for what keeps a call from being served, whatever its method.
func (x *grpcCall) check(r *http2.Request) *wire.Refusal {
	switch {
	case r.TooLarge != "":
		return &wire.Refusal{Code: wire.ResourceExhausted, Message: r.TooLarge}
	case x.fault != nil:
		return x.fault
	case len(r.Path) > wire.MaxMethodName:
		return &wire.Refusal{Code: wire.InvalidArgument, Message: "the method's name is too long"}
	}
	if x.encoding != "" && x.encoding != "identity" {
		n := web.EncodingNumber(x.encoding)
		if n == 0 || x.protocol.Compressions&(1<<n) == 0 {
			return &wire.Refusal{Code: wire.Unimplemented, Message: "grpc-encoding " + x.encoding + " is not accepted here, only " + web.AcceptedEncodings(x.protocol.Compressions)}
		}
		x.call.Compression = n
		x.call.Accepts |= 1 << n
	}
	if x.timeout != "" {
		left, ok := web.ParseTimeout(x.timeout)
		if !ok {
			return &wire.Refusal{Code: wire.InvalidArgument, Message: "malformed grpc-timeout"}
		}
		if now := roles.Clock(); left < math.MaxInt64-now {
			x.call.Deadline = now + left
		}
	}
	if err := wire.CheckMetadata(x.call.Metadata, nil, x.protocol.limits()); err != nil {
		code := wire.InvalidArgument
		if err.Class == wire.ErrMetadataLimit {
			code = wire.ResourceExhausted
		}
		return &wire.Refusal{Code: code, Message: err.Error()}
	}
	return nil
}

// refuse answers a call that does not run.
func (x *grpcCall) refuse(r *wire.Refusal) *http2.Answer {
	e := &wire.Ending{Code: r.Code, Message: r.Message, Details: r.Details, Delivery: wire.Refused, RetryAfter: r.RetryAfter}
	a := x.failure(e)
	if x.encoding != "" && x.call.Compression == 0 {
		a.HeadFields = append(a.HeadFields, http2.Field{Name: "grpc-accept-encoding", Value: web.AcceptedEncodings(x.protocol.Compressions)})
	}
	return a
}

// failure is the answer of a call that failed, without a body.
func (x *grpcCall) failure(e *wire.Ending) *http2.Answer {
	return &http2.Answer{Head: x.head, TailFields: web.AppendStatus(nil, e), Merge: true}
}

// Stopped tells the server, and the caller if it still listens.
func (x *grpcCall) Stopped(why *wire.Refusal) *http2.Answer {
	refused := !x.stream.Started()
	x.served.Stopped(web.Stop{Code: why.Code, Message: why.Message, Refused: refused, Lost: x.stream.Lost()})
	e := &wire.Ending{Code: why.Code, Message: why.Message, Delivery: wire.DeliveryUnknown}
	if refused {
		e.Delivery, e.RetryAfter = wire.Refused, why.RetryAfter
	}
	return x.failure(e)
}

// Dropped tells the server.
func (x *grpcCall) Dropped() { x.served.Dropped() }

// fieldBytes is the size of a header list (RFC 9113 6.5.2).
func fieldBytes(fields []http2.Field) int {
	n := 0
	for i := range fields {
		n += len(fields[i].Name) + len(fields[i].Value) + 32
	}
	return n
}
