package trunkcall_test

import (
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/wire"
)

// The one repetition that the client makes itself, of unary calls that provably
// were not run (design.md 7, status.md). See also delivery_test.go.

// twoConnections is a client with two connections to raw servers.
func twoConnections(t *testing.T) (*trunkcall.Client, [2]*rawframe.Peer) {
	t.Helper()
	l := rawframe.Listen(t)
	c := trunkcall.NewClient(l.Target(), trunkcall.WithConnections(2))
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

// What may have been run is not repeated, whatever its code, nor what could
// only be repeated too late.
func TestWhatMayHaveRunIsNotRepeated(t *testing.T) {
	for name, answer := range map[string]struct {
		flags    wire.Flags
		word     uint32
		code     trunkcall.Code
		delivery trunkcall.Delivery
	}{
		"answered by the handler":           {0, 1, trunkcall.Unavailable, trunkcall.Executed},
		"cut":                               {wire.FlagCut, 1, trunkcall.Unavailable, trunkcall.DeliveryUnknown},
		"refused for good":                  {wire.FlagRefused, 0, trunkcall.Unavailable, trunkcall.Refused},
		"refused until after the deadline":  {wire.FlagRefused, 900, trunkcall.ResourceExhausted, trunkcall.Refused},
		"refused for longer than we'd wait": {wire.FlagRefused, 1001, trunkcall.ResourceExhausted, trunkcall.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			l := rawframe.Listen(t)
			c := trunkcall.NewClient(l.Target())
			defer c.Close()
			ended := make(chan error, 1)
			began := time.Now()
			go func() {
				ctx, cancel := within(800 * time.Millisecond)
				defer cancel()
				_, err := echo.Call(ctx, c, text("x"))
				ended <- err
			}()
			p := l.Next()
			p.Greet()
			f := p.Await(wire.Call)
			p.Send(rawframe.Failure(f.Stream, answer.code, answer.flags, answer.word, "no"))
			wants(t, receive(t, ended, "status"), answer.code, answer.delivery)
			if took := time.Since(began); took > 700*time.Millisecond {
				t.Errorf("it took %v to say so", took)
			}
			p.Send(rawframe.Ping(0, 7))
			for {
				f, err := p.Next()
				if err != nil || f.Type == wire.Call {
					t.Fatalf("%v, %v: the call was repeated", f, err)
				}
				if f.Type == wire.Ping {
					break
				}
			}
			_ = p.Close()
		})
	}
}

// A server that allows fewer calls than a client takes for granted before it is
// told: those beyond are refused, wait for a slot and are run once each.
func TestCallsMadeBeforeTheLimitWasKnownAreRunOnceEach(t *testing.T) {
	l := rawframe.Listen(t)
	c := trunkcall.NewClient(l.Target())
	defer c.Close()
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
