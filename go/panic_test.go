package trunkcall_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// logged is a log that tests read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// has reports whether a line has all parts.
func (l *logged) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

func (l *logged) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), s)
}

func (l *logged) option() trunkcall.Option {
	return trunkcall.WithLogger(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

func TestAPanicFailsItsCallAloneAndKeepsItsSecret(t *testing.T) {
	const secret = "password=hunter2"
	var kind int
	broken := func() {
		switch kind {
		case 0:
			panic(secret)
		case 1:
			panic(errors.New(secret))
		case 2:
			panic(trunkcall.Errorf(trunkcall.NotFound, secret))
		case 3:
			var m map[string]int
			m[secret] = 1
		}
	}
	var log logged
	method := trunkcall.Bidi[payload, payload]("/test.Service/PanicStream")
	s, target := serve(t, serverOptions{log.option()}, append(standard(),
		block.Handler(func(context.Context, *payload) (*payload, error) { broken(); return nil, nil }),
		method.Handler(func(_ context.Context, s *trunkcall.BidiStream[payload, payload]) error {
			_ = s.Send(text("first"))
			broken()
			return nil
		}))...)
	c := dial(t, target)
	for kind = range 4 {
		_, err := block.Call(soon(t), c, text(""))
		if got := wants(t, err, trunkcall.Internal, trunkcall.Executed); strings.Contains(got.Message, "hunter2") {
			t.Fatal(got)
		}
		stream, err := method.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Receive(); err != nil {
			t.Fatal(err)
		}
		_, err = stream.Receive()
		if got := wants(t, err, trunkcall.Internal, trunkcall.Executed); strings.Contains(got.Message, "hunter2") {
			t.Fatal(got)
		}
		mustEcho(t, c, "the server lives")
	}
	eventually(t, "the log has what the panic said, and where", func() bool { return log.has(secret) && log.has("panic_test.go") })
	eventually(t, "no handler counts any more", func() bool { return s.Running() == 0 })
}

// runtime.Goexit ends the goroutine behind the framework's back, as
// testing.T.FailNow does in a handler.
func TestAHandlerThatExitsItsGoroutineFailsItsCallAlone(t *testing.T) {
	s, c := join(t, block.Handler(func(context.Context, *payload) (*payload, error) {
		runtime.Goexit()
		return nil, nil
	}))
	for range 3 {
		_, err := block.Call(soon(t), c, text(""))
		wants(t, err, trunkcall.Internal, trunkcall.Executed)
		mustEcho(t, c, "the server lives")
	}
	eventually(t, "no handler counts any more", func() bool { return s.Running() == 0 })
}

func TestAHandlerThatAnswersNothingIsInternal(t *testing.T) {
	_, c := join(t, block.Handler(func(context.Context, *payload) (*payload, error) { return nil, nil }))
	_, err := block.Call(soon(t), c, text(""))
	wants(t, err, trunkcall.Internal, trunkcall.Executed)
	method := trunkcall.ClientStream[payload, payload]("/test.Service/NilCollect")
	_, c = join(t, method.Handler(func(context.Context, *trunkcall.Receiver[payload]) (*payload, error) { return nil, nil }))
	s, err := method.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.CloseAndReceive()
	wants(t, err, trunkcall.Internal, trunkcall.Executed)
}

func TestAnInterceptorThatForgetsTheResponseIsInternal(t *testing.T) {
	forget := func(context.Context, *trunkcall.Call, trunkcall.Next) error { return nil }
	_, target := serve(t, serverOptions{trunkcall.WithInterceptors(forget)}, standard()...)
	_, err := echo.Call(soon(t), dial(t, target), text("x"))
	wants(t, err, trunkcall.Internal, trunkcall.Refused)
}

// brokenCodec is Protobuf's that fails as the test wants.
type brokenCodec struct {
	trunkcall.Codec
	appending, decoding error
}

func (c brokenCodec) Append(dst []byte, m any) ([]byte, error) {
	if c.appending != nil {
		return nil, c.appending
	}
	return c.Codec.Append(dst, m)
}

func (c brokenCodec) Decode(b []byte, m any) error {
	if c.decoding != nil {
		return c.decoding
	}
	return c.Codec.Decode(b, m)
}

func TestMessagesThatDoNotEncodeOrDecode(t *testing.T) {
	bad := errors.New("bad message")
	_, plain := serve(t, nil, standard()...)
	check := func(t *testing.T, c *trunkcall.Client, code trunkcall.Code, delivery trunkcall.Delivery) {
		t.Helper()
		_, err := echo.Call(soon(t), c, text("x"))
		wantsText(t, wants(t, err, code, delivery).Message, "bad message", "protobuf")
	}
	t.Run("request at the client", func(t *testing.T) {
		c := dial(t, plain, trunkcall.WithCodec(brokenCodec{trunkcall.Protobuf, bad, nil}))
		check(t, c, trunkcall.Internal, trunkcall.NotSent)
	})
	t.Run("response at the client", func(t *testing.T) {
		c := dial(t, plain, trunkcall.WithCodec(brokenCodec{trunkcall.Protobuf, nil, bad}))
		check(t, c, trunkcall.Internal, trunkcall.Executed)
		s, err := produce.Call(soon(t), c, text("ab"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Receive()
		wants(t, err, trunkcall.Internal, trunkcall.DeliveryUnknown)
	})
	t.Run("request at the server", func(t *testing.T) {
		_, target := serve(t, serverOptions{trunkcall.WithCodec(brokenCodec{trunkcall.Protobuf, nil, bad})}, standard()...)
		c := dial(t, target)
		check(t, c, trunkcall.InvalidArgument, trunkcall.Refused)
		s, err := produce.Call(soon(t), c, text("ab"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Receive()
		wants(t, err, trunkcall.InvalidArgument, trunkcall.Refused)
		up, err := collect.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		_ = up.Send(text("x"))
		_, err = up.CloseAndReceive()
		wants(t, err, trunkcall.InvalidArgument, trunkcall.Executed)
	})
	t.Run("response at the server", func(t *testing.T) {
		_, target := serve(t, serverOptions{trunkcall.WithCodec(brokenCodec{trunkcall.Protobuf, bad, nil})}, standard()...)
		check(t, dial(t, target), trunkcall.Internal, trunkcall.Executed)
	})
}

func TestAMessageOfAnotherTypeIsAnError(t *testing.T) {
	_, c := join(t)
	err := c.Invoke(soon(t), unary("/test.Service/Echo"), "a string", &payload{})
	wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent)
	err = c.Invoke(soon(t), unary("/test.Service/Echo"), text("x"), new(int))
	wants(t, err, trunkcall.Internal, trunkcall.Executed)
}

func TestHandlersThatCannotBeRegistered(t *testing.T) {
	s := newServer(t)
	t.Cleanup(s.Close)
	good := echo.Handler(serveEcho)
	if err := s.Register(good); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]trunkcall.Handler{
		"twice":      good,
		"no name":    {Unary: good.Unary},
		"long name":  trunkcall.Unary[payload, payload]("/" + strings.Repeat("x", 1100)).Handler(serveEcho),
		"no handler": {Method: trunkcall.Method{Name: "/a.B/C"}},
		"wrong kind": {Method: trunkcall.Method{Name: "/a.B/C", Kind: trunkcall.KindBidiStream}, Unary: good.Unary},
	} {
		if err := s.Register(bad); err == nil {
			t.Errorf("%s: registered", name)
		}
	}
	if got := s.Services(); len(got) != 1 || got[0] != "test.Service" {
		t.Error(got)
	}
	if got := s.Methods(); len(got) != 1 || got[0].Name != "/test.Service/Echo" {
		t.Error(got)
	}
}

// shaky is a logger's handler that panics at every record.
type shaky struct{ slog.Handler }

func (shaky) Handle(context.Context, slog.Record) error { panic("secret of the logger") }

// A log that panics harms nobody.
func TestALogThatPanicsHarmsNoCall(t *testing.T) {
	logger := trunkcall.WithLogger(slog.New(shaky{slog.NewTextHandler(io.Discard, nil)}))
	_, target := serve(t, serverOptions{logger}, standard()...)
	c := dial(t, target, logger)
	mustEcho(t, c, "before")
	p := raw(t, target)
	p.Send(defineEcho, rawframe.GoAway(wire.GoAwayProtocolError, "no reason"))
	p.HalfClose()
	p.Rest() // until the server closes
	mustEcho(t, c, "after")
}
