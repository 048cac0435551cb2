package web

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// OverHTTP2 returns what serves requests of HTTP/2 by the handler that serves those
// of HTTP/1.1, for HTTP2.Other.
func OverHTTP2(handler *HTTP) func(c *http2.Conn, r *http2.Request) (*http2.Stream, *http2.Answer) {
	return func(c *http2.Conn, r *http2.Request) (*http2.Stream, *http2.Answer) {
		if r.TooLarge != "" {
			return nil, StatusAnswer(http.StatusRequestHeaderFieldsTooLarge)
		}
		location, err := url.ParseRequestURI(r.Path)
		if err != nil {
			return nil, StatusAnswer(http.StatusBadRequest)
		}
		x := &http2Request{handler: handler, header: http.Header{}}
		x.peer = http2Peer{c, x}
		ctx, cancel := context.WithCancelCause(withPeer(context.Background(), x.peer))
		x.cancel = cancel
		x.request = (&http.Request{
			Method: r.Method, URL: location, RequestURI: r.Path, Host: r.Authority,
			Proto: "HTTP/2.0", ProtoMajor: 2, ContentLength: r.Length,
			Header: headerOf(r.Fields), Body: (*http2Body)(x), RemoteAddr: c.Remote().String(),
		}).WithContext(ctx)
		if r.Ended {
			x.request.ContentLength = 0
		}
		x.stream.Init(x)
		// Requests other than POST are answered once they are whole, so that one that turns out to
		// be malformed gets no answer.
		x.stream.Whole, x.stream.MaxMessage = r.Method != http.MethodPost, firstRoom
		return &x.stream, nil
	}
}

func headerOf(fields []http2.Field) http.Header {
	h := make(http.Header, len(fields))
	for i := range fields {
		name := http.CanonicalHeaderKey(fields[i].Name)
		h[name] = append(h[name], fields[i].Value)
	}
	return h
}

// http2Request is one request, as the http.ResponseWriter of its handler.
type http2Request struct {
	stream  http2.Stream
	handler *HTTP
	request *http.Request
	peer    http2Peer
	cancel  context.CancelCauseFunc
	fate    atomic.Int32 // whether the call began, or the request was ended before

	header http.Header
	status int               // 0: not said yet
	fields []http2.Field     // of the header, once status is said
	out    *transport.Buffer // written, not sent
	piece  []byte            // of the body, arrived and not read
	held   http2.Message     // that piece is of
}

// http2Peer is the connection of a request, and the request.
type http2Peer struct {
	*http2.Conn
	request *http2Request
}

// What became of a request first.
const (
	fateBegun = iota + 1
	fateStopped
)

// Begins reports whether the call that the request makes may start: not if its caller was
// told already that it did not.
func (p http2Peer) Begins() bool { return p.request.fate.CompareAndSwap(0, fateBegun) }

func (p http2Peer) Owned() any { return p.Owner }

// Closing is false: HTTP/2 says that by itself.
func (p http2Peer) Closing() bool { return false }

// Interrupt resets the request if it is to end a write. Reading ends with the
// answer.
func (p http2Peer) Interrupt(reading bool) {
	if !reading {
		p.request.stream.Reset(h2.ErrCodeCancel)
	}
}

// Serve runs the handler.
func (x *http2Request) Serve(*roles.Worker) {
	defer x.cancel(nil)
	x.handler.ServeHTTP(x, x.request)
	x.WriteHeader(http.StatusOK)
	answer := http2.Answer{HeadFields: x.fields}
	if x.out != nil && x.request.Method != http.MethodHead { // whose answers have no body
		answer.Body = x.out.B
	}
	if !x.stream.Finish(&answer) && x.out != nil {
		x.out.Free()
	}
	x.out = nil
}

// Stopped has the handler's context cancelled, and tells the caller as its protocol has it.
func (x *http2Request) Stopped(why *wire.Refusal) *http2.Answer {
	if x.stream.Lost() || why.Code == wire.Canceled {
		x.cancel(nil)
		return nil
	}
	x.cancel(&severed{*why})
	e := wire.Ending{Code: why.Code, Message: why.Message, Delivery: wire.DeliveryUnknown}
	if x.fate.CompareAndSwap(0, fateStopped) {
		e.Delivery, e.RetryAfter = wire.Refused, why.RetryAfter
	}
	if x.stream.Held() {
		return StatusAnswer(httpStatus(why.Code)) // within a message nothing can be said
	}
	return x.handler.endOf(x.request, &e)
}

// endOf is the answer to a request that is ended without its handler; its header is left out
// where one was sent.
func (h *HTTP) endOf(r *http.Request, e *wire.Ending) *http2.Answer {
	w := &http2Request{header: http.Header{}}
	if spoken, codec := h.dialectOf(r.Header.Get("Content-Type")); spoken == nil || spoken.Plain() {
		writeError(w, 0, e)
	} else {
		w.header.Set("Content-Type", spoken.ContentType(codec))
		_, _ = w.Write(spoken.Encode(spoken.End(e)))
	}
	return &http2.Answer{HeadFields: w.fields, Body: w.out.B}
}

// Dropped lets go of a request whose handler did not start.
func (x *http2Request) Dropped() { x.cancel(nil) }

// Header implements http.ResponseWriter.
func (x *http2Request) Header() http.Header { return x.header }

// WriteHeader implements http.ResponseWriter.
func (x *http2Request) WriteHeader(status int) {
	if x.status != 0 {
		return
	}
	x.status = status
	x.fields = append(x.fields, http2.Field{Name: ":status", Value: strconv.Itoa(status)})
	for name, values := range x.header {
		name = strings.ToLower(name)
		if name == "connection" || !httpguts.ValidHeaderFieldName(name) {
			continue
		}
		for _, value := range values {
			if httpguts.ValidHeaderFieldValue(value) {
				x.fields = append(x.fields, http2.Field{Name: name, Value: value})
			}
		}
	}
}

// Write implements http.ResponseWriter. What is written goes out by FlushError, or
// at the end.
func (x *http2Request) Write(b []byte) (int, error) {
	x.WriteHeader(http.StatusOK)
	if x.out == nil {
		x.out = transport.GetBuffer(len(b))
	}
	x.out.B = append(x.out.B, b...)
	return len(b), nil
}

// FlushError sends what was written.
func (x *http2Request) FlushError() error {
	x.WriteHeader(http.StatusOK)
	if x.out == nil {
		return x.stream.SendHeader(nil, x.fields)
	}
	out := x.out
	x.out = nil
	return x.stream.SendAfter(nil, x.fields, out)
}

// SetReadDeadline is for http.ResponseController.
func (x *http2Request) SetReadDeadline(at time.Time) error {
	by := int64(0)
	if !at.IsZero() {
		by = roles.Clock() + int64(time.Until(at))
	}
	x.stream.SetReadDeadline(by)
	return nil
}

// Flush implements http.Flusher.
func (x *http2Request) Flush() { _ = x.FlushError() }

// http2Body is a request's body.
type http2Body http2Request

func (b *http2Body) Read(p []byte) (int, error) {
	for len(b.piece) == 0 {
		b.held.Free()
		m, err := b.stream.Receive()
		if err != nil {
			return 0, err
		}
		b.held, b.piece = m, m.Payload()
	}
	n := copy(p, b.piece)
	b.piece = b.piece[n:]
	return n, nil
}

func (b *http2Body) Close() error { return nil }

var _ io.ReadCloser = (*http2Body)(nil)
