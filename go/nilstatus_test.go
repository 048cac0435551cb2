package trunkcall_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// A *Status that is nil is no failure, though it is an error that is not nil:
// what StatusOf gives for a success is easily returned.

func statusOfWhatFollows(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
	return trunkcall.StatusOf(next(ctx, call))
}

func checkEveryKind(t *testing.T, c *trunkcall.Client) {
	t.Helper()
	mustEcho(t, c, "x")
	checkServerStream(t, c)
	checkClientStream(t, c)
	checkBidi(t, c)
}

func TestAnInterceptorMayReturnTheStatusOfASuccess(t *testing.T) {
	outer := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		err := next(ctx, call)
		if err != nil {
			t.Errorf("an interceptor further out is told of the failure %T", err)
		}
		return err
	}
	option := trunkcall.WithInterceptors(outer, statusOfWhatFollows)
	t.Run("server", func(t *testing.T) {
		_, target := serve(t, serverOptions{option}, standard()...)
		checkEveryKind(t, dial(t, target))
	})
	t.Run("client", func(t *testing.T) {
		_, target := serve(t, nil, standard()...)
		c := dial(t, target, option)
		checkEveryKind(t, c)
		if _, err := echo.Start(soon(t), c, text("x")).Result(); err != nil {
			t.Error(err)
		}
	})
}

func TestAHandlerMayReturnANilStatus(t *testing.T) {
	var none *trunkcall.Status
	answers := trunkcall.Unary[payload, payload]("/test.Service/Answers")
	hears := trunkcall.OneWay[payload]("/test.Service/Hears")
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		out, err := answers.Call(soon(t), c, text(""))
		if err != nil || string(out.Data) != "fine" {
			t.Errorf("answered with %v, %v", out, err)
		}
		if err := hears.Send(soon(t), c, text("")); err != nil {
			t.Error(err)
		}
		if err := s.Stop(soon(t)); err != nil {
			t.Error(err)
		}
		if n := s.Gauges().OneWayFailures; n != 0 {
			t.Errorf("%d one-way calls failed", n)
		}
	},
		answers.Handler(func(context.Context, *payload) (*payload, error) { return text("fine"), none }),
		hears.Handler(func(context.Context, *payload) error { return none }))

	s, c := join(t, failing(func() *error { var with error = none; return &with }())...)
	stream, err := c.NewStream(soon(t), "/test.Service/FailStream", trunkcall.KindBidiStream)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err = stream.Receive(&payload{}); err != nil {
			break
		}
	}
	if trunkcall.StatusOf(err).Message != "the stream ended early" { // io.EOF
		t.Errorf("the stream ended with %v", err)
	}
	_, err = block.Call(soon(t), c, text(""))
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "neither a response nor an error")

	if err := s.RegisterFunc("test/two", func() (int, error) { return 2, none }); err != nil {
		t.Fatal(err)
	}
	if two, err := trunkcall.Func[func() (int, error)](c, "test/two")(); two != 2 || err != nil {
		t.Errorf("returned %d, %v", two, err)
	}
}

func TestStatusOfAnErrorIsNeverNil(t *testing.T) {
	var none *trunkcall.Status
	if s := trunkcall.StatusOf(none); s != nil {
		t.Errorf("the status of a nil status is %v", s)
	}
	if s := trunkcall.StatusOf(fmt.Errorf("while closing: %w", error(none))); s == nil || s.Code != trunkcall.Unknown {
		t.Errorf("the status of an error that wraps a nil status is %v", s)
	}
}

func TestAResultThatIsAStatusIsNotServed(t *testing.T) {
	s := trunkcall.NewServer()
	err := s.RegisterFunc("test/check", func(int) *trunkcall.Status { return nil })
	if err == nil {
		t.Fatal("a failure would be served as a result")
	}
	wantsText(t, err.Error(), "result 1 of /test/check", "error")
}
