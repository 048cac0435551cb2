package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// One-way calls (protocol.md 7.5).

var notify = trunkcall.OneWay[payload]("/test.Service/Notify")

// notified is a one-way handler that stays until the test lets it go.
type notified struct {
	entered chan context.Context
	leave   chan error
}

func newNotified() *notified {
	return &notified{entered: make(chan context.Context, 100), leave: make(chan error, 100)}
}

func (n *notified) serve(ctx context.Context, _ *payload) error {
	n.entered <- ctx
	return <-n.leave
}

func TestSendReturnsOnceTheCallIsAccepted(t *testing.T) {
	n := newNotified()
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		for _, size := range []int{0, 10, 100_000, 1 << 20} {
			if err := notify.Send(soon(t), c, &payload{Data: make([]byte, size)}); err != nil {
				t.Fatal(err)
			}
			receive(t, n.entered, "handler") // still at it, and Send has returned
		}
		if err := c.Invoke(soon(t), trunkcall.NewMethod("test.Service/Notify", trunkcall.KindOneWay), text("by name"), nil); err != nil {
			t.Fatal(err)
		}
		receive(t, n.entered, "handler")
		for range 5 {
			n.leave <- nil
		}
		eventually(t, "all handlers are done", func() bool { return s.Running() == 0 })
	}, notify.Handler(n.serve))
}

func TestAServerSendsOneWayToItsClient(t *testing.T) {
	s, c := join(t)
	n := newNotified()
	register(t, c, notify.Handler(n.serve))
	if err := notify.Send(soon(t), connected(t, s, c), text("news")); err != nil {
		t.Fatal(err)
	}
	ctx := receive(t, n.entered, "handler")
	c.Close()
	ends(t, ctx)
	n.leave <- nil
}

func TestAOneWayCallThatIsNotAcceptedSaysSo(t *testing.T) {
	n := newNotified()
	_, target := serve(t, serverOptions{trunkcall.WithRunningHandlers(1)}, notify.Handler(n.serve))
	c := dial(t, target)
	wants(t, c.Invoke(soon(t), trunkcall.NewMethod("/test.Service/None", trunkcall.KindOneWay), text(""), nil), trunkcall.Unimplemented, trunkcall.Refused)
	if err := notify.Send(soon(t), c, text("")); err != nil {
		t.Fatal(err)
	}
	receive(t, n.entered, "handler")
	wants(t, notify.Send(soon(t), c, text("")), trunkcall.ResourceExhausted, trunkcall.Refused)
	n.leave <- nil
}

func TestTheFailureOfAOneWayHandlerIsLoggedOnly(t *testing.T) {
	var log logged
	s, target := serve(t, serverOptions{log.option()},
		notify.Handler(func(_ context.Context, in *payload) error {
			if string(in.Data) == "panic" {
				panic("badly")
			}
			return trunkcall.Errorf(trunkcall.DataLoss, "the disk is gone")
		}))
	c := dial(t, target)
	for _, how := range []string{"error", "panic"} {
		if err := notify.Send(soon(t), c, text(how)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "both failures are logged", func() bool {
		return log.has("the disk is gone") && log.has("the handler panicked") && log.has("one-way call failed")
	})
	eventually(t, "both failures are counted", func() bool { return s.Gauges().OneWayFailures == 2 })
}

func TestADeadlineEndsTheContextOfAOneWayHandler(t *testing.T) {
	n := newNotified()
	s, c := join(t, notify.Handler(n.serve))
	runsOut(t, func(d time.Duration) bool {
		ctx, cancel := within(d)
		defer cancel()
		if err := notify.Send(ctx, c, text("")); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		return !begins(t, ctx, n.entered, s.Running, calls(c))
	})
	handler := receive(t, n.entered, "handler")
	ends(t, handler)
	if !errors.Is(handler.Err(), context.DeadlineExceeded) {
		t.Fatal(handler.Err())
	}
	n.leave <- nil
}

func TestNeitherTheCallerNorTheConnectionEndsAOneWayHandler(t *testing.T) {
	n := newNotified()
	s, c := join(t, notify.Handler(n.serve))
	ctx, cancel := context.WithCancel(soon(t))
	if err := notify.Send(ctx, c, text("")); err != nil {
		t.Fatal(err)
	}
	handler := receive(t, n.entered, "handler")
	cancel()
	c.Close()
	eventually(t, "the connection is gone", func() bool { return s.Gauges().Connections == 0 })
	if handler.Err() != nil {
		t.Fatal(handler.Err())
	}
	n.leave <- nil
	eventually(t, "the handler is done", func() bool { return s.Running() == 0 })
}

func TestStopWaitsForOneWayHandlers(t *testing.T) {
	n := newNotified()
	s, c := join(t, notify.Handler(n.serve))
	if err := notify.Send(soon(t), c, text("")); err != nil {
		t.Fatal(err)
	}
	handler := receive(t, n.entered, "handler")
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(soon(t)) }()
	eventually(t, "the connection is gone", func() bool { return s.Gauges().Connections == 0 })
	select {
	case err := <-stopped:
		t.Fatal("Stop did not wait:", err)
	default:
	}
	if handler.Err() != nil {
		t.Fatal(handler.Err())
	}
	n.leave <- nil
	if err := receive(t, stopped, "end of Stop"); err != nil {
		t.Fatal(err)
	}
}

func TestStopOutOfPatienceCancelsOneWayHandlers(t *testing.T) {
	n := newNotified()
	s, c := join(t, notify.Handler(n.serve))
	if err := notify.Send(soon(t), c, text("")); err != nil {
		t.Fatal(err)
	}
	handler := receive(t, n.entered, "handler")
	ctx, cancel := context.WithTimeout(soon(t), 10*time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); err == nil || !strings.Contains(err.Error(), "running: 1") {
		t.Fatal(err)
	}
	ends(t, handler)
	n.leave <- nil
}

// The kind of a method is not on the wire: what the CALL says holds.
func TestOneWayOnTheWireIsTheCallersChoice(t *testing.T) {
	ran := make(chan string, 10)
	_, target := serve(t, nil,
		echo.Handler(func(_ context.Context, in *payload) (*payload, error) { ran <- "unary"; return in, nil }),
		chat.Handler(func(_ context.Context, s *trunkcall.BidiStream[payload, payload]) error {
			in, err := s.Receive()
			if err == nil {
				err = s.Send(in)
			}
			if _, end := s.Receive(); err == nil && errors.Is(end, io.EOF) {
				ran <- "bidi"
			}
			return err
		}),
		notify.Handler(func(context.Context, *payload) error { ran <- "one-way"; return nil }))
	p := raw(t, target)
	for slot, method := range []string{"Echo", "Chat"} {
		id := rawframe.ID(uint32(slot)+1, 1)
		p.Send(rawframe.Define(uint16(slot)+1, "/test.Service/"+method))
		call := rawframe.Call(uint32(slot)+1, 1, uint16(slot)+1, nil)
		call[10] |= byte(wire.FlagOneWay)
		p.Send(call)
		if f, code, _ := p.AwaitResult(id); code != trunkcall.OK || f.Flags != 0 || f.Length != 0 {
			t.Fatalf("%s: %v, flags %#x, %d bytes", method, code, f.Flags, f.Length)
		}
	}
	if a, b := receive(t, ran, "handler"), receive(t, ran, "handler"); a == b {
		t.Fatal(a, b)
	}
	p.Send(rawframe.Define(3, "/test.Service/Notify"), rawframe.Call(3, 1, 3, nil))
	if f, code, _ := p.AwaitResult(rawframe.ID(3, 1)); code != trunkcall.OK || f.Flags != 0 {
		t.Fatalf("an ordinary call to a one-way method: %v, flags %#x", code, f.Flags)
	}
	if got := receive(t, ran, "handler"); got != "one-way" {
		t.Fatal(got)
	}
}

func TestInterceptorsWrapOneWayCalls(t *testing.T) {
	seen := make(chan trunkcall.Kind, 2)
	note := trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		seen <- call.Method.Kind
		if call.Request == nil || call.Stream != nil {
			return errors.New("a one-way call has a request and no stream")
		}
		return next(ctx, call)
	})
	n := newNotified()
	_, target := serve(t, serverOptions{note}, notify.Handler(n.serve))
	n.leave <- nil
	if err := notify.Send(soon(t), dial(t, target, note), text("x")); err != nil {
		t.Fatal(err)
	}
	receive(t, n.entered, "handler")
	for range 2 {
		if kind := receive(t, seen, "interceptor"); kind != trunkcall.KindOneWay {
			t.Fatal(kind)
		}
	}
}
