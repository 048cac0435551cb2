package trunkcall_test

import (
	"context"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The one repetition that the client makes itself, of unary calls that provably
// were not run (design.md 7, status.md). See also delivery_test.go.

// twoConnections is a client with two connections to raw servers.
func twoConnections(t *testing.T) (*trunkcall.Client, [2]*rawframe.Peer) {
	t.Helper()
	l := rawframe.Listen(t)
	c := newClient(t, l.Target(), trunkcall.WithConnections(2))
	t.Cleanup(c.Close)
	connected := make(chan error, 1)
	go func() { connected <- c.Connect(soon(t)) }()
	var peers [2]*rawframe.Peer
	for i := range peers {
		peers[i] = l.Next()
		peers[i].Greet()
	}
	if err := receive(t, connected, "connections"); err != nil {
		t.Fatal(err)
	}
	return c, peers
}

// eitherCall waits for a CALL on one of two connections.
func eitherCall(peers [2]*rawframe.Peer) (which int, f rawframe.Frame, other func() rawframe.Frame) {
	type arrival struct {
		which int
		frame rawframe.Frame
	}
	calls := make(chan arrival, 2)
	for i, p := range peers {
		go func() { calls <- arrival{i, p.Await(wire.Call)} }()
	}
	first := <-calls
	return first.which, first.frame, func() rawframe.Frame { return (<-calls).frame }
}

func TestARefusedCallIsRepeatedElsewhere(t *testing.T) {
	for name, code := range map[string]trunkcall.Code{"draining": trunkcall.Unavailable, "busy": trunkcall.ResourceExhausted} {
		t.Run(name, func(t *testing.T) {
			c, peers := twoConnections(t)
			for range 4 {
				ended := make(chan error, 1)
				go func() {
					_, err := echo.Call(soon(t), c, text("x"))
					ended <- err
				}()
				which, f, other := eitherCall(peers)
				peers[which].Send(rawframe.Failure(f.Stream, code, wire.FlagRefused, 1, "not here"))
				f = other()
				settings := wire.DefaultSettings()
				b, fault := wire.ParseBody(&f.Header, f.Body, false, &settings)
				if fault != nil || b.Own == nil || b.Own.Attempt != 2 {
					t.Fatalf("%v: the second attempt says %+v", fault, b.Own)
				}
				peers[1-which].Send(rawframe.Result(f.Stream, b.Payload))
				if err := receive(t, ended, "status"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A call that may have run is not repeated, whatever its code; nor is one that could only be repeated too late.
func TestWhatMayHaveRunIsNotRepeated(t *testing.T) {
	for name, a := range map[string]answer{
		"answered by the handler":           {0, 1, trunkcall.Unavailable, trunkcall.Executed},
		"cut":                               {wire.FlagCut, 1, trunkcall.Unavailable, trunkcall.DeliveryUnknown},
		"refused, and no overload":          {wire.FlagRefused, 1, trunkcall.Aborted, trunkcall.Refused},
		"refused for good":                  {wire.FlagRefused, 0, trunkcall.Unavailable, trunkcall.Refused},
		"refused until after the deadline":  {wire.FlagRefused, 900, trunkcall.ResourceExhausted, trunkcall.Refused},
		"refused for longer than we'd wait": {wire.FlagRefused, 1001, trunkcall.ResourceExhausted, trunkcall.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			if a.word != 900 {
				if !a.ends(t, long) {
					t.Error("it ended with its time")
				}
				return
			}
			for tries := 1; !a.ends(t, 800*time.Millisecond); tries++ { // too slow a machine, or too slow a client
				t.Attr("retry", "the call ended with its time")
				if tries == 20 {
					t.Fatal("it always ends with its time")
				}
			}
		})
	}
}

// answer is how a server ends a call.
type answer struct {
	flags    wire.Flags
	word     uint32
	code     trunkcall.Code
	delivery trunkcall.Delivery
}

// ends fails if a call that is given so much time and answered so is not over with
// that. It returns false if the time was over as well.
func (a *answer) ends(t *testing.T, d time.Duration) (inTime bool) {
	t.Helper()
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ctx, cancel := within(d)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(ctx, c, text("x"))
		inTime = ctx.Err() == nil
		ended <- err
	}()
	p := l.Next()
	defer p.Close()
	p.Greet()
	context.AfterFunc(ctx, c.Close) // in case that it was not even sent
	f, err := p.Next()
	for ; f.Type != wire.Call; f, err = p.Next() {
		if err != nil {
			return false
		}
	}
	_ = p.Try(rawframe.Failure(f.Stream, a.code, a.flags, a.word, "no"))
	err = receive(t, ended, "status")
	if !inTime {
		return false
	}
	wants(t, err, a.code, a.delivery)
	p.Send(rawframe.Ping(0, 7))
	for {
		f, err := p.Next()
		if err != nil || f.Type == wire.Call {
			t.Fatalf("%v, %v: the call was repeated", f, err)
		}
		if f.Type == wire.Ping {
			return true
		}
	}
}

// A server that allows fewer calls than a client takes for granted before it is
// told: those beyond are refused, wait for a slot and are run once each.
func TestCallsMadeBeforeTheLimitWasKnownAreRunOnceEach(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	const calls, slots = 10, 2
	ended := make(chan error, calls)
	for i := range calls {
		go func() {
			out, err := echo.Call(soon(t), c, numbered(i, 0))
			if err == nil && number(out) != i {
				t.Errorf("call %d was answered %d", i, number(out))
			}
			ended <- err
		}()
	}
	p := l.Next()
	var early []rawframe.Frame
	p.ReadPreface()
	for range calls {
		early = append(early, p.Await(wire.Call))
	}
	p.Send(rawframe.Preface(func(p *wire.Preface) { p.Settings.Calls = slots }))
	runs := map[int]int{}
	run := func(f rawframe.Frame) {
		got := &payload{}
		if err := got.UnmarshalVT(f.Message(t)); err != nil {
			t.Fatal(err)
		}
		runs[number(got)]++
		p.Send(rawframe.Result(f.Stream, f.Message(t)))
	}
	for _, f := range early {
		if f.Stream.Slot() > slots {
			p.Send(rawframe.Failure(f.Stream, trunkcall.ResourceExhausted, wire.FlagRefused, 10, "max_calls 2 is exceeded"))
		}
	}
	for _, f := range early {
		if f.Stream.Slot() <= slots {
			run(f)
		}
	}
	for range calls - slots {
		f := p.Await(wire.Call)
		if f.Stream.Slot() > slots {
			t.Fatalf("slot %d of %d", f.Stream.Slot(), slots)
		}
		run(f)
	}
	for range calls {
		if err := receive(t, ended, "status"); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range runs {
		if n != 1 {
			t.Errorf("call %d ran %d times", i, n)
		}
	}
	_ = p.Close()
}
