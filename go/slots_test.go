package trunkcall_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// fewSlots is a server that allows few calls at once, and a client with the
// given bound on those that wait.
func fewSlots(t *testing.T, calls uint32, waiting int, handlers ...trunkcall.Handler) *trunkcall.Client {
	_, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{Calls: calls})}, append(standard(), handlers...)...)
	return dial(t, target, trunkcall.WithWaitingCalls(waiting))
}

func TestCallsBeyondTheSlotsWaitInABoundedQueue(t *testing.T) {
	g := newGate(t)
	const slots, waiting = 3, 4
	c := fewSlots(t, slots, waiting, g.handler())
	ended := make(chan error, slots+waiting)
	call := func() {
		for {
			_, err := block.Call(soon(t), c, text(""))
			if s := trunkcall.StatusOf(err); s.Code == trunkcall.ResourceExhausted {
				continue // the probe below stood in the queue at that moment
			}
			ended <- err
			return
		}
	}
	for range slots {
		go call()
		g.await(t)
	}
	for range waiting {
		go call()
	}
	eventually(t, "they wait", func() bool { return trunkcall.WaitingCalls(c) == waiting })
	_, err := block.Call(soon(t), c, text(""))
	wantsText(t, wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent).Message, "waiting calls", "4")
	_, err = chat.Open(soon(t), c)
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent)
	if len(g.entered) != 0 || len(ended) != 0 {
		t.Fatal("a waiting call went on")
	}
	g.open()
	for range slots + waiting {
		if err := receive(t, ended, "answer"); err != nil {
			t.Fatal(err)
		}
	}
	mustEcho(t, c, "room again")
}

// oneSlot connects a client to a raw server that allows one call at a time.
func oneSlot(t *testing.T, l *rawframe.Listener, c *trunkcall.Client) *rawframe.Peer {
	connected := make(chan error, 1)
	go func() { connected <- c.Connect(soon(t)) }()
	p := l.Next()
	p.Greet(func(p *wire.Preface) { p.Settings.Calls = 1 })
	if err := receive(t, connected, "connection"); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWaitingCallsAreOpenedInOrder(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	const waiting = 8
	var all sync.WaitGroup
	call := func(i int) {
		all.Go(func() {
			if out, err := echo.Call(soon(t), c, numbered(i, 0)); err != nil || number(out) != i {
				t.Errorf("call %d: %v, %v", i, out, err)
			}
		})
	}
	p := oneSlot(t, l, c)
	call(0)
	f := p.Await(wire.Call)
	for i := 1; i <= waiting; i++ {
		before := trunkcall.WaitingCalls(c)
		call(i)
		eventually(t, "the call waits", func() bool { return trunkcall.WaitingCalls(c) == before+1 })
	}
	for i := range waiting + 1 {
		got := &payload{}
		if err := got.UnmarshalVT(f.Message(t)); err != nil || number(got) != i {
			t.Fatalf("%v: call %d came when %d was due", err, number(got), i)
		}
		p.Send(rawframe.Result(f.Stream, f.Message(t)))
		if i < waiting {
			f = p.Await(wire.Call)
		}
	}
	all.Wait()
}

func TestACancelledWaiterGivesItsPlaceUp(t *testing.T) {
	g := newGate(t)
	c := fewSlots(t, 1, 10, g.handler())
	ended := make(chan error, 10)
	call := func(ctx context.Context) {
		_, err := block.Call(ctx, c, text(""))
		ended <- err
	}
	go call(soon(t))
	g.await(t)
	ctx, cancel := context.WithCancel(context.Background())
	for range 5 {
		go call(ctx)
	}
	eventually(t, "they wait", func() bool { return trunkcall.WaitingCalls(c) == 5 })
	go call(soon(t))
	eventually(t, "it waits", func() bool { return trunkcall.WaitingCalls(c) == 6 })
	cancel()
	for range 5 {
		wants(t, receive(t, ended, "status"), trunkcall.Canceled, trunkcall.NotSent)
	}
	if n := trunkcall.WaitingCalls(c); n != 1 {
		t.Fatalf("%d wait", n)
	}
	g.open()
	for range 2 {
		if err := receive(t, ended, "status"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWaitersGoOnWhenTheirConnectionIsLost(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ended := make(chan error, 3)
	call := func() {
		_, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady())
		ended <- err
	}
	go call()
	p := l.Next()
	p.Greet(func(p *wire.Preface) { p.Settings.Calls = 1 })
	p.Await(wire.Call)
	if err := c.Connect(soon(t)); err != nil { // the client knows the limit
		t.Fatal(err)
	}
	go call()
	go call()
	eventually(t, "they wait", func() bool { return trunkcall.WaitingCalls(c) == 2 })
	p.Reset()
	wants(t, receive(t, ended, "status"), trunkcall.Unavailable, trunkcall.DeliveryUnknown)
	p = l.Next()
	p.Greet()
	for range 2 {
		f := p.Await(wire.Call)
		p.Send(rawframe.Result(f.Stream, f.Message(t)))
	}
	for range 2 {
		if err := receive(t, ended, "status"); err != nil {
			t.Fatal(err)
		}
	}
}

// Waiters that come and go while slots are freed must lose none of them.
func TestNoSlotIsLostAmongCancelledWaiters(t *testing.T) {
	c := fewSlots(t, 2, 1000)
	var all sync.WaitGroup
	for caller := range 12 {
		all.Go(func() {
			for i := range 300 {
				ctx, cancel := within(time.Duration(20+(i*31+caller*17)%300) * time.Microsecond)
				_, err := echo.Call(ctx, c, text("x"))
				cancel()
				if err != nil && trunkcall.StatusOf(err).Code != trunkcall.DeadlineExceeded {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := trunkcall.WaitingCalls(c); n != 0 {
		t.Fatalf("%d wait", n)
	}
	ctx := soon(t)
	for range 4 {
		all.Go(func() {
			if _, err := echo.Call(ctx, c, text("x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestAServerThatAllowsNoCallsMakesThemWait(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	connected := make(chan error, 1)
	go func() { connected <- c.Connect(soon(t)) }()
	p := l.Next()
	p.Greet(func(p *wire.Preface) { p.Settings.Calls = 0 })
	if err := receive(t, connected, "connection"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := within(20 * time.Millisecond)
	defer cancel()
	_, err := echo.Call(ctx, c, text(""))
	wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
}

// A call takes whichever connection has a slot, though it stays with one as a rule.
func TestACallTakesAnyConnectionWithAFreeSlot(t *testing.T) {
	g := newGate(t)
	const connections = 3
	_, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{Calls: 1})}, append(standard(), g.handler())...)
	c := dial(t, target, trunkcall.WithConnections(connections))
	blocked := make(chan error, connections)
	call := func() {
		_, err := block.Call(soon(t), c, text(""))
		blocked <- err
	}
	for range connections - 1 {
		go call()
		g.await(t)
	}
	for range 300 { // one connection is left
		mustEcho(t, c, "x")
		done := make(chan error, 1)
		echo.CallFunc(soon(t), c, text("x"), func(_ *payload, err error) { done <- err })
		if err := receive(t, done, "answer"); err != nil {
			t.Fatal(err)
		}
	}
	// With none left, calls wait for the first slot of any.
	go call()
	g.await(t)
	const waiting = 10
	waited := make(chan error, waiting)
	for range waiting {
		go func() {
			_, err := echo.Call(soon(t), c, text(""))
			waited <- err
		}()
	}
	eventually(t, "they wait", func() bool { return trunkcall.WaitingCalls(c) == waiting })
	g.leave <- struct{}{} // one of the connections is free
	for range waiting {
		if err := receive(t, waited, "answer"); err != nil {
			t.Fatal(err)
		}
	}
	g.open()
	for range connections {
		if err := receive(t, blocked, "answer"); err != nil {
			t.Fatal(err)
		}
	}
}

// A connection that comes back also serves calls that wait for a slot of another.
func TestCallsThatWaitTakeANewConnection(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{Calls: 1})}, append(standard(), g.handler())...)
	c := dial(t, target, trunkcall.WithConnections(2))
	ended := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := block.Call(soon(t), c, text(""))
			ended <- err
		}()
		g.await(t)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text(""))
		waited <- err
	}()
	eventually(t, "it waits", func() bool { return trunkcall.WaitingCalls(c) == 1 })
	s.Connections()[0].Disconnect()
	if err := receive(t, waited, "answer"); err != nil {
		t.Fatal(err)
	}
	g.open()
	for range 2 {
		_ = receive(t, ended, "end")
	}
}

// Calls that wait in great numbers end together when their time does: those that wait for a slot, and those that wait
// for an endpoint.
func TestTheTimeOfAHundredThousandWaitingCallsEndsTogether(t *testing.T) {
	many := among(100_000, 4000)
	g := newGate(t)
	slot := fewSlots(t, 1, many, g.handler())
	go func() { _, _ = block.Call(soon(t), slot, text("")) }()
	g.await(t)
	resolved := newClient(t, "pushed:rest", trunkcall.WithResolver("pushed", newPushed()), trunkcall.WithWaitingCalls(many))
	t.Cleanup(resolved.Close)
	for name, c := range map[string]*trunkcall.Client{"for a slot": slot, "for an endpoint": resolved} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ended := make(chan error, many)
			for range many {
				echo.CallFunc(ctx, c, text(""), func(_ *payload, err error) { ended <- err })
			}
			if n := trunkcall.WaitingCalls(c); n != many {
				t.Fatalf("%d wait", n)
			}
			cancel()
			for range many {
				wants(t, receive(t, ended, "end"), trunkcall.Canceled, trunkcall.NotSent)
			}
			if n := trunkcall.WaitingCalls(c); n != 0 {
				t.Errorf("%d still wait", n)
			}
		})
	}
}
