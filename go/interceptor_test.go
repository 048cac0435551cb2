package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// trace is a shared record of what ran in which order.
type trace struct {
	mu    sync.Mutex
	steps []string
}

func (t *trace) add(step string) {
	t.mu.Lock()
	t.steps = append(t.steps, step)
	t.mu.Unlock()
}

func (t *trace) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	steps := t.steps
	t.steps = nil
	return steps
}

func (t *trace) interceptor(name string) trunkcall.Interceptor {
	return func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		t.add(name + " before")
		err := next(ctx, call)
		t.add(name + " after")
		return err
	}
}

func TestInterceptorsNestInTheirOrderAtBothEnds(t *testing.T) {
	var record trace
	_, target := serve(t,
		serverOptions{trunkcall.WithInterceptors(record.interceptor("s1"), record.interceptor("s2"))}, standard()...)
	c := dial(t, target, trunkcall.WithInterceptors(record.interceptor("c1")), trunkcall.WithInterceptors(record.interceptor("c2")))
	mustEcho(t, c, "x")
	want := []string{
		"c1 before", "c2 before", "s1 before", "s2 before", "s2 after", "s1 after", "c2 after", "c1 after",
	}
	if got := record.take(); !slices.Equal(got, want) {
		t.Fatalf("unary: %v", got)
	}
	// A client's next returns once a stream is open, a server's with its
	// handler; across the two there is no order.
	only := func(end byte, steps []string) (own []string) {
		for _, s := range steps {
			if s[0] == end {
				own = append(own, s)
			}
		}
		return own
	}
	for name, check := range map[string]func(*testing.T, *trunkcall.Client){
		"server-streaming": checkServerStream, "client-streaming": checkClientStream, "bidi": checkBidi,
	} {
		check(t, c)
		got := record.take()
		if !slices.Equal(only('c', got), only('c', want)) || !slices.Equal(only('s', got), only('s', want)) {
			t.Fatalf("%s: %v", name, got)
		}
	}
}

func TestInterceptorsSeeTheCall(t *testing.T) {
	check := func(where string) trunkcall.Interceptor {
		return func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			switch {
			case call.Method.Name != "/test.Service/Echo":
				t.Errorf("%s: method %v", where, call.Method)
			case call.Method.Kind != trunkcall.KindUnary:
				t.Errorf("%s: kind %v", where, call.Method.Kind)
			case string(call.Request.(*payload).Data) != "x":
				t.Errorf("%s: request %v", where, call.Request)
			case call.Metadata.Get("k") != "v":
				t.Errorf("%s: metadata %v", where, call.Metadata)
			}
			err := next(ctx, call)
			if got, ok := call.Response.(*payload); !ok || string(got.Data) != "x" {
				t.Errorf("%s: response %v", where, call.Response)
			}
			if call.Peer.Remote == nil {
				t.Errorf("%s: no peer", where)
			}
			return err
		}
	}
	_, target := serve(t, serverOptions{trunkcall.WithInterceptors(check("server"))}, standard()...)
	c := dial(t, target, trunkcall.WithInterceptors(check("client")))
	ctx := trunkcall.WithMetadata(soon(t), trunkcall.Metadata{{Key: "k", Value: "v"}})
	if _, err := echo.Call(ctx, c, text("x")); err != nil {
		t.Fatal(err)
	}
}

func TestAnInterceptorAnswersWithoutGoingOn(t *testing.T) {
	answer := func(_ context.Context, call *trunkcall.Call, _ trunkcall.Next) error {
		switch r := call.Response.(type) {
		case *payload:
			r.Data = []byte("cached") // the client's, to be filled in
		default:
			call.Response = text("cached")
		}
		return nil
	}
	deny := func(context.Context, *trunkcall.Call, trunkcall.Next) error {
		return trunkcall.Errorf(trunkcall.PermissionDenied, "not you")
	}
	g := newGate(t)
	denied := map[string]trunkcall.Delivery{"client": trunkcall.NotSent, "server": trunkcall.Refused}
	for name, end := range map[string]func(trunkcall.Interceptor) *trunkcall.Client{
		"client": func(i trunkcall.Interceptor) *trunkcall.Client {
			_, target := serve(t, nil, append(standard(), g.handler())...)
			return dial(t, target, trunkcall.WithInterceptors(i))
		},
		"server": func(i trunkcall.Interceptor) *trunkcall.Client {
			_, target := serve(t, serverOptions{trunkcall.WithInterceptors(i)}, append(standard(), g.handler())...)
			return dial(t, target)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := end(answer)
			if out, err := block.Call(soon(t), c, text("x")); err != nil || string(out.Data) != "cached" {
				t.Fatal(out, err)
			}
			c = end(deny)
			_, err := block.Call(soon(t), c, text("x"))
			wants(t, err, trunkcall.PermissionDenied, denied[name])
			s, err := chat.Open(soon(t), c)
			if err == nil {
				_, err = s.Receive()
			}
			wants(t, err, trunkcall.PermissionDenied, denied[name])
		})
	}
	if len(g.entered) != 0 {
		t.Fatal("the handler ran")
	}
}

func TestAClientsInterceptorRetriesByGoingOnAgain(t *testing.T) {
	attempts := 0
	handler := block.Handler(func(_ context.Context, in *payload) (*payload, error) {
		if attempts++; attempts < 3 {
			return nil, trunkcall.Errorf(trunkcall.Aborted, "try again")
		}
		return text("at last"), nil
	})
	_, target := serve(t, nil, handler)
	c := dial(t, target, trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		for {
			err := next(ctx, call)
			if trunkcall.StatusOf(err).Code != trunkcall.Aborted {
				return err
			}
		}
	}))
	if out, err := block.Call(soon(t), c, text("")); err != nil || string(out.Data) != "at last" || attempts != 3 {
		t.Fatal(out, err, attempts)
	}
}

type contextKey struct{}

func TestInterceptorsPassContextValuesAndMetadataOn(t *testing.T) {
	_, target := serve(t,
		serverOptions{trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			call.Header.Add("from-interceptor", "header")
			err := next(context.WithValue(ctx, contextKey{}, call.Metadata.Get("added")), call)
			call.Trailer.Add("from-interceptor", "trailer")
			return err
		})},
		block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
			if trunkcall.CallFromContext(ctx) == nil {
				t.Error("the call is not in the context any more")
			}
			value, _ := ctx.Value(contextKey{}).(string)
			return text(value), nil
		}))
	var seen trunkcall.Metadata
	c := dial(t, target, trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		call.Metadata.Add("added", "by the client")
		err := next(ctx, call)
		seen = call.Header
		return err
	}))
	out, err := block.Do(soon(t), c, text(""))
	if err != nil || string(out.Message.Data) != "by the client" {
		t.Fatal(out, err)
	}
	header, trailer := out.Header, out.Trailer
	if header.Get("from-interceptor") != "header" || trailer.Get("from-interceptor") != "trailer" || seen.Get("from-interceptor") != "header" {
		t.Fatalf("header %v, trailer %v, the client's interceptor saw %v", header, trailer, seen)
	}
}

func TestAnInterceptorDoesNotAlterTheContextsMetadata(t *testing.T) {
	_, target := serve(t, nil, append(standard(), mirror(t))...)
	c := dial(t, target, trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		call.Metadata.Add("added", "once")
		return next(ctx, call)
	}))
	base := make(trunkcall.Metadata, 1, 8) // room that must not be written to
	base[0].Key, base[0].Value = "k", "v"
	ctx := trunkcall.WithMetadata(soon(t), base)
	for range 3 {
		out, err := block.Do(ctx, c, text(""))
		if err != nil {
			t.Fatal(err)
		}
		equalMetadata(t, "header", out.Header, trunkcall.Metadata{{Key: "k", Value: "v"}, {Key: "added", Value: "once"}})
	}
	if spare := base[:2][1]; spare.Key != "" {
		t.Fatalf("the user's own metadata was written to: %v", spare)
	}
}

// counting wraps a stream, which may be looked through.
type counting struct {
	trunkcall.Stream
	sent, received *int
}

func (c counting) Unwrap() trunkcall.Stream { return c.Stream }

func (c counting) Send(m any) error {
	*c.sent++
	return c.Stream.Send(m)
}

func (c counting) Receive(m any) error {
	err := c.Stream.Receive(m)
	if err == nil {
		*c.received++
	}
	return err
}

func TestInterceptorsMayWrapStreams(t *testing.T) {
	var clientSent, clientReceived, serverSent, serverReceived int
	served := make(chan struct{}, 1)
	_, target := serve(t, serverOptions{trunkcall.WithInterceptors(
		func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			call.Stream = counting{call.Stream, &serverSent, &serverReceived}
			defer func() { served <- struct{}{} }()
			return next(ctx, call)
		})}, standard()...)
	c := dial(t, target, trunkcall.WithInterceptors(
		func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			err := next(ctx, call)
			if err == nil {
				call.Stream = counting{call.Stream, &clientSent, &clientReceived}
			}
			return err
		}))
	s, err := trunkcall.OpenStream(soon(t), c, trunkcall.NewMethod("/test.Service/Chat", trunkcall.KindBidiStream))
	if err != nil {
		t.Fatal(err)
	}
	if s.Peer().Remote == nil {
		t.Fatal("the wrapper was not looked through")
	}
	for range 3 {
		if err := s.Send(text("x")); err != nil {
			t.Fatal(err)
		}
		if err := s.Receive(&payload{}); err != nil {
			t.Fatal(err)
		}
	}
	_ = s.CloseSend()
	if err := s.Receive(&payload{}); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	<-served
	if clientSent != 3 || clientReceived != 3 || serverSent != 3 || serverReceived != 3 {
		t.Fatal(clientSent, clientReceived, serverSent, serverReceived)
	}
}

// An interceptor that answers a stream itself has to leave a Stream.
func TestAnInterceptorThatLeavesNoStreamFailsItsCall(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c := dial(t, target, trunkcall.WithInterceptors(func(context.Context, *trunkcall.Call, trunkcall.Next) error { return nil }))
	_, err := chat.Open(soon(t), c)
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.NotSent).Message, "interceptor", "/test.Service/Chat")
}
