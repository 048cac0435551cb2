package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// Answers that handlers and interceptors do not give, or cannot: the caller is told whose fault it is, and the
// owner of the server has it in the log.

func TestAHandlerWithoutAResponseIsNamedAndLogged(t *testing.T) {
	var log logged
	_, target := serve(t, serverOptions{log.option()},
		block.Handler(func(context.Context, *payload) (*payload, error) { return nil, nil }),
		collect.Handler(func(context.Context, *trunkcall.Receiver[payload]) (*payload, error) { return nil, nil }))
	c := dial(t, target)
	_, err := block.Call(soon(t), c, text(""))
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "the handler of /test.Service/Block returned neither")
	requests, err := collect.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	_, err = requests.CloseAndReceive()
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.Executed).Message, "the handler of /test.Service/Collect returned neither")
	eventually(t, "both are logged", func() bool {
		return log.has("response cannot be carried", "method=/test.Service/Block", "neither a response nor an error") &&
			log.has("response cannot be carried", "method=/test.Service/Collect")
	})
}

func TestAnInterceptorThatForgetsToGoOnIsToldOf(t *testing.T) {
	for says, interceptor := range map[string]trunkcall.Interceptor{
		"an interceptor of the server neither went on nor answered": func(context.Context, *trunkcall.Call, trunkcall.Next) error { return nil },
		"an interceptor of the server left no response": func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			err := next(ctx, call)
			call.Response = nil
			return err
		},
	} {
		var log logged
		_, target := serve(t, serverOptions{log.option(), trunkcall.WithInterceptors(interceptor)}, echo.Handler(serveEcho))
		_, err := echo.Call(soon(t), dial(t, target), text(""))
		if s := trunkcall.StatusOf(err); s.Code != trunkcall.Internal || s.Message != says {
			t.Errorf("%v, want %q", err, says)
		}
		eventually(t, "it is logged", func() bool { return log.has("method=/test.Service/Echo", says) })
	}
}

func TestAResponseThatIsTooLargeIsLogged(t *testing.T) {
	var log logged
	_, target := serve(t, serverOptions{log.option()},
		echo.Handler(func(context.Context, *payload) (*payload, error) { return &payload{Data: make([]byte, 200_000)}, nil }),
		produce.Handler(func(_ context.Context, _ *payload, out *trunkcall.Sender[payload]) error {
			return out.Send(&payload{Data: make([]byte, 200_000)})
		}))
	c := dial(t, target, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 100_000}))
	_, err := echo.Call(soon(t), c, text(""))
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.Executed)
	answers, err := produce.Call(soon(t), c, text(""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = answers.Receive()
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.Executed)
	eventually(t, "both are logged", func() bool {
		return log.has("method=/test.Service/Echo", "exceeds the caller's max_message 100000") && log.has("method=/test.Service/Produce", "max_message")
	})
}

func TestSendingNilIsAnErrorAtBothEnds(t *testing.T) {
	var log logged
	_, target := serve(t, serverOptions{log.option()},
		produce.Handler(func(_ context.Context, _ *payload, out *trunkcall.Sender[payload]) error { return out.Send(nil) }), chat.Handler(serveChat))
	c := dial(t, target)
	answers, err := produce.Call(soon(t), c, text(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = answers.Receive(); errors.Is(err, io.EOF) || err == nil {
		t.Fatalf("the answer to nil: %v", err)
	}
	wants(t, err, trunkcall.Unknown, trunkcall.Executed)
	eventually(t, "it is logged", func() bool { return log.has("handler failed", "method=/test.Service/Produce", "Send was given nil") })

	both, err := chat.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := both.Send(nil); err == nil || !strings.Contains(err.Error(), "Send was given nil") {
		t.Errorf("the caller sends nil: %v", err)
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if m, err := both.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, %v", m, err)
	}
}

func TestServingNothingIsAnError(t *testing.T) {
	if err := newServer(t).Serve(); err == nil || !strings.Contains(err.Error(), "call Listen first") {
		t.Error(err)
	}
}
