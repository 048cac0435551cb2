package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// What is known of a call's handler when it fails, at both ends.

// rejecting is a server's interceptor that does with each call what the test wants.
type rejecting struct {
	how func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error
}

func (r *rejecting) option() trunkcall.Option {
	return trunkcall.WithInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		return r.how(ctx, call, next)
	})
}

// Whether the handler ran is known to the server alone, whatever an interceptor says.
func TestAServersInterceptorEndsACallAsFarAsItHadCome(t *testing.T) {
	deny := trunkcall.Errorf(trunkcall.PermissionDenied, "not you")
	type step = func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error
	every := []string{"unary", "server-streaming", "client-streaming", "bidi"}
	for name, tried := range map[string]struct {
		how      step
		code     trunkcall.Code
		delivery trunkcall.Delivery
		kinds    []string
	}{
		"before the handler": {
			func(context.Context, *trunkcall.Call, trunkcall.Next) error { return deny },
			trunkcall.PermissionDenied, trunkcall.Refused, every,
		},
		"before the handler, saying otherwise": {
			func(context.Context, *trunkcall.Call, trunkcall.Next) error {
				return trunkcall.Status{Code: trunkcall.PermissionDenied, Delivery: trunkcall.Executed}.Err()
			},
			trunkcall.PermissionDenied, trunkcall.Refused, every,
		},
		"before the handler, by a plain error": {
			func(context.Context, *trunkcall.Call, trunkcall.Next) error { return errors.New("a secret") },
			trunkcall.Unknown, trunkcall.Refused, every,
		},
		"before the handler, by a panic": {
			func(context.Context, *trunkcall.Call, trunkcall.Next) error { panic("a secret") },
			trunkcall.Internal, trunkcall.Refused, every,
		},
		"after the handler": {
			func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
				_ = next(ctx, call)
				return deny
			},
			trunkcall.PermissionDenied, trunkcall.Executed, every,
		},
		"after the handler, by a panic": {
			func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
				_ = next(ctx, call)
				panic("a secret")
			},
			trunkcall.Internal, trunkcall.Executed, every,
		},
		"after an answer message of its own": {
			func(_ context.Context, call *trunkcall.Call, _ trunkcall.Next) error {
				_ = call.Stream.Send(text("first"))
				return deny
			},
			trunkcall.PermissionDenied, trunkcall.DeliveryUnknown, []string{"server-streaming", "bidi"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var with error
			_, target := serve(t, serverOptions{(&rejecting{tried.how}).option(), trunkcall.WithLogger(slog.New(slog.DiscardHandler))},
				append(standard(), failing(&with)...)...)
			c := dial(t, target)
			for _, kind := range tried.kinds {
				wants(t, endOf(t, c, kind), tried.code, tried.delivery)
			}
		})
	}
}

// endOf makes a call of a kind of method and returns how it fails.
func endOf(t *testing.T, c trunkcall.Caller, kind string) error {
	t.Helper()
	opened := func(r interface{ Receive() (*payload, error) }, err error) error {
		for err == nil {
			_, err = r.Receive()
		}
		return err
	}
	switch kind {
	case "unary":
		_, err := echo.Call(soon(t), c, text("x"))
		return err
	case "server-streaming":
		s, err := produce.Call(soon(t), c, numbered(0, 0))
		return opened(s, err)
	case "client-streaming":
		s, err := collect.Open(soon(t), c)
		if err == nil {
			_, err = s.CloseAndReceive()
		}
		return err
	default:
		s, err := chat.Open(soon(t), c)
		if err == nil {
			err = s.CloseSend()
		}
		return opened(s, err)
	}
}

func TestARejectionMayGiveATimeToComeBack(t *testing.T) {
	asked := 0
	_, target := serve(t, serverOptions{(&rejecting{func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		if asked++; asked == 1 {
			return trunkcall.Status{Code: trunkcall.ResourceExhausted, RetryAfter: time.Microsecond}.Err()
		}
		return next(ctx, call)
	}}).option()}, standard()...)
	mustEcho(t, dial(t, target), "the client has come back")
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	asked = 0
	_, err := echo.Call(soon(t), dial(t, target, trunkcall.WithoutRepeating()), text("x"))
	if s := wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused); s.RetryAfter != time.Millisecond {
		t.Errorf("come back after %v", s.RetryAfter)
	}
}

func TestATimeToComeBackOutOfRangeIsTheNearestThatIsIn(t *testing.T) {
	for given, told := range map[time.Duration]time.Duration{-time.Hour: 0, math.MaxInt64: (1<<32 - 1) * time.Millisecond} {
		_, target := serve(t, serverOptions{(&rejecting{func(context.Context, *trunkcall.Call, trunkcall.Next) error {
			return trunkcall.Status{Code: trunkcall.Unavailable, RetryAfter: given}.Err()
		}}).option()}, standard()...)
		_, err := echo.Call(soon(t), dial(t, target), text("x"))
		if s := wants(t, err, trunkcall.Unavailable, trunkcall.Refused); s.RetryAfter != told {
			t.Errorf("told to come back after %v instead of %v", s.RetryAfter, told)
		}
	}
}

// A header that was sent ahead would say that the call has begun.
func TestARejectionWithAHeaderProvesAllTheSameThatTheHandlerDidNotRun(t *testing.T) {
	_, target := serve(t, serverOptions{(&rejecting{func(_ context.Context, call *trunkcall.Call, _ trunkcall.Next) error {
		call.Header.Add("left", "0")
		call.Trailer.Add("why", "quota")
		return trunkcall.Status{Code: trunkcall.ResourceExhausted, RetryAfter: time.Hour}.Err()
	}}).option()}, standard()...)
	c := dial(t, target)
	_, err := echo.Call(soon(t), c, text("x"))
	s := wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
	if s.RetryAfter != time.Hour {
		t.Errorf("come back after %v", s.RetryAfter)
	}
	if len(s.Header) != 0 || s.Trailer.Get("left") != "0" || s.Trailer.Get("why") != "quota" {
		t.Errorf("header %v, trailer %v", s.Header, s.Trailer)
	}
	for _, kind := range []string{"server-streaming", "client-streaming", "bidi"} {
		wants(t, endOf(t, c, kind), trunkcall.ResourceExhausted, trunkcall.Refused)
	}
}

// A handler that was let go on without being waited for may be running.
func TestAnInterceptorThatDoesNotWaitLeavesTheDeliveryUnknown(t *testing.T) {
	g := newGate(t)
	gone := make(chan error, 1)
	_, target := serve(t, serverOptions{(&rejecting{func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		on := *call
		go func() { gone <- next(ctx, &on) }()
		<-g.entered
		return trunkcall.Errorf(trunkcall.Aborted, "no patience")
	}}).option()}, g.handler())
	_, err := block.Call(soon(t), dial(t, target), text(""))
	wants(t, err, trunkcall.Aborted, trunkcall.DeliveryUnknown)
	g.open()
	receive(t, gone, "end of the handler")
}

// undecodable calls a method with a request that is no message of its.
func undecodable(t *testing.T, c trunkcall.Caller, name string, kind trunkcall.Kind) error {
	t.Helper()
	if kind == trunkcall.KindUnary {
		return c.Invoke(soon(t), unary(name), []any{1}, new(any), trunkcall.CallCodec(codefirst.JSON))
	}
	s, err := trunkcall.OpenStream(soon(t), c, trunkcall.NewMethod(name, kind), trunkcall.CallCodec(codefirst.JSON))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Send([]any{1})
	_ = s.CloseSend()
	return s.Receive(new(any))
}

func TestARequestThatDoesNotDecodeIsRefusedUnlessTheHandlerReceivesIt(t *testing.T) {
	replacing := rejecting{func(_ context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		if next(context.Background(), call) != nil { // not even its own context is left to the handler
			return trunkcall.Errorf(trunkcall.FailedPrecondition, "no")
		}
		return nil
	}}
	for name, tried := range map[string]struct {
		options serverOptions
		code    trunkcall.Code
	}{
		"without": {nil, trunkcall.InvalidArgument}, "with": {serverOptions{replacing.option()}, trunkcall.FailedPrecondition},
	} {
		t.Run(name+" interceptors", func(t *testing.T) {
			_, target := serve(t, tried.options, standard()...)
			c := dial(t, target)
			wants(t, undecodable(t, c, "/test.Service/Echo", trunkcall.KindUnary), trunkcall.InvalidArgument, trunkcall.Refused)
			wants(t, undecodable(t, c, "/test.Service/Produce", trunkcall.KindServerStream), tried.code, trunkcall.Refused)
			wants(t, undecodable(t, c, "/test.Service/Chat", trunkcall.KindBidiStream), tried.code, trunkcall.Executed)
		})
	}
}

func TestAnInterceptorThatRejectsAOneWayCallRefusesIt(t *testing.T) {
	n := newNotified()
	r := rejecting{func(context.Context, *trunkcall.Call, trunkcall.Next) error {
		return trunkcall.Errorf(trunkcall.Unauthenticated, "who")
	}}
	s, target := serve(t, serverOptions{r.option()}, notify.Handler(n.serve))
	c := dial(t, target)
	wants(t, notify.Send(soon(t), c, text("")), trunkcall.Unauthenticated, trunkcall.Refused)
	if got := s.Gauges().OneWayFailures; got != 0 {
		t.Errorf("%d failures that nobody was told of", got)
	}
	// One that goes on has accepted it, whatever it says afterwards.
	r.how = func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		_ = next(ctx, call)
		return trunkcall.Errorf(trunkcall.Unauthenticated, "who")
	}
	if err := notify.Send(soon(t), c, text("")); err != nil {
		t.Fatal(err)
	}
	receive(t, n.entered, "handler")
	n.leave <- nil
	eventually(t, "the failure is counted", func() bool { return s.Gauges().OneWayFailures == 1 })
}

func TestAOneWayCallThatDoesNotDecodeIsRefused(t *testing.T) {
	n := newNotified()
	s, target := serve(t, nil, notify.Handler(n.serve))
	err := dial(t, target).Invoke(soon(t), notify.Method(), []any{1}, nil, trunkcall.CallCodec(codefirst.JSON))
	wants(t, err, trunkcall.InvalidArgument, trunkcall.Refused)
	eventually(t, "the call is over", func() bool { return s.Running() == 0 })
}

// What a client's interceptor answers itself was not sent, whatever it says; what it makes of an answer has the
// delivery of its attempt, which of a stream that was opened nobody knows yet.
func TestWhatAClientsInterceptorSaysItself(t *testing.T) {
	secret := errors.New("in plain words")
	var how func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error
	_, target := serve(t, nil, standard()...)
	c := dial(t, target, (&rejecting{func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		return how(ctx, call, next)
	}}).option())
	before := func(err error) func(context.Context, *trunkcall.Call, trunkcall.Next) error {
		return func(context.Context, *trunkcall.Call, trunkcall.Next) error { return err }
	}
	after := func(err error) func(context.Context, *trunkcall.Call, trunkcall.Next) error {
		return func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			_ = next(ctx, call)
			return err
		}
	}
	aborted := trunkcall.Status{Code: trunkcall.Aborted, Message: "m", Delivery: trunkcall.Executed}.Err()
	for name, tried := range map[string]struct {
		how      func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error
		code     trunkcall.Code
		delivery trunkcall.Delivery
		opened   trunkcall.Delivery // of a stream
		local    bool
		says     string
	}{
		"a status before": {before(aborted), trunkcall.Aborted, trunkcall.NotSent, trunkcall.NotSent, true, "m"},
		"a plain error before": {
			before(secret), trunkcall.Unknown, trunkcall.NotSent, trunkcall.NotSent, true, "in plain words",
		},
		"a status after": {after(aborted), trunkcall.Aborted, trunkcall.Executed, trunkcall.DeliveryUnknown, false, "m"},
		"a new status after": {
			after(trunkcall.Errorf(trunkcall.Aborted, "m")), trunkcall.Aborted, trunkcall.Executed, trunkcall.DeliveryUnknown, false, "m",
		},
		"a plain error after": {
			after(secret), trunkcall.Unknown, trunkcall.DeliveryUnknown, trunkcall.DeliveryUnknown, true, "in plain words",
		},
		"a deadline of its own, before": {
			before(context.DeadlineExceeded), trunkcall.DeadlineExceeded, trunkcall.NotSent, trunkcall.NotSent, true, "deadline",
		},
	} {
		t.Run(name, func(t *testing.T) {
			how = tried.how
			_, unary := echo.Call(soon(t), c, text("x"))
			_, asynchronous := echo.Start(soon(t), c, text("x")).Result()
			ctx, cancel := context.WithCancel(soon(t))
			defer cancel()
			_, stream := chat.Open(ctx, c)
			for i, err := range []error{unary, asynchronous, stream} {
				delivery := tried.delivery
				if i == 2 {
					delivery = tried.opened
				}
				s := wants(t, err, tried.code, delivery)
				if s.Local != tried.local {
					t.Errorf("local is %t: %v", s.Local, s)
				}
				wantsText(t, s.Message, tried.says)
			}
		})
	}
}

func TestAFailureToReachAServerIsNotSentAndLocal(t *testing.T) {
	l := rawframe.Listen(t)
	_ = l.Close()
	_, dialling := trunkcall.Dial(soon(t), l.Target())
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	_, calling := echo.Call(soon(t), c, text("x"))
	for _, err := range []error{dialling, fmt.Errorf("starting: %w", calling)} {
		if s := wants(t, err, trunkcall.Unavailable, trunkcall.NotSent); !s.Local || !strings.Contains(err.Error(), "(not sent)") {
			t.Errorf("local is %t: %v", s.Local, err)
		}
	}
	_, err := trunkcall.Dial(soon(t), l.Target(), trunkcall.WithConnections(0))
	wants(t, err, trunkcall.FailedPrecondition, trunkcall.NotSent)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := trunkcall.Dial(ctx, l.Target()); trunkcall.StatusOf(err).Code != trunkcall.Canceled || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// An interceptor that tries again may have run the call the first time, whatever the second came to.
func TestSeveralAttemptsOfAnInterceptorPromiseWhatTheWorstOfThemDoes(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	over, end := context.WithCancel(t.Context())
	end()
	for name, tried := range map[string]struct {
		how  func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error
		want trunkcall.Delivery
	}{
		"the second was not sent": {func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			_ = next(ctx, call)
			return next(over, call)
		}, trunkcall.Executed},
		"the first was not sent": {func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			_ = next(over, call)
			_ = next(ctx, call)
			return trunkcall.Status{Code: trunkcall.Aborted, Delivery: trunkcall.NotSent}.Err()
		}, trunkcall.Executed},
		"neither was sent": {func(_ context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			_ = next(over, call)
			return next(over, call)
		}, trunkcall.NotSent},
		"one is under way": {func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			begun, on := make(chan struct{}), *call
			waits, stop := context.WithCancel(ctx)
			t.Cleanup(stop)
			go func() {
				_ = next(holding{waits, sync.OnceFunc(func() { close(begun) })}, &on)
			}()
			<-begun
			return next(over, call)
		}, trunkcall.DeliveryUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, target, (&rejecting{tried.how}).option())
			_, err := echo.Call(soon(t), c, text("x"))
			if s := trunkcall.StatusOf(err); err == nil || s.Delivery != tried.want {
				t.Errorf("%v, delivery %v, want %v", err, s.Delivery, tried.want)
			}
		})
	}
}

// holding is a context that says when it is first asked for a value, and then holds the asking up until it ends.
type holding struct {
	context.Context //nolint:containedctx // it is one
	begun           func()
}

func (b holding) Value(key any) any {
	b.begun()
	<-b.Done()
	return b.Context.Value(key)
}
