package trunkcall_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// A call ends at most 5 ms after its deadline on an idle machine. Tests run on
// busy ones, under the race detector, so they allow far more: enough to tell a
// kept promise from a forgotten timer, and no more than that.
const tardy = 5 * time.Second

func within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

func TestACallEndsAtItsDeadlineThoughTheHandlerDoesNot(t *testing.T) {
	g := newGate(t)
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		runsOut(t, func(d time.Duration) bool {
			began := time.Now()
			ctx, cancel := within(d)
			defer cancel()
			_, err := block.Call(ctx, c, text(""))
			if took := time.Since(began); took < d || took > d+tardy {
				t.Errorf("ended after %v of %v", took, d)
			}
			if unsent(err) {
				return true
			}
			s := wants(t, err, trunkcall.DeadlineExceeded, trunkcall.DeliveryUnknown)
			if !errors.Is(s.Err(), context.DeadlineExceeded) {
				t.Errorf("%v is not context.DeadlineExceeded", s)
			}
			return false
		})
		mustEcho(t, c, "the connection lives")
	}, g.handler())
}

func TestAStreamEndsAtItsDeadline(t *testing.T) {
	_, c := join(t)
	runsOut(t, func(d time.Duration) bool {
		ctx, cancel := within(d)
		defer cancel()
		s, err := chat.Open(ctx, c)
		if unsent(err) {
			return true
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Receive(); unsent(err) {
			return true
		}
		wants(t, err, trunkcall.DeadlineExceeded, trunkcall.DeliveryUnknown)
		_, again := s.Receive()
		if again == nil || again.Error() != err.Error() {
			t.Fatalf("first %v, then %v", err, again)
		}
		return false
	})
}

func TestADeadlineThatHasPassedSendsNothing(t *testing.T) {
	_, c := join(t)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := echo.Call(ctx, c, text(""))
	s := wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
	if !errors.Is(s.Err(), context.DeadlineExceeded) {
		t.Errorf("%v is not context.DeadlineExceeded", s)
	}
	_, err = chat.Open(ctx, c)
	wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
}

func TestADeadlineWhileDiallingIsNotSent(t *testing.T) {
	l := rawframe.Listen(t)
	_ = l.Close()
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ctx, cancel := within(50 * time.Millisecond)
	defer cancel()
	_, err := echo.Call(ctx, c, text(""), trunkcall.WaitForReady())
	wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
}

func TestDeadlinesTravelOnAndShrink(t *testing.T) {
	var behind *trunkcall.Client
	seen := make(chan time.Duration, 2)
	none := make(chan bool, 2)
	_, c := join(t,
		block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
			note(ctx, seen, none)
			return echo2.Call(ctx, behind, in)
		}),
		echo2.Handler(func(ctx context.Context, in *payload) (*payload, error) {
			note(ctx, seen, none)
			return in, nil
		}))
	behind = c
	ctx, cancel := within(long)
	defer cancel()
	if _, err := block.Call(ctx, c, text("")); err != nil {
		t.Fatal(err)
	}
	first, second := receive(t, seen, "deadline"), receive(t, seen, "deadline")
	if first > long || second > first || second < long-tardy {
		t.Fatalf("of %v the first handler had %v, the second %v", long, first, second)
	}
	if _, err := block.Call(context.Background(), c, text("")); err != nil {
		t.Fatal(err)
	}
	if !receive(t, none, "call") || !receive(t, none, "call") {
		t.Fatal("a deadline came from nowhere")
	}
	// Beyond what the format can say the caller alone watches.
	far, cancel := within(3 * time.Hour)
	defer cancel()
	if _, err := block.Call(far, c, text("")); err != nil {
		t.Fatal(err)
	}
	if !receive(t, none, "call") || !receive(t, none, "call") {
		t.Fatal("a deadline of three hours was cut")
	}
}

var echo2 = trunkcall.Unary[payload, payload]("/test.Service/Echo2")

func note(ctx context.Context, seen chan<- time.Duration, none chan<- bool) {
	if at, ok := ctx.Deadline(); ok {
		seen <- time.Until(at)
	} else {
		none <- true
	}
}

func TestAHandlersContextEndsAtTheDeadline(t *testing.T) {
	seen := make(chan error, 3)
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(long):
			return nil
		}
	}
	s, c := join(t, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		derived, cancel := context.WithCancel(context.WithValue(ctx, time.Second, 1))
		defer cancel()
		seen <- wait(derived)
		seen <- wait(ctx)
		return in, nil
	}))
	runsOut(t, func(d time.Duration) bool {
		ctx, cancel := within(d)
		defer cancel()
		_, err := block.Call(ctx, c, text(""))
		if unsent(err) {
			return true
		}
		wants(t, err, trunkcall.DeadlineExceeded, trunkcall.DeliveryUnknown)
		return !begins(t, ctx, seen, s.Running, calls(c))
	})
	for range 2 {
		if err := receive(t, seen, "end of the handler's context"); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	eventually(t, "handlers end", func() bool { return s.Running() == 0 })
}

// The callee's own clock: a caller that never cancels.
func TestTheServerEndsACallWhoseTimeHasRunOut(t *testing.T) {
	g := newGate(t)
	_, target := serve(t, nil, g.handler())
	p := raw(t, target)
	p.Send(rawframe.Define(1, "/test.Service/Block"))
	generation := uint16(0)
	runsOut(t, func(d time.Duration) bool {
		generation++
		h := rawframe.CallHeader(1, generation, 1, wire.FlagMsg|wire.FlagEnd)
		h.Word = uint32(d.Microseconds())
		p.Send(rawframe.Bytes(h))
		f, code, _ := p.AwaitResult(rawframe.ID(1, generation))
		if code != trunkcall.DeadlineExceeded || f.Flags&(wire.FlagCut|wire.FlagRefused) == 0 {
			t.Fatalf("%v, flags %#x", code, f.Flags)
		}
		return f.Flags&wire.FlagRefused != 0
	})
	ctx := g.await(t)
	ends(t, ctx)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatal(ctx.Err())
	}
}

func TestWorkThatExpiredBeforeItsMessageWasWholeIsNotStarted(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, nil, g.handler())
	p := raw(t, target)
	h := rawframe.CallHeader(1, 1, 1, 0)
	h.Word = 10_000
	p.Send(rawframe.Define(1, "/test.Service/Block"), rawframe.Bytes(h))
	f, code, _ := p.AwaitResult(rawframe.ID(1, 1))
	if code != trunkcall.DeadlineExceeded || f.Flags&wire.FlagRefused == 0 {
		t.Fatalf("%v, flags %#x: want a refusal, since nothing was started", code, f.Flags)
	}
	p.Send(rawframe.Data(rawframe.ID(1, 1), wire.FlagMsg|wire.FlagEnd, nil)) // too late, ignored
	p.Send(rawframe.Ping(0, 1))
	p.Await(wire.Ping)
	notStarted(t, s, g)
}

// The deadline and the answer race. Each call has one outcome, and what it
// answers is its own.
func TestTheDeadlineRacesTheAnswer(t *testing.T) {
	_, c := join(t, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		time.Sleep(time.Duration(binary.LittleEndian.Uint32(in.Data)%8) * 50 * time.Microsecond)
		return in, nil
	}))
	const callers, calls = 8, 1250
	var answered, expired, other [callers]int
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range calls {
				request := &payload{Data: binary.LittleEndian.AppendUint32(nil, uint32(caller*calls+i))}
				ctx, cancel := within(time.Duration(50+i%10*60) * time.Microsecond)
				out, err := block.Call(ctx, c, request)
				cancel()
				switch s := trunkcall.StatusOf(err); {
				case err == nil && string(out.Data) == string(request.Data):
					answered[caller]++
				case err == nil:
					t.Errorf("call %x was answered %x", request.Data, out.Data)
				case s.Code == trunkcall.DeadlineExceeded && s.Delivery != trunkcall.Executed:
					expired[caller]++
				default:
					other[caller]++
					t.Errorf("%v", s)
				}
			}
		})
	}
	all.Wait()
	t.Logf("answered %v, expired %v", answered, expired)
	mustEcho(t, c, "the connection lives")
}

func TestAStreamWithATimeoutOfTheClientsIsReceivedToItsEnd(t *testing.T) {
	_, c := join(t)
	s, err := chat.Open(context.Background(), c, trunkcall.CallTimeout(long))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receive(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// unanswered connects a client to a server that never answers, not even that a deadline passed.
func unanswered(t *testing.T, options ...trunkcall.ClientOption) *trunkcall.Client {
	t.Helper()
	l := rawframe.Listen(t)
	c := newClient(t, l.Target(), options...)
	t.Cleanup(c.Close)
	connected := make(chan error, 1)
	go func() { connected <- c.Connect(soon(t)) }()
	l.Next().Greet()
	if err := receive(t, connected, "connection"); err != nil {
		t.Fatal(err)
	}
	return c
}

// Nobody knows how long the deadline of a user's context was. The length of a client's own timeout is told.
func TestADeadlineThatPassesIsToldWithItsMethodAndLength(t *testing.T) {
	around := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error { return next(ctx, call) }
	plain, intercepted := unanswered(t), unanswered(t, trunkcall.WithInterceptors(around))
	unary := func(c *trunkcall.Client) func(context.Context, trunkcall.CallOption) error {
		return func(ctx context.Context, o trunkcall.CallOption) error {
			_, err := block.Call(ctx, c, text(""), o)
			return err
		}
	}
	for name, a := range map[string]struct {
		call func(context.Context, trunkcall.CallOption) error
		want string
	}{
		"unary":               {unary(plain), "the deadline passed: /test.Service/Block"},
		"with an interceptor": {unary(intercepted), "the deadline passed: /test.Service/Block"},
		"asynchronous": {func(ctx context.Context, o trunkcall.CallOption) error {
			_, err := block.Start(ctx, plain, text(""), o).Result()
			return err
		}, "the deadline passed: /test.Service/Block"},
		"a stream": {func(ctx context.Context, o trunkcall.CallOption) error {
			s, err := chat.Open(ctx, plain, o)
			if err == nil {
				_, err = s.Receive()
			}
			return err
		}, "the deadline passed: /test.Service/Chat"},
	} {
		t.Run(name, func(t *testing.T) {
			runsOut(t, func(d time.Duration) bool {
				told := func(err error, want string) bool {
					s := trunkcall.StatusOf(err)
					if s.Code != trunkcall.DeadlineExceeded || s.Delivery != trunkcall.DeliveryUnknown || !s.Local {
						return false // on a busy machine, before it was sent
					}
					if s.Message != want {
						t.Errorf("%q, want %q", s.Message, want)
					}
					return true
				}
				ctx, cancel := within(d)
				defer cancel()
				return !told(a.call(ctx, trunkcall.CallTimeout(long)), a.want) ||
					!told(a.call(context.Background(), trunkcall.CallTimeout(d)), a.want+" had "+d.String())
			})
		})
	}
}

// A call that an interceptor makes ends with the outer call's deadline, which is not a time that it had itself.
func TestACallWithinAnotherIsNotToldTheOthersTimeout(t *testing.T) {
	var c *trunkcall.Client
	c = unanswered(t, trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		if call.Method.Name != echo.Method().Name {
			return next(ctx, call)
		}
		_, err := block.Call(ctx, c, text(""))
		return err
	}))
	runsOut(t, func(d time.Duration) bool {
		_, err := echo.Call(context.Background(), c, text(""), trunkcall.CallTimeout(d))
		s := trunkcall.StatusOf(err)
		if s.Code != trunkcall.DeadlineExceeded || s.Delivery != trunkcall.NotSent {
			t.Fatal(err) // the outer call was never made
		}
		if strings.Contains(s.Message, " had ") {
			t.Errorf("%q tells the time of another call", s.Message)
		}
		return !strings.Contains(s.Message, "the deadline passed: /test.Service/Block") // else it ended before it was sent
	})
}
