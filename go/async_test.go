package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Asynchronous calls.

// outcomes gathers what callbacks are called with, and fails for a second time.
type outcomes struct {
	t      testing.TB
	ended  chan error
	counts []atomic.Int32
}

func newOutcomes(t testing.TB, n int) *outcomes {
	return &outcomes{t: t, ended: make(chan error, 2*n), counts: make([]atomic.Int32, n)}
}

// of returns the callback of call i.
func (o *outcomes) of(i int) func(*payload, error) {
	return func(response *payload, err error) {
		if n := o.counts[i].Add(1); n != 1 {
			o.t.Errorf("call %d has %d callbacks", i, n)
		}
		if (response == nil) == (err == nil) {
			o.t.Errorf("call %d: %v, %v", i, response, err)
		}
		o.ended <- err
	}
}

// wait returns the errors of all calls.
func (o *outcomes) wait() []error {
	o.t.Helper()
	errs := make([]error, len(o.counts))
	for i := range errs {
		errs[i] = receive(o.t, o.ended, fmt.Sprintf("callback %d of %d", i+1, len(errs)))
	}
	return errs
}

func TestFuturesAndCallbacksBringTheAnswer(t *testing.T) {
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		register(t, c, echo.Handler(serveEcho))
		for _, caller := range []trunkcall.Caller{c, connected(t, s, c)} {
			var futures []*trunkcall.Future[payload]
			for i := range 500 {
				futures = append(futures, echo.Start(soon(t), caller, text(fmt.Sprint(i))))
			}
			for i, f := range futures {
				if out, err := f.Wait(soon(t)); err != nil || string(out.Data) != fmt.Sprint(i) {
					t.Fatal(out, err)
				}
			}
			o := newOutcomes(t, 501)
			for i := range 500 {
				echo.CallFunc(soon(t), caller, text("x"), o.of(i))
			}
			response := &payload{}
			trunkcall.InvokeFunc(soon(t), caller, unary("test.Service/Echo"), text("untyped"), response, func(err error) { o.of(500)(response, err) })
			for _, err := range o.wait() {
				if err != nil {
					t.Fatal(err)
				}
			}
			if string(response.Data) != "untyped" {
				t.Fatal(response)
			}
		}
	})
}

func TestAnAsynchronousCallNeedsNoOpenConnection(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c := newClient(t, target, trunkcall.WithConnections(3))
	defer c.Close()
	o := newOutcomes(t, 100)
	for i := range 100 {
		echo.CallFunc(soon(t), c, text("x"), o.of(i))
	}
	for _, err := range o.wait() {
		if err != nil {
			t.Fatal(err)
		}
	}
	out, err := echo.Start(soon(t), c, &payload{Data: make([]byte, 3<<20)}).Result()
	if err != nil || len(out.Data) != 3<<20 {
		t.Fatal(err)
	}
	if g := c.Gauges(); g.WaitingCalls != 0 || g.CallsMade != 0 {
		t.Fatalf("%+v", g)
	}
}

func TestACallbackThatBlocksHarmsNobody(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		for range 1000 { // callbacks are known to be quick
			if _, err := echo.Start(soon(t), c, text("")).Result(); err != nil {
				t.Fatal(err)
			}
		}
		leave := make(chan struct{})
		defer close(leave)
		entered := make(chan struct{}, 100)
		for range 100 {
			echo.CallFunc(soon(t), c, text(""), func(*payload, error) {
				entered <- struct{}{}
				<-leave
			})
		}
		for range 100 {
			receive(t, entered, "callback beside those that block")
		}
		mustEcho(t, c, "and the connection lives")
	})
}

func TestACallbackMayCallAndClose(t *testing.T) {
	_, c := join(t)
	ended := make(chan error, 1)
	echo.CallFunc(soon(t), c, text(""), func(*payload, error) {
		_, err := echo.Call(soon(t), c, text(""))
		c.Close()
		ended <- err
	})
	if err := receive(t, ended, "callback"); err != nil {
		t.Fatal(err)
	}
}

func TestACallbackThatPanicsOrExitsIsAlone(t *testing.T) {
	var log logged
	_, target := serve(t, nil, standard()...)
	c := dial(t, target, log.option())
	for i := range 20 {
		echo.CallFunc(soon(t), c, text(""), func(*payload, error) {
			if i%2 == 0 {
				panic("in a callback")
			}
			runtime.Goexit()
		})
	}
	o := newOutcomes(t, 1)
	echo.CallFunc(soon(t), c, text(""), o.of(0))
	o.wait()
	eventually(t, "the panic is logged", func() bool { return log.has("in a callback") })
}

// breaking is Protobuf that breaks when it decodes "break".
type breaking struct {
	trunkcall.Codec
	how func()
}

func (b breaking) Decode(data []byte, message any) error {
	if strings.Contains(string(data), "break") {
		b.how()
	}
	return b.Codec.Decode(data, message)
}

// User code panics, or ends its goroutine, on the way to a callback, where no caller could recover it.
func TestAnAsynchronousCallEndsThoughItsCodecOrInterceptorPanics(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	for name, how := range map[string]func(){"panics": func() { panic("in user code") }, "exits": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			var log logged
			c := dial(t, target, log.option(), trunkcall.WithCodec(breaking{trunkcall.Protobuf, how}))
			_, err := echo.Start(soon(t), c, text("break")).Result()
			wants(t, err, trunkcall.Internal, trunkcall.Executed)
			mustEcho(t, c, "lives")

			intercepted := dial(t, target, log.option(), trunkcall.WithInterceptors(
				func(context.Context, *trunkcall.Call, trunkcall.Next) error {
					how()
					return nil
				}))
			_, err = echo.Start(soon(t), intercepted, text("")).Result()
			wants(t, err, trunkcall.Internal, trunkcall.DeliveryUnknown)
			eventually(t, "both are logged", func() bool { return log.count("asynchronous call panicked") == 2 })
		})
	}
}

// The second attempt leaves out that it is one where there is room for the user's
// metadata only, also if it had to wait for a slot.
func TestASecondAttemptThatWaitedKeepsToTheLimitsOfMetadata(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	var full trunkcall.Metadata
	for range 128 {
		full.Add("k", "v")
	}
	f := echo.Start(trunkcall.WithMetadata(soon(t), full), c, text("full"))
	p := l.Next()
	p.Greet(func(p *wire.Preface) { p.Settings.Calls = 1 })
	first := p.Await(wire.Call)
	between := echo.Start(soon(t), c, text("between"))
	p.Send(rawframe.Failure(first.Stream, wire.ResourceExhausted, wire.FlagRefused, 1, "busy"))
	second := p.Await(wire.Call)
	eventually(t, "the repeated call waits", func() bool { return trunkcall.WaitingCalls(c) == 1 })
	p.Send(rawframe.Result(second.Stream, []byte{}))
	third := p.Await(wire.Call)
	settings := wire.DefaultSettings()
	if b, err := wire.ParseBody(&third.Header, third.Body, false, &settings); err != nil || len(b.Metadata) != len(full) {
		t.Errorf("%d entries, %v", len(b.Metadata), err)
	}
	p.Send(rawframe.Result(third.Stream, []byte{}))
	for _, f := range []*trunkcall.Future[payload]{between, f} {
		if _, err := f.Result(); err != nil {
			t.Error(err)
		}
	}
	p.Close()
}

func TestAsynchronousCallsWaitForSlotsInOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	g := newGate(t)
	_, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{Calls: 1})}, g.handler(),
		echo.Handler(func(_ context.Context, in *payload) (*payload, error) {
			mu.Lock()
			order = append(order, string(in.Data))
			mu.Unlock()
			return in, nil
		}))
	c := dial(t, target, trunkcall.WithWaitingCalls(5))
	first := block.Start(soon(t), c, text(""))
	g.await(t)
	o := newOutcomes(t, 5)
	for i := range 5 {
		echo.CallFunc(soon(t), c, text(fmt.Sprint(i)), o.of(i))
	}
	if g := c.Gauges(); g.WaitingCalls != 5 || g.CallsMade != 1 {
		t.Fatalf("%+v", g)
	}
	_, err := echo.Start(soon(t), c, text("too many")).Result()
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent)
	g.open()
	if _, err := first.Result(); err != nil {
		t.Fatal(err)
	}
	for _, err := range o.wait() {
		if err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(order) != "[0 1 2 3 4]" {
		t.Fatal(order)
	}
	if g := c.Gauges(); g.WaitingCalls != 0 || g.CallsMade != 0 {
		t.Fatalf("%+v", g)
	}
}

func TestAnAsynchronousCallEndsWithItsContext(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{Calls: 1})}, g.handler())
	c := dial(t, target)
	runsOut(t, func(d time.Duration) bool {
		ctx, cancel := within(d)
		defer cancel()
		open := block.Start(ctx, c, text(""))
		if !begins(t, ctx, g.entered, s.Running, calls(c)) {
			return true
		}
		queued := block.Start(ctx, c, text(""))
		_, err := open.Result()
		if !errors.Is(wants(t, err, trunkcall.DeadlineExceeded, trunkcall.DeliveryUnknown).Err(), context.DeadlineExceeded) {
			t.Fatal(err)
		}
		_, err = queued.Result()
		wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
		_, err = block.Start(ctx, c, text("")).Result()
		wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
		return false
	})

	nowhere := newClient(t, "127.0.0.1:1")
	defer nowhere.Close()
	_, err := echo.Start(soon(t), nowhere, text("")).Result()
	wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
	ctx, cancelled := context.WithCancel(soon(t))
	waits := echo.Start(ctx, nowhere, text(""), trunkcall.WaitForReady())
	cancelled()
	_, err = waits.Result()
	wants(t, err, trunkcall.Canceled, trunkcall.NotSent)
}

func TestWaitGivesUpWaitingNotTheCall(t *testing.T) {
	g := newGate(t)
	_, c := join(t, g.handler())
	f := block.Start(soon(t), c, text("x"))
	g.await(t)
	ctx, cancel := context.WithCancel(soon(t))
	cancel()
	if _, err := f.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	g.open()
	receive(t, f.Done(), "end")
	if out, err := f.Result(); err != nil || string(out.Data) != "x" {
		t.Fatal(out, err)
	}
}

// However a call ends, there is one callback.
func TestCloseEndsAsynchronousCallsOnce(t *testing.T) {
	for name, end := range map[string]func(*trunkcall.Server, *trunkcall.Client){
		"Client.Close": func(_ *trunkcall.Server, c *trunkcall.Client) { c.Close() },
		"Server.Close": func(s *trunkcall.Server, _ *trunkcall.Client) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t)
			s, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{Calls: 10})}, g.handler())
			c := dial(t, target)
			o := newOutcomes(t, 30)
			for i := range 30 {
				block.CallFunc(soon(t), c, text(""), o.of(i))
			}
			for range 10 {
				g.await(t)
			}
			end(s, c)
			for _, err := range o.wait() {
				if err == nil {
					t.Error("a call succeeded that cannot have")
				}
			}
		})
	}
}

func TestCloseEndsCallsThatWaitForAServer(t *testing.T) {
	c := newClient(t, "127.0.0.1:1")
	o := newOutcomes(t, 3)
	for i := range 3 {
		echo.CallFunc(context.Background(), c, text(""), o.of(i), trunkcall.WaitForReady())
	}
	eventually(t, "an attempt has failed", func() bool { return c.Gauges().ConnectFailures > 2 })
	c.Close()
	for _, err := range o.wait() {
		wants(t, err, trunkcall.Canceled, trunkcall.NotSent)
	}
}

// The answer, the deadline and the callers' cancelling race.
func TestRacesEndAsynchronousCallsOnce(t *testing.T) {
	_, c := join(t)
	const calls = 3000
	o := newOutcomes(t, calls)
	for i := range calls {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%200)*time.Microsecond)
		defer cancel()
		echo.CallFunc(ctx, c, text("x"), o.of(i))
		if i%3 == 0 {
			go cancel()
		}
	}
	o.wait()
	eventually(t, "nothing is open", func() bool { g := c.Gauges(); return g.CallsMade+g.WaitingCalls == 0 })
	mustEcho(t, c, "lives")
}

func TestARefusedAsynchronousCallIsMadeOnceMore(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	f := echo.Start(soon(t), c, text("again"))
	p := l.Next()
	p.Greet()
	p.Send(rawframe.Failure(p.Await(wire.Call).Stream, wire.ResourceExhausted, wire.FlagRefused, 5, "busy"))
	second := p.Await(wire.Call)
	if second.Flags&wire.FlagMeta == 0 {
		t.Fatal("the second attempt does not say so")
	}
	p.Send(rawframe.Result(second.Stream, []byte{}))
	if _, err := f.Result(); err != nil {
		t.Fatal(err)
	}
	f = echo.Start(soon(t), c, text("twice"))
	for range 2 {
		p.Send(rawframe.Failure(p.Await(wire.Call).Stream, wire.ResourceExhausted, wire.FlagRefused, 1, "busy"))
	}
	_, err := f.Result()
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
	p.Close()
}

func TestAsynchronousCallsTakeOptionsAndInterceptors(t *testing.T) {
	_, target := serve(t, nil, echo.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		_ = trunkcall.CallFromContext(ctx).SetHeader(trunkcall.Metadata{{Key: "h", Value: "1"}})
		_ = trunkcall.CallFromContext(ctx).SetTrailer(trunkcall.Metadata{{Key: "t", Value: "2"}})
		return in, nil
	}))
	var wrapped atomic.Int32
	for _, options := range []clientOptions{nil, {trunkcall.WithInterceptors(
		func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			wrapped.Add(1)
			return next(ctx, call)
		})}} {
		var reply trunkcall.Reply
		c := dial(t, target, options...)
		_, err := echo.Start(soon(t), c, text("x"), trunkcall.ReplyTo(&reply)).Result()
		if err != nil || reply.Header.Get("h") != "1" || reply.Trailer.Get("t") != "2" {
			t.Fatal(err, reply)
		}
	}
	if wrapped.Load() != 1 {
		t.Fatal(wrapped.Load())
	}
}

// A thousand calls in flight need no thousand goroutines. Those that had to get in
// each other's way when the connection came stay for a while, up to 128 of them.
func TestAsynchronousCallsHaveNoGoroutineEach(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	before := runtime.NumGoroutine()
	o := newOutcomes(t, 1000)
	ctx := soon(t)
	for i := range 1000 {
		echo.CallFunc(ctx, c, text("x"), o.of(i))
	}
	p := l.Next()
	p.Greet()
	for range 1000 {
		p.Await(wire.Call)
	}
	eventually(t, "no goroutine for each", func() bool { return runtime.NumGoroutine()-before < 200 })
	p.Close()
	o.wait()
}

func BenchmarkAsync(b *testing.B) {
	_, target := serve(b, nil, standard()...)
	c := dial(b, target)
	b.Run("CallFunc", func(b *testing.B) {
		b.ReportAllocs()
		free := make(chan struct{}, 100)
		for range cap(free) {
			free <- struct{}{}
		}
		done := func(*payload, error) { free <- struct{}{} }
		for range b.N {
			<-free
			echo.CallFunc(context.Background(), c, &payload{}, done)
		}
		for range cap(free) {
			<-free
		}
	})
	b.Run("Start", func(b *testing.B) {
		b.ReportAllocs()
		var futures [100]*trunkcall.Future[payload]
		for i := range b.N {
			if f := futures[i%len(futures)]; f != nil {
				f.Result()
			}
			futures[i%len(futures)] = echo.Start(context.Background(), c, &payload{})
		}
		for _, f := range futures {
			if f != nil {
				f.Result()
			}
		}
	})
}
