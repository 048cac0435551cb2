package trunkcall_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Callers that make one call after the other read their answers themselves,
// and between two calls nobody may be reading. These tests look for what falls
// into that gap.

// warm makes calls one after the other until that is how the connection works.
func warm(t *testing.T, c *trunkcall.Client) {
	t.Helper()
	for range 300 {
		mustEchoQuickly(t, c)
	}
}

func mustEchoQuickly(t *testing.T, c *trunkcall.Client) {
	if _, err := echo.Call(context.Background(), c, text("x")); err != nil {
		t.Fatal(err)
	}
}

func TestLoneAndCrowdedCallsInTurn(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		for round := range 60 {
			for range round % 20 {
				mustEchoQuickly(t, c)
			}
			var all sync.WaitGroup
			for caller := range 2 + round%9 {
				all.Go(func() {
					for i := range 5 {
						want := fmt.Sprint(round, caller, i)
						out, err := echo.Call(context.Background(), c, text(want))
						if err != nil || string(out.Data) != want {
							t.Errorf("%v, %v, want %s", out, err, want)
						}
					}
				})
			}
			all.Wait()
		}
	})
}

// A second caller arrives while the first reads for itself.
func TestACallBesideOneThatReadsForItself(t *testing.T) {
	g := newGate(t)
	_, c := join(t, g.handler())
	for range 20 {
		warm(t, c)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := block.Call(ctx, c, text(""))
			ended <- err
		}()
		g.await(t)
		for range 3 {
			mustEcho(t, c, "meanwhile")
		}
		cancel()
		wants(t, receive(t, ended, "status"), trunkcall.Canceled, trunkcall.DeliveryUnknown)
	}
	g.open()
}

// A handler blocks on a method that was quick for long: the next call on the
// same connection is answered nevertheless.
func TestAHandlerThatBlocksForOnceHoldsUpNobody(t *testing.T) {
	hold := make(chan chan struct{}, 1)
	blocked := make(chan struct{}, 1)
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		for range 3 {
			for range 300 {
				if _, err := block.Call(context.Background(), c, text("")); err != nil {
					t.Fatal(err)
				}
			}
			leave := make(chan struct{})
			hold <- leave
			ended := make(chan error, 1)
			go func() {
				_, err := block.Call(soon(t), c, text(""))
				ended <- err
			}()
			receive(t, blocked, "handler that blocks")
			for range 5 {
				mustEcho(t, c, "beside it")
			}
			close(leave)
			if err := receive(t, ended, "answer"); err != nil {
				t.Fatal(err)
			}
		}
	}, block.Handler(func(_ context.Context, in *payload) (*payload, error) {
		select {
		case leave := <-hold:
			blocked <- struct{}{}
			<-leave
		default:
		}
		return in, nil
	}))
}

// The handler makes a call over the very connection that it was called on by
// its own caller's client, and one back to its own server.
func TestAQuickHandlerThatSuddenlyCallsItsOwnServer(t *testing.T) {
	var own *trunkcall.Client
	deep := false
	_, c := join(t, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		if deep {
			return echo.Call(ctx, own, in)
		}
		return in, nil
	}))
	own = c
	for range 10 {
		for range 150 {
			if _, err := block.Call(context.Background(), c, text("x")); err != nil {
				t.Fatal(err)
			}
		}
		deep = true
		if out, err := block.Call(soon(t), c, text("through")); err != nil || string(out.Data) != "through" {
			t.Fatal(out, err)
		}
		deep = false
	}
}

// A GOAWAY or an end between two calls is noticed although no caller reads.
func TestTheEndOfAnIdleConnectionIsNoticed(t *testing.T) {
	for name, end := range map[string]func(*rawframe.Peer){
		"closed": func(p *rawframe.Peer) { _ = p.Close() },
		"reset":  (*rawframe.Peer).Reset,
		"GOAWAY": func(p *rawframe.Peer) { p.Send(rawframe.GoAway(0, "bye"), rawframe.GoAwayAck()) },
	} {
		t.Run(name, func(t *testing.T) {
			l := rawframe.Listen(t)
			c := newClient(t, l.Target())
			t.Cleanup(c.Close)
			const calls = 100
			ended := make(chan error, 1)
			go func() {
				for range calls {
					if _, err := echo.Call(context.Background(), c, text("x")); err != nil {
						ended <- err
						return
					}
				}
				ended <- nil
			}()
			p := l.Next()
			p.Greet()
			for range calls {
				f := p.Await(wire.Call)
				p.Send(rawframe.Result(f.Stream, f.Message(t)))
			}
			if err := receive(t, ended, "end of the calls"); err != nil {
				t.Fatal(err)
			}
			end(p)
			_ = l.Next().Close() // the client reconnects without being asked
			_ = p.Close()
		})
	}
}

func TestAServersPingIsAnsweredWhileNoCallRuns(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	next := make(chan struct{})
	go func() {
		for range next {
			_, _ = echo.Call(context.Background(), c, text("x"))
		}
	}()
	defer close(next)
	next <- struct{}{}
	p := l.Next()
	defer p.Close()
	p.Greet()
	for i := range uint32(200) {
		f := p.Await(wire.Call)
		p.Send(rawframe.Result(f.Stream, f.Message(t)))
		if i%20 == 19 {
			p.Send(rawframe.Ping(0, i))
			if ack := p.Await(wire.Ping); ack.Word != i {
				t.Fatal(ack)
			}
		}
		next <- struct{}{}
	}
	f := p.Await(wire.Call)
	p.Send(rawframe.Result(f.Stream, f.Message(t)))
}

func TestCallsAfterOneThatEndedWhileItsCallerRead(t *testing.T) {
	_, c := join(t, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		<-ctx.Done()
		return in, nil
	}))
	for i := range 150 {
		for range i % 4 {
			mustEchoQuickly(t, c)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i%5*100)*time.Microsecond)
		if i%3 == 0 {
			cancel()
			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(time.Duration(i%7*50)*time.Microsecond, cancel)
		}
		_, err := block.Call(ctx, c, text("x"))
		cancel()
		if s := trunkcall.StatusOf(err); s.Code != trunkcall.DeadlineExceeded && s.Code != trunkcall.Canceled {
			t.Fatalf("call %d: %v", i, err)
		}
		mustEchoQuickly(t, c)
	}
}

// Contexts that end just when the answer comes, between lone calls: the
// interruption meant for one reader must not hit the next.
func TestInterruptionsHitNobodyElse(t *testing.T) {
	_, c := join(t)
	for i := range 4000 {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(time.Duration(i%100)*2*time.Microsecond, cancel)
		_, err := echo.Call(ctx, c, text("x"))
		if err != nil && trunkcall.StatusOf(err).Code != trunkcall.Canceled {
			t.Fatal(err)
		}
		if i%2 == 0 {
			mustEchoQuickly(t, c)
		}
		timer.Stop()
		cancel()
	}
}

func TestAStreamBesideLoneCalls(t *testing.T) {
	_, c := join(t)
	for range 20 {
		warm(t, c)
		s, err := chat.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if err := s.Send(text("x")); err != nil {
				t.Fatal(err)
			}
			mustEchoQuickly(t, c)
			if _, err := s.Receive(); err != nil {
				t.Fatal(err)
			}
		}
		_ = s.CloseSend()
		for err == nil {
			_, err = s.Receive()
		}
		mustEchoQuickly(t, c)
	}
}

func TestManyClientsOfOneCallEach(t *testing.T) {
	s, target := serve(t, nil, standard()...)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				c := newClient(t, target)
				if _, err := echo.Call(context.Background(), c, text("x")); err != nil {
					t.Error(err)
				}
				c.Close()
			}
		})
	}
	all.Wait()
	if err := s.Stop(soon(t)); err != nil {
		t.Fatal(err)
	}
}

// A unary call that is answered twice is over with the second answer, though
// the server goes on, and holds nobody up.
func TestALoneCallerWithTwoAnswersHoldsNobodyUp(t *testing.T) {
	leave := make(chan struct{})
	defer close(leave)
	two := trunkcall.ServerStream[payload, payload]("/test.Service/Two")
	_, c := join(t, two.Handler(func(_ context.Context, in *payload, out *trunkcall.Sender[payload]) error {
		_ = out.Send(in)
		_ = out.Send(in)
		<-leave
		return nil
	}))
	for range 10 {
		warm(t, c)
		ended := make(chan error, 1)
		go func() { ended <- c.Invoke(soon(t), unary("/test.Service/Two"), text("x"), &payload{}) }()
		wants(t, receive(t, ended, "end of the call"), trunkcall.Unimplemented, trunkcall.DeliveryUnknown)
		mustEchoQuickly(t, c)
	}
}

// A lone caller that waits for a silent server is free at once when the client
// is closed.
func TestCloseFreesALoneCaller(t *testing.T) {
	for range 5 {
		g := newGate(t)
		_, c := join(t, g.handler())
		warm(t, c)
		ended := make(chan time.Time, 1)
		go func() {
			_, err := block.Call(context.Background(), c, text(""))
			if err == nil {
				t.Error("answered")
			}
			ended <- time.Now()
		}()
		g.await(t)
		began := time.Now()
		go c.Close()
		if took := receive(t, ended, "end of the call").Sub(began); took > tardy {
			t.Errorf("the caller was free after %v", took)
		}
		g.open()
	}
}
