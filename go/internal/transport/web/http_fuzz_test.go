package web_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/transport/web/connect"
	"github.com/trunkcall/trunkcall/go/internal/transport/web/grpcweb"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Any request of HTTP gets an answer that its protocol can read, the same
// however the body is split.

// dialects are those that servers have.
var dialects = []web.Dialect{connect.Stream{}, grpcweb.Text{}, grpcweb.Binary{}, connect.Unary{}}

// nowhere is the connection of requests that were made up.
type nowhere struct{}

func (nowhere) Remote() net.Addr          { return &net.TCPAddr{} }
func (nowhere) Local() net.Addr           { return &net.TCPAddr{} }
func (nowhere) TLS() *tls.ConnectionState { return nil }
func (nowhere) Owned() any                { return nil }
func (nowhere) Begins() bool              { return true }
func (nowhere) Interrupt(bool)            {}
func (nowhere) Closing() bool             { return false }

// repeater answers with what it is sent; it counts calls that were accepted and
// not ended.
type repeater struct{ open atomic.Int64 }

func (s *repeater) Lookup(method string) (web.Method, bool) {
	switch method {
	case "/unary", "/stream":
		return web.Method{Name: method, Streams: method == "/stream", Safe: true}, true
	}
	return web.Method{}, false
}

func (s *repeater) Accept(call *web.Call) (web.Served, *wire.Refusal) {
	if _, ok := s.Lookup(call.Method); !ok {
		return nil, &wire.Refusal{Code: wire.Unimplemented, Message: "not served"}
	}
	s.open.Add(1)
	return &repeated{s, call}, nil
}

func (s *repeater) Refused(*web.Call, *wire.Refusal) {}

type repeated struct {
	server *repeater
	call   *web.Call
}

func (r *repeated) Whole() bool        { return r.call.Method == "/unary" }
func (r *repeated) Pace() *roles.Pace  { return nil }
func (r *repeated) Compression() uint8 { return 0 }
func (r *repeated) Stopped(web.Stop)   {}
func (r *repeated) Dropped()           { r.server.open.Add(-1) }
func (r *repeated) Serve(x web.Exchange, a *web.Answer) {
	r.server.open.Add(-1)
	for {
		m, _, err := x.Receive()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			a.Ending = wire.Ending{Code: wire.Internal, Message: err.Error(), Delivery: wire.Executed}
			if fault := (*web.Fault)(nil); errors.As(err, &fault) {
				a.Ending.Code, a.Ending.Message = fault.Code, fault.Text
			}
			return
		}
		if r.Whole() {
			a.Scratch = append(a.Scratch[:web.Headroom], m.B...)
			a.Ending.HasMessage = true
			m.Free()
			return
		}
		b := transport.GetBuffer(web.Headroom + len(m.B))
		b.B = append(b.B[:web.Headroom], m.B...)
		m.Free()
		if x.Send(b, false) != nil {
			return
		}
	}
}

func FuzzARequestOfHTTP(f *testing.F) {
	for _, kind := range []string{"application/json", "application/connect+proto", "application/grpc-web", "application/grpc-web-text+json", "text/plain"} {
		for _, path := range []string{"/unary", "/stream", "/none"} {
			f.Add("POST", path, kind, "v", "100", []byte("\x00\x00\x00\x00\x02{}"))
			f.Add("POST", path, kind, "AA==", "", []byte("AAAAAAJ7fQ=="))
			f.Add("GET", path+"?encoding=json&message=e30&base64=1", kind, "", "", []byte{})
		}
	}
	f.Fuzz(func(t *testing.T, verb, path, kind, value, timeout string, body []byte) {
		var answers [2]*httptest.ResponseRecorder
		for i := range answers {
			answers[i] = httptest.NewRecorder()
			var reader io.Reader = bytes.NewReader(body)
			if i == 1 {
				reader = iotest.OneByteReader(reader)
			}
			r, err := http.NewRequest(verb, "http://x"+path, io.NopCloser(reader)) //nolint:noctx // it goes nowhere
			if err != nil {
				return
			}
			r = r.WithContext(web.WithPeer(t.Context(), nowhere{}))
			r.ContentLength = -1
			r.Header.Set("Content-Type", kind)
			r.Header.Set("K-Bin", value)
			if len(timeout) > 4 { // else it may well pass
				r.Header.Set("Connect-Timeout-Ms", timeout)
			}
			s := &repeater{}
			(&web.HTTP{Dialects: dialects, Server: s, Catalog: s, MaxMessage: 100, Compressions: 1 << wire.Gzip}).ServeHTTP(answers[i], r)
			if n := s.open.Load(); n != 0 {
				t.Fatal(n, "calls are left")
			}
			wellFormed(t, answers[i])
		}
		if answers[0].Code != answers[1].Code || !bytes.Equal(answers[0].Body.Bytes(), answers[1].Body.Bytes()) {
			t.Errorf("whole %d %q, split %d %q", answers[0].Code, answers[0].Body, answers[1].Code, answers[1].Body)
		}
	})
}

// wellFormed fails unless a body in messages ends with the one that says how the
// call ended.
func wellFormed(t *testing.T, a *httptest.ResponseRecorder) {
	kind, body, end := a.Header().Get("Content-Type"), a.Body.Bytes(), byte(2)
	switch {
	case a.Code != http.StatusOK || !strings.HasPrefix(kind, "application/connect+") && !strings.HasPrefix(kind, "application/grpc-web"):
		return
	case strings.HasPrefix(kind, "application/grpc-web-text"):
		plain, err := io.ReadAll(grpcweb.Text{}.Body(bytes.NewReader(body)))
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		body, end = plain, byte(0x80)
	case strings.HasPrefix(kind, "application/grpc-web"):
		end = byte(0x80)
	}
	last := byte(0)
	for len(body) > 0 {
		if last != 0 || len(body) < web.Headroom || uint32(len(body)-web.Headroom) < binary.BigEndian.Uint32(body[1:]) {
			t.Fatalf("%q is left after %#x", body, last)
		}
		last, body = body[0], body[web.Headroom+binary.BigEndian.Uint32(body[1:]):]
	}
	if last != end {
		t.Errorf("the last flags are %#x, want %#x", last, end)
	}
}
