package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// load calls from several goroutines until stop is closed and reports every
// failure and every call that was run twice.
type load struct {
	ledger
	stop  chan struct{}
	calls atomic.Int64
	all   sync.WaitGroup
}

func (l *load) begin(t *testing.T, c *trunkcall.Client, options ...trunkcall.CallOption) {
	l.stop = make(chan struct{})
	for range 8 {
		l.all.Go(func() {
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				id := int(l.calls.Add(1)) & 0xffff
				l.runs[id].Store(0)
				out, err := block.Call(soon(t), c, ledgerRequest(id), options...)
				if err != nil {
					t.Errorf("a call failed: %v", err)
					return
				}
				if err := l.judge(id, out, err); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// progress waits until some more calls were made.
func (l *load) progress(t *testing.T) {
	t.Helper()
	from := l.calls.Load()
	eventually(t, "calls go on", func() bool { return l.calls.Load() > from+200 })
}

func (l *load) end() {
	close(l.stop)
	l.all.Wait()
}

func TestStoppingOneOfTwoServersFailsNoCall(t *testing.T) {
	var l load
	one, first := serve(t, nil, l.handler())
	_, second := serve(t, nil, l.handler())
	c := dial(t, first+","+second, trunkcall.WithConnections(2))
	l.begin(t, c)
	l.progress(t)
	if err := one.Stop(soon(t)); err != nil {
		t.Error(err)
	}
	l.progress(t)
	l.end()
}

func TestReplacingAServerOnItsAddressFailsNoCall(t *testing.T) {
	var l load
	s, target := serve(t, nil, l.handler())
	c := dial(t, target)
	l.begin(t, c, trunkcall.WaitForReady())
	for range 3 {
		l.progress(t)
		if err := s.Stop(soon(t)); err != nil {
			t.Error(err)
		}
		s, _ = start(t, target, nil, l.handler())
	}
	l.progress(t)
	l.end()
}

func TestStreamsFinishWhileTheServerDrains(t *testing.T) {
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		stream, err := chat.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		ping := func() {
			t.Helper()
			if err := stream.Send(text("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := stream.Receive(); err != nil {
				t.Fatal(err)
			}
		}
		ping()
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(soon(t)) }()
		eventually(t, "new calls are turned away", func() bool {
			ctx, cancel := within(time.Second)
			defer cancel()
			_, err := echo.Call(ctx, c, text("x"))
			if err != nil && trunkcall.StatusOf(err).Delivery != trunkcall.NotSent && trunkcall.StatusOf(err).Delivery != trunkcall.Refused {
				t.Fatalf("%v is not provably unexecuted", err)
			}
			return err != nil
		})
		for range 20 {
			ping()
		}
		select {
		case err := <-stopped:
			t.Fatalf("Stop returned %v before the stream ended", err)
		default:
		}
		_ = stream.CloseSend()
		if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := receive(t, stopped, "end of Stop"); err != nil {
			t.Fatal(err)
		}
	})
}

func TestStopGivesAStuckHandlerUpWhenItsContextEnds(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, g.handler())
	c := dial(t, target)
	ended := make(chan error, 1)
	go func() {
		_, err := block.Call(soon(t), c, text(""))
		ended <- err
	}()
	handler := g.await(t)
	ctx, cancel := within(50 * time.Millisecond)
	defer cancel()
	began := time.Now()
	err := s.Stop(ctx)
	if took := time.Since(began); took > tardy {
		t.Errorf("Stop took %v", took)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Stop: %v", err)
	}
	wantsText(t, err.Error(), "running: 1")
	s2 := wants(t, receive(t, ended, "status"), trunkcall.Unavailable, trunkcall.DeliveryUnknown)
	wantsText(t, s2.Message, "the server has been stopped")
	ends(t, handler)
}

func TestAStoppedServerServesNoMore(t *testing.T) {
	s, c := join(t)
	mustEcho(t, c, "x")
	if err := s.Stop(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(soon(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("127.0.0.1:0"); !errors.Is(err, trunkcall.ErrServerStopped) {
		t.Fatal(err)
	}
	_, err := echo.Call(soon(t), c, text("x"))
	wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
}

// What the peer sees of draining: GOAWAY at once; the call that runs is answered;
// a call after the peer's own ACK is refused; then the ACK, since no handler can
// call any more, and the end.
func TestDrainingOnTheWire(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, g.handler())
	p := raw(t, target)
	p.Send(rawframe.Define(1, "/test.Service/Block"), rawframe.Call(1, 1, 1, nil))
	g.await(t)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(soon(t)) }()
	if f := p.Await(wire.GoAway); f.Flags&wire.FlagAck != 0 || f.Word != wire.GoAwayDraining {
		t.Fatalf("flags %#x, reason %d", f.Flags, f.Word)
	}
	p.Send(rawframe.Call(2, 1, 1, nil)) // on its way before the ACK: still served
	g.await(t)
	p.Send(rawframe.GoAwayAck(), rawframe.Call(3, 1, 1, nil))
	f, code, _ := p.AwaitResult(rawframe.ID(3, 1))
	if code != trunkcall.Unavailable || f.Flags&wire.FlagRefused == 0 || f.Word == 0 {
		t.Fatalf("after the ACK: %v, flags %#x, retry-after %d", code, f.Flags, f.Word)
	}
	g.open()
	results, rest := 0, p.Rest()
	for _, f := range rest {
		if f.Type == wire.Result && f.Code == 0 {
			results++
		}
	}
	if last := rest[len(rest)-1]; results != 2 || last.Type != wire.GoAway || last.Flags&wire.FlagAck == 0 {
		t.Fatalf("%d of 2 calls were answered, and the last frame is %v", results, last.Type)
	}
	_ = p.Close()
	if err := receive(t, stopped, "end of Stop"); err != nil {
		t.Fatal(err)
	}
}

// A method that a server lacks is UNIMPLEMENTED also while it drains (protocol.md 4.6), and calls that it
// refuses do not count as running.
func TestADrainingServerStillSaysWhatIsAtFault(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, append(standard(), g.handler())...)
	p := raw(t, target)
	p.Send(rawframe.Define(1, "/test.Service/Block"), rawframe.Call(1, 1, 1, nil), rawframe.GoAwayAck())
	g.await(t)
	p.Send(rawframe.Define(2, "/test.Service/Nothing"), rawframe.Define(3, "/test.Service/Echo"))
	for i, want := range []struct {
		method     uint16
		code       trunkcall.Code
		retryAfter uint32
	}{{2, trunkcall.Unimplemented, 0}, {3, trunkcall.Unavailable, 1}} {
		generation := uint16(i + 1)
		p.Send(rawframe.Call(2, generation, want.method, nil))
		f, code, message := p.AwaitResult(rawframe.ID(2, generation))
		if code != want.code || f.Flags&wire.FlagRefused == 0 || f.Word != want.retryAfter {
			t.Errorf("%v %q, flags %#x, retry-after %d", code, message, f.Flags, f.Word)
		}
	}
	if n := s.Running(); n != 1 {
		t.Errorf("%d handlers run", n)
	}
	g.open()
	if _, code, _ := p.AwaitResult(rawframe.ID(1, 1)); code != trunkcall.OK {
		t.Fatal(code)
	}
}

// The end of a stream ends what is open, also where the peer has said before that it
// opens no more calls (protocol.md 11.7).
func TestTheEndOfAStreamCancelsTheHandlers(t *testing.T) {
	g := newGate(t)
	_, target := serve(t, nil, g.handler())
	for name, before := range map[string][]byte{"unannounced": nil, "behind its ACK": rawframe.GoAwayAck()} {
		t.Run(name, func(t *testing.T) {
			p := raw(t, target)
			p.Send(rawframe.Define(1, "/test.Service/Block"), rawframe.Call(1, 1, 1, nil), before)
			handler := g.await(t)
			p.HalfClose()
			ends(t, handler)
		})
	}
}

func TestAServersGoAwayMovesCallsToANewConnection(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ended := make(chan error, 2)
	call := func() {
		_, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady())
		ended <- err
	}
	go call()
	old := l.Next()
	old.Greet()
	running := old.Await(wire.Call)
	old.Send(rawframe.GoAway(wire.GoAwayDraining, "bye"), rawframe.GoAwayAck())
	for old.Await(wire.GoAway).Flags&wire.FlagAck == 0 { // until the client says that it opens no more
	}
	go call()
	fresh := l.Next()
	fresh.Greet()
	f := fresh.Await(wire.Call)
	fresh.Send(rawframe.Result(f.Stream, f.Message(t)))
	if err := receive(t, ended, "status"); err != nil {
		t.Fatal(err)
	}
	old.Send(rawframe.Result(running.Stream, running.Message(t)))
	if err := receive(t, ended, "status"); err != nil {
		t.Fatal(err)
	}
	if rest := old.Rest(); len(rest) != 0 {
		t.Fatalf("after the end: %v", rest)
	}
}
