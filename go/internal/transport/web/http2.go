package web

import (
	"strconv"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// HTTP2 is the protocols on HTTP/2: which one a request comes through is decided by
// its content type, for each request anew.
type HTTP2 struct {
	GRPC Direct
	// Other is asked about requests that are not gRPC's; nil: they get 415.
	Other func(c *http2.Conn, r *http2.Request) (*http2.Stream, *http2.Answer)
	// OnClosed is told of each connection that is over; it may be nil.
	OnClosed func(c *http2.Conn, err error)
}

// Direct is a protocol that takes requests from the engine of HTTP/2 itself, as that of gRPC does for speed.
type Direct interface {
	// Accept takes a request whose content type is kind, which names this codec.
	Accept(c *http2.Conn, r *http2.Request, kind, codec string) (*http2.Stream, *http2.Answer)
}

// Exchanging is what owns a stream: a call at one of the protocols.
type Exchanging interface {
	Serve(w *roles.Worker)
	Stopped(why *wire.Refusal) *http2.Answer
	Dropped()
}

// Accept finds the protocol.
func (h *HTTP2) Accept(c *http2.Conn, r *http2.Request) (*http2.Stream, *http2.Answer) {
	kind := ""
	for i := range r.Fields {
		if r.Fields[i].Name == "content-type" {
			kind = r.Fields[i].Value
			break
		}
	}
	if name, ok := grpcCodec(kind); ok {
		return h.GRPC.Accept(c, r, kind, name)
	}
	if h.Other != nil {
		return h.Other(c, r)
	}
	if r.TooLarge != "" {
		return nil, StatusAnswer(431)
	}
	return nil, StatusAnswer(415)
}

// Serve runs a call.
func (h *HTTP2) Serve(w *roles.Worker, s *http2.Stream) { exchanging(s).Serve(w) }

// Dropped passes it on.
func (h *HTTP2) Dropped(s *http2.Stream) { exchanging(s).Dropped() }

// Stopped passes it on.
func (h *HTTP2) Stopped(s *http2.Stream, why *wire.Refusal) *http2.Answer {
	return exchanging(s).Stopped(why)
}

// Closed passes it on.
func (h *HTTP2) Closed(c *http2.Conn, err error) {
	if h.OnClosed != nil {
		h.OnClosed(c, err)
	}
}

func exchanging(s *http2.Stream) Exchanging {
	return s.Owner.(Exchanging) //nolint:forcetypeassert // the protocols set nothing else
}

// StatusAnswer is an answer of HTTP without a body.
func StatusAnswer(status int, fields ...http2.Field) *http2.Answer {
	return &http2.Answer{HeadFields: append([]http2.Field{
		{Name: ":status", Value: strconv.Itoa(status)}, {Name: "content-length", Value: "0"},
	}, fields...)}
}

// grpcCodec takes the codec's name out of a content type, if that is gRPC's.
func grpcCodec(kind string) (codec string, ok bool) {
	const base = "application/grpc"
	if len(kind) < len(base) || !strings.EqualFold(kind[:len(base)], base) {
		return "", false
	}
	rest := kind[len(base):]
	if i := strings.IndexByte(rest, ';'); i >= 0 {
		rest = strings.TrimSpace(rest[:i])
	}
	switch {
	case rest == "":
		return "proto", true
	case rest[0] == '+' && len(rest) > 1:
		return strings.ToLower(rest[1:]), true
	}
	return "", false
}
