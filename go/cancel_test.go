package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestACallCancelledBeforehandIsNotSent(t *testing.T) {
	g := newGate(t)
	_, c := join(t, g.handler())
	_, err := block.Call(cancelled(), c, text(""))
	s := wants(t, err, trunkcall.Canceled, trunkcall.NotSent)
	if !errors.Is(s.Err(), context.Canceled) {
		t.Errorf("%v is not context.Canceled", s)
	}
	_, err = chat.Open(cancelled(), c)
	wants(t, err, trunkcall.Canceled, trunkcall.NotSent)
	mustEcho(t, c, "x")
	if len(g.entered) != 0 {
		t.Fatal("it ran")
	}
}

func TestACancelledCallerIsFreeAtOnceAndTheHandlerIsTold(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, append(standard(), g.handler())...)
	c := dial(t, target)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := block.Call(ctx, c, text(""))
		ended <- err
	}()
	handler := g.await(t)
	cancel()
	wants(t, receive(t, ended, "status"), trunkcall.Canceled, trunkcall.DeliveryUnknown)
	ends(t, handler)
	if !errors.Is(handler.Err(), context.Canceled) {
		t.Error(handler.Err())
	}
	mustEcho(t, c, "while the handler goes on")
	if s.Running() != 1 {
		t.Fatalf("%d handlers run, want the one that ignores its context", s.Running())
	}
	g.open()
	eventually(t, "the handler no longer counts", func() bool { return s.Running() == 0 })
}

func TestCancelAfterTheEndChangesNothing(t *testing.T) {
	_, c := join(t)
	ctx, cancel := context.WithCancel(context.Background())
	s, err := produce.Call(ctx, c, text("ab"))
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = s.Receive()
	}
	cancel()
	for range 3 {
		if _, err := s.Receive(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	mustEcho(t, c, "x")
}

func TestARunningStreamIsCancelledAtBothEnds(t *testing.T) {
	seen := make(chan error, 2)
	method := trunkcall.Bidi[payload, payload]("/test.Service/Listen")
	s, c := join(t, method.Handler(func(ctx context.Context, s *trunkcall.BidiStream[payload, payload]) error {
		_, err := s.Receive()
		seen <- err
		seen <- s.Send(text("too late"))
		return err
	}))
	ctx, cancel := context.WithCancel(context.Background())
	stream, err := method.Open(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := stream.Receive()
		ended <- err
	}()
	eventually(t, "handler starts", func() bool { return s.Running() == 1 })
	cancel()
	wants(t, receive(t, ended, "status"), trunkcall.Canceled, trunkcall.DeliveryUnknown)
	for range 2 {
		if got := trunkcall.StatusOf(receive(t, seen, "end at the handler")); got.Code != trunkcall.Canceled {
			t.Fatal(got)
		}
	}
	if err := stream.Send(text("x")); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func TestHandlersThatIgnoreCancellationCountAgainstTheLimit(t *testing.T) {
	const limit = 5
	g := newGate(t)
	s, target := serve(t, serverOptions{trunkcall.WithRunningHandlers(limit)}, append(standard(), g.handler())...)
	c := dial(t, target)
	for range limit {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := block.Call(ctx, c, text(""))
			ended <- err
		}()
		g.await(t)
		cancel()
		receive(t, ended, "status")
	}
	_, err := block.Call(soon(t), c, text(""))
	refused := wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
	wantsText(t, refused.Message, "running handlers", fmt.Sprint(limit))
	if len(g.entered) != 0 {
		t.Fatal("a refused call ran")
	}
	g.open()
	eventually(t, "handlers end", func() bool { return s.Running() == 0 })
	mustEcho(t, c, "room again")
}

func TestAFloodOfCancelledCallsStaysUnderTheLimit(t *testing.T) {
	const limit = 20
	most := make(chan int, 100_000)
	var s *trunkcall.Server
	s, target := serve(t, serverOptions{trunkcall.WithRunningHandlers(limit)}, append(standard(),
		block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
			most <- s.Running()
			<-ctx.Done()
			return in, nil
		}))...)
	c := dial(t, target)
	for range 3000 {
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := trunkcall.OpenStream(ctx, c, trunkcall.NewMethod("/test.Service/Block", trunkcall.KindServerStream))
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.Send(text("x"))
		_ = stream.CloseSend()
		cancel()
	}
	eventually(t, "handlers end", func() bool { return s.Running() == 0 })
	close(most)
	for n := range most {
		if n > limit+1 { // one more is counted while it is refused
			t.Fatalf("%d handlers ran at once", n)
		}
	}
	mustEcho(t, c, "x")
}

func TestSlotsAreUsedAgainAfterCancel(t *testing.T) {
	g := newGate(t)
	_, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{Calls: 2})}, append(standard(), g.handler())...)
	c := dial(t, target)
	for range 300 {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := block.Call(ctx, c, text(""))
			ended <- err
		}()
		g.await(t)
		cancel()
		wants(t, receive(t, ended, "status"), trunkcall.Canceled, trunkcall.DeliveryUnknown)
		mustEcho(t, c, "x")
	}
}

// notStarted fails if a handler of a gate was started. The place of one that was not
// may be given back just after the call was answered.
func notStarted(t *testing.T, s *trunkcall.Server, g *gate) {
	t.Helper()
	eventually(t, "no handler runs", func() bool { return s.Running() == 0 || len(g.entered) > 0 })
	if n := len(g.entered); n != 0 {
		t.Fatalf("%d were started", n)
	}
}

// CANCEL for a call whose request is not whole: provably not run.
func TestACallCancelledBeforeItStartedIsRefused(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, g.handler())
	p := raw(t, target)
	id := rawframe.ID(1, 1)
	p.Send(rawframe.Define(1, "/test.Service/Block"), rawframe.Bytes(rawframe.CallHeader(1, 1, 1, wire.FlagMsg)), rawframe.Cancel(id, 0))
	f, code, _ := p.AwaitResult(id)
	if code != trunkcall.Canceled || f.Flags&wire.FlagRefused == 0 || f.Word != 0 {
		t.Fatalf("%v, flags %#x, retry-after %d", code, f.Flags, f.Word)
	}
	notStarted(t, s, g)
}

// The same with a whole request, read together with its CANCEL.
func TestACallThatArrivesWithItsCancelIsNotStarted(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, g.handler())
	p := raw(t, target)
	p.Send(rawframe.Define(1, "/test.Service/Block"))
	for generation := uint16(1); generation <= 50; generation++ {
		id := rawframe.ID(1, generation)
		p.Send(append(rawframe.Call(1, generation, 1, nil), rawframe.Cancel(id, 0)...))
		f, code, _ := p.AwaitResult(id)
		if code != trunkcall.Canceled || f.Flags&wire.FlagRefused == 0 {
			t.Fatalf("%v, flags %#x", code, f.Flags)
		}
	}
	notStarted(t, s, g)
}

func TestClosingTheClientEndsItsCallsPromptly(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, append(standard(), g.handler())...)
	c := dial(t, target)
	ended := make(chan error, 2)
	go func() {
		_, err := block.Call(context.Background(), c, text(""))
		ended <- err
	}()
	g.await(t)
	stream, err := chat.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, err := stream.Receive()
		ended <- err
	}()
	eventually(t, "both run", func() bool { return s.Running() == 2 })
	began := time.Now()
	c.Close()
	if took := time.Since(began); took > tardy {
		t.Errorf("Close took %v", took)
	}
	for range 2 {
		err := receive(t, ended, "status")
		wants(t, err, trunkcall.Canceled, trunkcall.DeliveryUnknown)
		wantsClosed(t, err)
	}
	_, err = echo.Call(soon(t), c, text(""))
	wants(t, err, trunkcall.Canceled, trunkcall.NotSent)
	wantsClosed(t, err)
	_, err = chat.Open(soon(t), c)
	wants(t, err, trunkcall.Canceled, trunkcall.NotSent)
	wantsClosed(t, err)
	wantsClosed(t, c.Connect(soon(t)))
	c.Close()
}

func wantsClosed(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, trunkcall.ErrClientClosed) {
		t.Errorf("the cause is not that the client is closed: %v", err)
	}
}
