package trunkcall_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// An interceptor that goes on late, or again, has what is left of the call's time.
func TestTheTimeOfACallIsNotBegunAnewByInterceptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := make(chan time.Duration, 1)
		note := func(ctx context.Context) {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
		}
		where := "mem:" + t.Name()
		s := newServer(t)
		defer s.Close()
		for _, h := range []trunkcall.Handler{
			echo.Handler(func(ctx context.Context, in *payload) (*payload, error) {
				note(ctx)
				return in, nil
			}),
			chat.Handler(func(ctx context.Context, _ *trunkcall.BidiStream[payload, payload]) error {
				note(ctx)
				return nil
			}),
		} {
			if err := s.Register(h); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Listen(where); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, where, trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			time.Sleep(time.Second)
			return next(ctx, call)
		}))
		defer c.Close()
		minute := trunkcall.CallTimeout(time.Minute)
		if _, err := echo.Call(t.Context(), c, text("x"), minute); err != nil {
			t.Fatal(err)
		}
		if got := <-left; got > 59*time.Second {
			t.Errorf("a unary call has %v left of a minute", got)
		}
		stream, err := chat.Open(t.Context(), c, minute)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-left; got > 59*time.Second {
			t.Errorf("a stream has %v left of a minute", got)
		}
		stream.Close()
	})
}
