package web

import (
	"bytes"
	"crypto/tls"
	"encoding/base64"
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

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Any request of HTTP gets an answer that its protocol can read, the same
// however the body is split.

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

func (s *repeater) Lookup(method string) (Method, bool) {
	switch method {
	case "/unary", "/stream":
		return Method{Name: method, Streams: method == "/stream", Safe: true}, true
	}
	return Method{}, false
}

func (s *repeater) Accept(call *Call) (Served, *wire.Refusal) {
	if _, ok := s.Lookup(call.Method); !ok {
		return nil, &wire.Refusal{Code: wire.Unimplemented, Message: "not served"}
	}
	s.open.Add(1)
	return &repeated{s, call}, nil
}

func (s *repeater) Refused(*Call, *wire.Refusal) {}

type repeated struct {
	server *repeater
	call   *Call
}

func (r *repeated) Whole() bool        { return r.call.Method == "/unary" }
func (r *repeated) Pace() *roles.Pace  { return nil }
func (r *repeated) Compression() uint8 { return 0 }
func (r *repeated) Stopped(Stop)       {}
func (r *repeated) Dropped()           { r.server.open.Add(-1) }
func (r *repeated) Serve(x Exchange, a *Answer) {
	r.server.open.Add(-1)
	for {
		m, _, err := x.Receive()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			a.Ending = wire.Ending{Code: wire.Internal, Message: err.Error(), Delivery: wire.Executed}
			if fault := (*Fault)(nil); errors.As(err, &fault) {
				a.Ending.Code, a.Ending.Message = fault.Code, fault.Text
			}
			return
		}
		if r.Whole() {
			a.Scratch = append(a.Scratch[:Headroom], m.B...)
			a.Ending.HasMessage = true
			m.Free()
			return
		}
		b := transport.GetBuffer(Headroom + len(m.B))
		b.B = append(b.B[:Headroom], m.B...)
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
			r = r.WithContext(withPeer(t.Context(), nowhere{}))
			r.ContentLength = -1
			r.Header.Set("Content-Type", kind)
			r.Header.Set("K-Bin", value)
			if len(timeout) > 4 { // else it may well pass
				r.Header.Set("Connect-Timeout-Ms", timeout)
			}
			s := &repeater{}
			(&HTTP{Server: s, Catalog: s, MaxMessage: 100, Compressions: 1 << wire.Gzip}).ServeHTTP(answers[i], r)
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
	kind, body, end := a.Header().Get("Content-Type"), a.Body.Bytes(), byte(flagEnd)
	switch {
	case a.Code != http.StatusOK || !strings.HasPrefix(kind, typeOfStream) && !strings.HasPrefix(kind, typeOfWeb):
		return
	case strings.HasPrefix(kind, typeOfWebText):
		plain, err := io.ReadAll(&base64Groups{source: bytes.NewReader(body)})
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		body, end = plain, flagTrailers
	case strings.HasPrefix(kind, typeOfWeb):
		end = flagTrailers
	}
	last := byte(0)
	for len(body) > 0 {
		if last != 0 || len(body) < Headroom || uint32(len(body)-Headroom) < binary.BigEndian.Uint32(body[1:]) {
			t.Fatalf("%q is left after %#x", body, last)
		}
		last, body = body[0], body[Headroom+binary.BigEndian.Uint32(body[1:]):]
	}
	if last != end {
		t.Errorf("the last flags are %#x, want %#x", last, end)
	}
}

func TestBase64MayBePaddedAnywhere(t *testing.T) {
	pieces, in, want := []string{"a", "bc", "def", "", "ghij"}, "", ""
	for _, p := range pieces {
		in += base64.StdEncoding.EncodeToString([]byte(p))
		want += p
	}
	for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in)), iotest.DataErrReader(strings.NewReader(in))} {
		if got, err := io.ReadAll(&base64Groups{source: r}); err != nil || string(got) != want {
			t.Errorf("%q %v", got, err)
		}
	}
}
