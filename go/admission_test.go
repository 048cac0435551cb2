package trunkcall_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

// guard admits calls with the metadata k=ada, and keeps what it was asked.
type guard struct {
	asked    chan trunkcall.Arrival
	released atomic.Int64
	err      error // for all others
}

func newGuard() *guard {
	return &guard{asked: make(chan trunkcall.Arrival, 1<<10), err: trunkcall.Errorf(trunkcall.Unauthenticated, "who are you?")}
}

func (g *guard) admit(_ context.Context, call *trunkcall.Arrival) (trunkcall.Admission, error) {
	g.asked <- *call
	if call.Metadata.Get("k") != "ada" {
		return trunkcall.Admission{}, g.err
	}
	return trunkcall.Admission{Principal: "Ada", Release: func() { g.released.Add(1) }}, nil
}

func as(ctx context.Context, who string) context.Context {
	return metadata.AppendToOutgoingContext(trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: "k", Value: who}}), "k", who)
}

func TestAdmissionIsToldOfTheCallWhicheverProtocolItCameBy(t *testing.T) {
	g := newGuard()
	_, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit)}, standard()...)
	check := func(protocol, method, authority string, deadline bool) {
		t.Helper()
		got := receive(t, g.asked, "admission")
		if got.Protocol != protocol || got.Method.Name != method || got.Authority != authority || got.Deadline.IsZero() == deadline ||
			got.Peer.Remote == nil || got.Metadata.Get("k") != "ada" {
			t.Errorf("%s: %+v", protocol, got)
		}
	}
	for _, prefix := range []string{"", "ws://"} {
		c := dial(t, prefix+target)
		if _, err := echo.Call(as(soon(t), "ada"), c, text("x")); err != nil {
			t.Error(err)
		}
		check("trunk", "/test.Service/Echo", "", true)
	}
	if _, err := stockEcho(as(t.Context(), "ada"), stock(t, target), "/test.Service/Echo", text("x")); err != nil {
		t.Error(err)
	}
	check("grpc", "/test.Service/Echo", target, false)
	for name, c := range overHTTP(t) {
		for kind, protocol := range map[string]string{"application/json": "connect", "application/grpc-web+json": "grpc-web"} {
			body := `{"data":"eA=="}`
			if protocol == "grpc-web" {
				body = enveloped(body)
			}
			if a := posts(t, c, "http://"+target+"/test.Service/Echo", kind, body, "K", "ada"); a.status != http.StatusOK {
				t.Error(name, kind, a)
			}
			check(protocol, "/test.Service/Echo", target, false)
		}
	}
	eventually(t, "all six calls are released", func() bool { return g.released.Load() == int64(3+2*len(overHTTP(t))) })
}

func TestARejectionSaysWhenToComeBackAndItsDetails(t *testing.T) {
	g := newGuard()
	rejection := trunkcall.Status{Code: trunkcall.ResourceExhausted, Message: "ten a second", RetryAfter: 2500 * time.Millisecond}
	g.err = rejection.WithDetails(&examplev1.GetUserRequest{UserId: 7}).Err()
	_, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit)}, standard()...)
	_, err := echo.Call(soon(t), dial(t, target), text("x"))
	s := wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
	if s.RetryAfter != rejection.RetryAfter || len(s.Details) != 1 || s.Local {
		t.Errorf("%+v", s)
	}
	var trailer metadata.MD
	_, err = stockEcho(soon(t), stock(t, target), "/test.Service/Echo", text("x"), grpc.Trailer(&trailer))
	if got := status.Convert(err); got.Code() != codes.ResourceExhausted || len(got.Details()) != 1 {
		t.Error(err, got.Details())
	}
	if trailer.Get("grpc-retry-pushback-ms")[0] != "2500" || trailer.Get("trunk-delivery")[0] != "refused" {
		t.Error(trailer)
	}
	for name, c := range overHTTP(t) {
		a := posts(t, c, "http://"+target+"/test.Service/Echo", "application/json", `{"data":"eA=="}`)
		a.wantsError(t, http.StatusTooManyRequests, "resource_exhausted", "ten a second")
		if a.header.Get("Retry-After") != "3" || a.header.Get("Trunk-Delivery") != "refused" || !strings.Contains(a.body, "trunkcall.example.v1.GetUserRequest") {
			t.Error(name, a)
		}
	}
}

func TestARejectionWithTheCodeOfAnUnknownCodecIsNoneOfTheContentType(t *testing.T) {
	g := newGuard()
	g.err = trunkcall.Errorf(trunkcall.Unimplemented, "not for you")
	_, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit)}, standard()...)
	for _, c := range overHTTP(t) {
		posts(t, c, "http://"+target+"/test.Service/Echo", "application/json", `{}`).wantsError(t, http.StatusNotImplemented, "unimplemented", "not for you")
	}
}

func TestAdmissionComesBeforeTheRequestIsDecoded(t *testing.T) {
	g := newGuard()
	_, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit)}, standard()...)
	for _, c := range overHTTP(t) {
		a := posts(t, c, "http://"+target+"/test.Service/Echo", "application/json", "no JSON", "Content-Encoding", "gzip")
		a.wantsError(t, http.StatusUnauthorized, "unauthenticated", "who are you?")
	}
}

func TestAOneWayCallIsAcceptedOnlyOnceItIsAdmitted(t *testing.T) {
	g, n := newGuard(), newNotified()
	s, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit)}, notify.Handler(n.serve))
	c := dial(t, target)
	wants(t, notify.Send(as(soon(t), "eve"), c, text("x")), trunkcall.Unauthenticated, trunkcall.Refused)
	if s.Running() != 0 || len(n.entered) != 0 {
		t.Error("the handler runs")
	}
	if err := notify.Send(as(soon(t), "ada"), c, text("x")); err != nil {
		t.Fatal(err)
	}
	ctx := receive(t, n.entered, "handler")
	if trunkcall.PrincipalFromContext(ctx) != "Ada" || g.released.Load() != 0 {
		t.Error(trunkcall.PrincipalFromContext(ctx), g.released.Load())
	}
	n.leave <- nil
	eventually(t, "the call is released", func() bool { return g.released.Load() == 1 })
}

func TestStreamsAreAdmittedLikeAnyCall(t *testing.T) {
	g := newGuard()
	_, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit)}, standard()...)
	everyone := map[string]func(ctx context.Context) (send func() error, end func() error){
		"native": func(ctx context.Context) (func() error, func() error) {
			s, err := chat.Open(ctx, dial(t, target))
			if err != nil {
				t.Fatal(err)
			}
			return func() error {
					_ = s.Send(text("x"))
					_, err := s.Receive()
					return err
				}, func() error {
					_ = s.CloseSend()
					_, err := s.Receive()
					return err
				}
		},
		"gRPC": func(ctx context.Context) (func() error, func() error) {
			s, err := stock(t, target).NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/test.Service/Chat")
			if err != nil {
				t.Fatal(err)
			}
			return func() error {
					_ = s.SendMsg(text("x"))
					return s.RecvMsg(&payload{})
				}, func() error {
					_ = s.CloseSend()
					return s.RecvMsg(&payload{})
				}
		},
	}
	for name, open := range everyone {
		send, end := open(as(soon(t), "ada"))
		before := g.released.Load()
		if err := send(); err != nil {
			t.Error(name, err)
		}
		if g.released.Load() != before {
			t.Error(name, "the call is released though it runs")
		}
		_ = end()
		eventually(t, "the call is released", func() bool { return g.released.Load() == before+1 })
		send, _ = open(as(soon(t), "eve"))
		if code := status.Code(send()); name == "gRPC" && code != codes.Unauthenticated {
			t.Error(name, code)
		}
		send, _ = open(as(soon(t), "eve"))
		if err := send(); name == "native" {
			wants(t, err, trunkcall.Unauthenticated, trunkcall.Refused)
		}
	}
}

func TestWhatIsRefusedAnywayIsNotAskedFor(t *testing.T) {
	g, busy := newGuard(), newGate(t)
	_, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit), trunkcall.WithRunningHandlers(1)}, append(standard(), busy.handler())...)
	c := dial(t, target)
	go func() { _, _ = block.Call(as(t.Context(), "ada"), c, text("x")) }()
	busy.await(t)
	receive(t, g.asked, "the first call")
	_, err := echo.Call(as(soon(t), "ada"), c, text("x"))
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
	wants(t, c.Invoke(as(soon(t), "ada"), unary("/test.Service/None"), text("x"), text("")), trunkcall.Unimplemented, trunkcall.Refused)
	if len(g.asked) != 0 {
		t.Errorf("asked about %+v", <-g.asked)
	}
}

func TestAdmissionIsNotAskedAboutACallWhoseRequestNeverComes(t *testing.T) {
	g := newGuard()
	s, target := serve(t, serverOptions{trunkcall.WithAdmission(g.admit)}, standard()...)
	ctx, cancel := context.WithCancel(as(t.Context(), "ada"))
	if _, err := stock(t, target).NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/test.Service/Echo"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the call has come", func() bool { return s.Running() == 1 })
	cancel()
	eventually(t, "the call is over", func() bool { return s.Running() == 0 })
	if len(g.asked) != 0 || g.released.Load() != 0 {
		t.Errorf("asked %d times, released %d", len(g.asked), g.released.Load())
	}
}

func TestAnAdmissionThatFailsRefusesTheCallAndTellsNoSecrets(t *testing.T) {
	for name, admit := range map[string]func(context.Context, *trunkcall.Arrival) (trunkcall.Admission, error){
		"error": func(context.Context, *trunkcall.Arrival) (trunkcall.Admission, error) {
			return trunkcall.Admission{}, errors.New("a secret")
		},
		"panic": func(context.Context, *trunkcall.Arrival) (trunkcall.Admission, error) { panic("a secret") },
	} {
		t.Run(name, func(t *testing.T) {
			log := &strings.Builder{}
			s, target := serve(t, serverOptions{trunkcall.WithAdmission(admit), trunkcall.WithLogger(slog.New(slog.NewTextHandler(log, nil)))}, standard()...)
			want, part := trunkcall.Unknown, "the admission failed"
			if name == "panic" {
				want, part = trunkcall.Internal, "the admission panicked"
			}
			c := dial(t, target)
			for range 2 { // on the same connection
				_, err := echo.Call(soon(t), c, text("x"))
				told := wants(t, err, want, trunkcall.Refused)
				wantsText(t, told.Message, part, "in the log of the server")
				if strings.Contains(told.Message, "secret") {
					t.Error(told.Message)
				}
			}
			_, err := stockEcho(soon(t), stock(t, target), "/test.Service/Echo", text("x"))
			wantsCode(t, err, codes.Code(want), part)
			if s.Running() != 0 {
				t.Error("a call that was refused counts as running")
			}
			s.Close()
			if !strings.Contains(log.String(), "a secret") {
				t.Error("the log does not say why")
			}
		})
	}
}

func TestAReleaseThatPanicsHarmsNoCall(t *testing.T) {
	s, target := serve(t, serverOptions{trunkcall.WithAdmission(func(context.Context, *trunkcall.Arrival) (trunkcall.Admission, error) {
		return trunkcall.Admission{Release: func() { panic("released") }}, nil
	}), trunkcall.WithLogger(slog.New(slog.DiscardHandler))}, standard()...)
	c := dial(t, target)
	mustEcho(t, c, "one")
	mustEcho(t, c, "two")
	if s.Running() != 0 {
		t.Error(s.Running())
	}
}

func TestAnAdmissionThatIsNoneOrGivenTwiceIsNamed(t *testing.T) {
	g := newGuard()
	for want, options := range map[string]serverOptions{
		"WithAdmission is nil":         {trunkcall.WithAdmission(nil)},
		"WithAdmission is given twice": {trunkcall.WithAdmission(g.admit), trunkcall.WithAdmission(g.admit)},
	} {
		if _, err := trunkcall.NewServer(options...); err == nil || !strings.Contains(err.Error(), want) {
			t.Error(want, err)
		}
	}
}

// It runs where the handler will: what it waits for holds up nobody else on the connection.
func TestAdmissionMayWait(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	_, target := serve(t, serverOptions{trunkcall.WithAdmission(func(ctx context.Context, call *trunkcall.Arrival) (trunkcall.Admission, error) {
		if call.Metadata.Get("k") == "slow" {
			asked <- struct{}{}
			select {
			case <-answer:
			case <-ctx.Done():
				return trunkcall.Admission{}, ctx.Err()
			}
		}
		return trunkcall.Admission{}, nil
	})}, standard()...)
	c := dial(t, target)
	slow := echo.Start(as(soon(t), "slow"), c, text("slow"))
	receive(t, asked, "the admission of the slow call")
	for range 100 {
		if _, err := echo.Call(as(soon(t), "ada"), c, text("quick")); err != nil {
			t.Fatal(err)
		}
	}
	close(answer)
	if out, err := slow.Result(); err != nil || string(out.GetData()) != "slow" {
		t.Error(out, err)
	}
}
