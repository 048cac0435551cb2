package trunkcall_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// endless sends until its call is over, and says so.
func endless(over chan<- struct{}) trunkcall.Handler {
	return produce.Handler(func(ctx context.Context, _ *payload, out *trunkcall.Sender[payload]) error {
		defer func() { over <- struct{}{} }()
		if err := trunkcall.CallFromContext(ctx).SetHeader(trunkcall.Metadata{{Key: "h", Value: "v"}}); err != nil {
			return err
		}
		for out.Send(text("on and on")) == nil {
		}
		return ctx.Err()
	})
}

func TestLeavingALoopOverMessagesEndsTheCall(t *testing.T) {
	over := make(chan struct{}, 1)
	s, target := serve(t, nil, endless(over))
	c := dial(t, target)
	stream, err := produce.Call(context.Background(), c, text("")) // which nobody cancels
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for message, err := range stream.All() {
		if err != nil || string(message.Data) != "on and on" {
			t.Fatal(message, err)
		}
		if n++; n == 3 {
			break
		}
	}
	receive(t, over, "end of the handler")
	eventually(t, "nothing is held", func() bool {
		g, mine := s.Gauges(), c.Gauges()
		return g.RunningHandlers == 0 && g.HeldBytes == 0 && mine.CallsMade == 0 && mine.HeldBytes == 0
	})
	_, err = stream.Receive()
	wants(t, err, trunkcall.Canceled, trunkcall.DeliveryUnknown)
	if err := s.Stop(soon(t)); err != nil { // which waits for handlers
		t.Fatal(err)
	}
}

func TestALoopOverMessagesEndsWithTheCall(t *testing.T) {
	_, c := join(t)
	stream, err := produce.Call(soon(t), c, text("abc"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for message, err := range stream.All() {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(message.Data))
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatal(got)
	}

	failing := trunkcall.ServerStream[payload, payload]("/test.Service/Failing")
	_, c = join(t, failing.Handler(func(context.Context, *payload, *trunkcall.Sender[payload]) error {
		return trunkcall.Errorf(trunkcall.NotFound, "no such thing")
	}))
	stream, err = failing.Call(soon(t), c, text(""))
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for message, err := range stream.All() {
		if message != nil || err == nil || last != nil {
			t.Fatal(message, err, last)
		}
		last = err
	}
	wants(t, last, trunkcall.NotFound, trunkcall.Executed)
}

func TestACallIsClosedWhileItIsReceived(t *testing.T) {
	entered, over := make(chan struct{}), make(chan struct{}, 1)
	quiet := trunkcall.Bidi[payload, payload]("/test.Service/Quiet")
	_, c := join(t, quiet.Handler(func(ctx context.Context, s *trunkcall.BidiStream[payload, payload]) error {
		s.Close() // of no effect here
		close(entered)
		_, _ = s.Receive()
		<-ctx.Done()
		over <- struct{}{}
		return ctx.Err()
	}))
	stream, err := quiet.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, entered, "handler")
	ended := make(chan error, 1)
	go func() {
		_, err := stream.Receive()
		ended <- err
	}()
	stream.Close()
	stream.Close()
	wants(t, receive(t, ended, "end of Receive"), trunkcall.Canceled, trunkcall.DeliveryUnknown)
	receive(t, over, "end of the handler")

	requests, err := collect.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	requests.Close()
	_, err = requests.CloseAndReceive()
	wants(t, err, trunkcall.Canceled, trunkcall.DeliveryUnknown)
}

func TestStreamsTellHeaderTrailerAndPeer(t *testing.T) {
	method := trunkcall.Bidi[payload, payload]("/test.Service/Beside")
	_, target := serve(t, nil, method.Handler(func(ctx context.Context, s *trunkcall.BidiStream[payload, payload]) error {
		call := trunkcall.CallFromContext(ctx)
		if s.Header().Get("asked") != "yes" || s.Peer().Remote == nil || s.Trailer() != nil {
			return trunkcall.Errorf(trunkcall.Internal, "%v from %v", s.Header(), s.Peer())
		}
		_ = call.SendHeader(trunkcall.Metadata{{Key: "head", Value: "1"}})
		_ = call.SetTrailer(trunkcall.Metadata{{Key: "tail", Value: "2"}})
		return nil
	}))
	c := dial(t, target)
	stream, err := method.Open(trunkcall.WithMetadata(soon(t), trunkcall.Metadata{{Key: "asked", Value: "yes"}}), c)
	if err != nil {
		t.Fatal(err)
	}
	if stream.Header().Get("head") != "1" || stream.Peer().Remote.String() != target {
		t.Fatal(stream.Header(), stream.Peer())
	}
	for _, err := range stream.All() {
		t.Fatal(err)
	}
	if stream.Trailer().Get("tail") != "2" {
		t.Fatal(stream.Trailer())
	}
}

func TestSeveralGoroutinesWaitForTheHeader(t *testing.T) {
	method := trunkcall.Bidi[payload, payload]("/test.Service/Late")
	_, c := join(t, method.Handler(func(ctx context.Context, s *trunkcall.BidiStream[payload, payload]) error {
		_, _ = s.Receive()
		return trunkcall.CallFromContext(ctx).SendHeader(trunkcall.Metadata{{Key: "head", Value: "1"}})
	}))
	for range 20 {
		stream, err := method.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		const waiting = 5
		got := make(chan trunkcall.Metadata, waiting)
		for range waiting {
			go func() { got <- stream.Header() }()
		}
		_ = stream.CloseSend()
		for range waiting {
			if h := receive(t, got, "header"); h.Get("head") != "1" {
				t.Fatal(h)
			}
		}
		stream.Close()
	}
}

// Once the context was cancelled, the call says so, whatever has arrived.
func TestACallThatWasCancelledDoesNotSucceed(t *testing.T) {
	_, c := join(t)
	for range 2000 {
		ctx, cancel := context.WithCancel(soon(t))
		stream, err := collect.Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		_, err = stream.CloseAndReceive()
		if s := trunkcall.StatusOf(err); s.Code != trunkcall.Canceled || !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
	}
	ctx, cancel := context.WithCancel(soon(t))
	stream, err := produce.Call(ctx, c, text("abc"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Receive(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the call has ended", func() bool { return c.Gauges().CallsMade == 0 })
	cancel()
	for range 2 {
		if _, err := stream.Receive(); trunkcall.StatusOf(err).Code != trunkcall.Canceled {
			t.Fatal(err)
		}
	}
}

func TestSeveralReceiversOfOneStreamAreTold(t *testing.T) {
	_, c := join(t)
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	stream, err := chat.Open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := stream.Receive()
			ended <- err
		}()
	}
	s := wants(t, receive(t, ended, "answer to the second receiver"), trunkcall.Internal, trunkcall.DeliveryUnknown)
	wantsText(t, s.Message, "several goroutines receive")
	if err := stream.Send(text("still there")); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, ended, "the first one's message"); err != nil {
		t.Fatal(err)
	}
}

// A window that does not open makes senders wait.
func TestSeveralSendersOnOneStreamAreTold(t *testing.T) {
	deaf := trunkcall.Bidi[payload, payload]("/test.Service/Deaf")
	_, c := join(t, deaf.Handler(func(ctx context.Context, _ *trunkcall.BidiStream[payload, payload]) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	stream, err := deaf.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	const senders = 4
	failed := make(chan error, senders)
	for range senders {
		go func() {
			for {
				if err := stream.Send(noise(100_000)); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	for range senders - 1 {
		s := wants(t, receive(t, failed, "error"), trunkcall.Internal, trunkcall.DeliveryUnknown)
		wantsText(t, s.Message, "several goroutines send")
	}
}

func TestMetadataThatAnInterceptorPutsOnTheContextIsSent(t *testing.T) {
	adds := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		call.Metadata = append(call.Metadata, trunkcall.Metadata{{Key: "on-call", Value: "2"}}...)
		return next(trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: "on-context", Value: "3"}}), call)
	}
	seen := make(chan trunkcall.Metadata, 1)
	watch := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		seen <- slices.Clone(call.Metadata)
		return next(ctx, call)
	}
	_, target := serve(t, serverOptions{trunkcall.WithInterceptors(watch)}, standard()...)
	c := dial(t, target, trunkcall.WithInterceptors(adds, adds))
	ctx := trunkcall.WithMetadata(soon(t), trunkcall.Metadata{{Key: "before", Value: "1"}})
	for name, call := range map[string]func() error{
		"unary": func() error { _, err := echo.Call(ctx, c, text("")); return err },
		"stream": func() error {
			s, err := collect.Open(ctx, c)
			if err == nil {
				_, err = s.CloseAndReceive()
			}
			return err
		},
	} {
		if err := call(); err != nil {
			t.Fatal(name, err)
		}
		var keys []string
		for _, pair := range receive(t, seen, "call") {
			keys = append(keys, pair.Key+pair.Value)
		}
		if got := strings.Join(keys, " "); got != "before1 on-call2 on-call2 on-context3 on-context3" {
			t.Fatalf("%s: %s", name, got)
		}
	}
}

func TestNilInterceptorsAreNamedAtOnce(t *testing.T) {
	faulty(t, "mem:none", trunkcall.WithInterceptors(nil), "interceptor 1 of WithInterceptors is nil")
	faulty(t, "mem:none", trunkcall.WithReverseInterceptors(nil), "interceptor 1 of WithReverseInterceptors is nil")
}

// Streams that an interceptor wraps so that nobody sees what is under them can be closed
// all the same, and a call that an interceptor fails once it is open keeps no slot.
func TestWhatInterceptorsDoToAStreamKeepsNoSlot(t *testing.T) {
	for what, interceptor := range map[string]trunkcall.Interceptor{
		"wrapped without Unwrap": func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			err := next(ctx, call)
			call.Stream = struct{ trunkcall.Stream }{call.Stream}
			return err
		},
		"failed once it is open": func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			if err := next(ctx, call); err != nil {
				return err
			}
			return trunkcall.Errorf(trunkcall.Aborted, "not like this")
		},
		"left out once it is open": func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			err := next(ctx, call)
			call.Stream = nil
			return err
		},
		"unable to send": func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			err := next(ctx, call)
			call.Stream = mute{call.Stream}
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			others := slices.DeleteFunc(standard(), func(h trunkcall.Handler) bool { return h.Method.Name == "/test.Service/Produce" })
			_, target := serve(t, nil, append(others, endless(make(chan struct{}, 3)))...)
			c := dial(t, target, trunkcall.WithInterceptors(interceptor))
			for range 3 {
				if stream, err := produce.Call(context.Background(), c, text("")); err == nil {
					for range stream.All() {
						break
					}
				}
				if stream, err := chat.Open(context.Background(), c); err == nil {
					stream.Close()
				}
				if stream, err := collect.Open(context.Background(), c); err == nil {
					stream.Close()
				}
			}
			eventually(t, "no call is open", func() bool { return c.Gauges().CallsMade == 0 })
		})
	}
}

// mute is a stream that sends nothing.
type mute struct{ trunkcall.Stream }

func (mute) Send(any) error { return errors.New("it sends nothing") }
