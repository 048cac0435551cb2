package trunkcall_test

import (
	"context"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// ends notes how calls have ended.
type callEnds chan trunkcall.Status

func (e callEnds) option() trunkcall.Option {
	return trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		var once sync.Once
		call.OnEnd(func(s trunkcall.Status) {
			again := true
			once.Do(func() { again = false })
			if again {
				panic("told twice")
			}
			e <- s
		})
		return next(ctx, call)
	})
}

func TestInterceptorsAreToldOnceHowACallHasEnded(t *testing.T) {
	atServer, atClient := make(callEnds, 1), make(callEnds, 1)
	g := newGate(t)
	_, target := serve(t, serverOptions{atServer.option()},
		echo.Handler(func(_ context.Context, in *payload) (*payload, error) {
			switch string(in.Data) {
			case "fail":
				return nil, trunkcall.Errorf(trunkcall.NotFound, "no")
			case "panic":
				panic("a secret")
			}
			return in, nil
		}),
		whereDown.Handler(func(ctx context.Context, in *payload, s *trunkcall.Sender[payload]) error {
			switch string(in.Data) {
			case "fail":
				return trunkcall.Errorf(trunkcall.NotFound, "no")
			case "wait":
				if err := s.Send(in); err != nil {
					return err
				}
				g.entered <- ctx
				<-ctx.Done()
				return ctx.Err()
			}
			return s.Send(in)
		}))
	c := dial(t, target, atClient.option())
	unary := func(ctx context.Context, say string) { _, _ = echo.Call(ctx, c, text(say)) }
	stream := func(ctx context.Context, say string) {
		s, err := whereDown.Call(ctx, c, text(say))
		if err != nil {
			t.Error(err)
			return
		}
		for range s.All() {
			if say == "wait" {
				receive(t, g.entered, "handler")
				return // which closes it
			}
		}
	}
	dropped := func(ctx context.Context, say string) {
		ctx, cancel := context.WithCancel(ctx)
		if _, err := whereDown.Call(ctx, c, text(say)); err != nil {
			t.Error(err)
		}
		receive(t, g.entered, "handler")
		cancel()
	}
	for name, test := range map[string]struct {
		call           func(ctx context.Context, say string)
		say            string
		client, server trunkcall.Code
	}{
		"unary":                   {unary, "x", trunkcall.OK, trunkcall.OK},
		"unary that fails":        {unary, "fail", trunkcall.NotFound, trunkcall.NotFound},
		"unary that panics":       {unary, "panic", trunkcall.Internal, trunkcall.Internal},
		"stream":                  {stream, "x", trunkcall.OK, trunkcall.OK},
		"stream that fails":       {stream, "fail", trunkcall.NotFound, trunkcall.NotFound},
		"stream that is closed":   {stream, "wait", trunkcall.Canceled, trunkcall.Canceled},
		"stream that is not used": {dropped, "wait", trunkcall.Canceled, trunkcall.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			test.call(soon(t), test.say)
			if s := receive(t, atClient, "the end at the client"); s.Code != test.client {
				t.Errorf("at the client it ended %v", s)
			}
			if s := receive(t, atServer, "the end at the server"); s.Code != test.server {
				t.Errorf("at the server it ended %v", s)
			}
		})
	}
}
