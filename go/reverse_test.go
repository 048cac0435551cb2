package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Calls from a server to its client, over the client's own connection.

// back is a method of the server's whose handler calls the client's echo.
var back = trunkcall.Unary[payload, payload]("/test.Service/Back")

// callBack answers with what the caller's own echo makes of the request.
func callBack(ctx context.Context, in *payload) (*payload, error) {
	return echo.Call(ctx, trunkcall.CallFromContext(ctx).Connection(), in)
}

// register has a client serve.
func register(t testing.TB, c *trunkcall.Client, handlers ...trunkcall.Handler) {
	t.Helper()
	if err := c.Register(handlers...); err != nil {
		t.Fatal(err)
	}
}

func mustCallBack(t testing.TB, c *trunkcall.Client, data string) {
	t.Helper()
	out, err := back.Call(soon(t), c, text(data))
	if err != nil || string(out.Data) != data {
		t.Fatalf("back: %v, %v", out, err)
	}
}

// connected calls the server and returns the server's end of the connection.
func connected(t testing.TB, s *trunkcall.Server, c *trunkcall.Client) *trunkcall.Connection {
	t.Helper()
	meet := trunkcall.Unary[payload, payload]("/test.Meeting/" + t.Name())
	met := make(chan *trunkcall.Connection, 1)
	err := s.Register(meet.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		met <- trunkcall.CallFromContext(ctx).Connection()
		return in, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := meet.Call(soon(t), c, text("")); err != nil {
		t.Fatal(err)
	}
	return receive(t, met, "connection")
}

func TestAServerCallsItsClientWithEveryKind(t *testing.T) {
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		register(t, c, standard()...)
		conn := connected(t, s, c)
		out, err := echo.Call(soon(t), conn, text("unary"))
		if err != nil || string(out.Data) != "unary" {
			t.Fatal(out, err)
		}
		answers, err := produce.Call(soon(t), conn, text("abc"))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range "abc" {
			if out, err := answers.Receive(); err != nil || string(out.Data) != string(want) {
				t.Fatal(out, err)
			}
		}
		if _, err := answers.Receive(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		requests, err := collect.Open(soon(t), conn)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"d", "e", "f"} {
			if err := requests.Send(text(part)); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := requests.CloseAndReceive(); err != nil || string(out.Data) != "def" {
			t.Fatal(out, err)
		}
		both, err := chat.Open(soon(t), conn)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := both.Send(text("ping")); err != nil {
				t.Fatal(err)
			}
			if out, err := both.Receive(); err != nil || string(out.Data) != "ping" {
				t.Fatal(out, err)
			}
		}
		if err := both.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if _, err := both.Receive(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}

func TestAHandlerCallsItsCallerWhoWaits(t *testing.T) {
	for name, inline := range map[string]bool{"ordinary": false, "inline": true} {
		t.Run(name, func(t *testing.T) {
			handler := func(h trunkcall.Handler) trunkcall.Handler {
				h.Inline = inline
				return h
			}
			everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
				register(t, c, handler(echo.Handler(serveEcho)))
				for range among(300, 100) { // one after the other: the caller reads for itself
					mustCallBack(t, c, "alone")
				}
				var callers sync.WaitGroup
				for range 20 {
					callers.Go(func() {
						for range 20 {
							mustCallBack(t, c, "together")
						}
					})
				}
				callers.Wait()
			}, handler(back.Handler(callBack)))
		})
	}
}

// A method whose handlers have been quick so far is run with nobody beside it.
func TestAQuickHandlerThatBeginsToCallBackIsNotAlone(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		register(t, c, echo.Handler(serveEcho))
		request := func(data string) {
			out, err := block.Call(soon(t), c, text(data))
			if err != nil || string(out.Data) != data {
				t.Fatal(out, err)
			}
		}
		for range 1000 { // it is known to be quick
			request("")
		}
		for range 10 {
			request("now")
		}
	}, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		if len(in.Data) == 0 {
			return in, nil
		}
		return callBack(ctx, in)
	}))
}

// Each end calls the other from within its handlers, five deep.
func TestCallsNestBothWays(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		nest := trunkcall.Unary[payload, payload]("/test.Service/Nest")
		register(t, c, nest.Handler(descend))
		out, err := nest.Call(soon(t), c, text("....."))
		if err != nil || string(out.Data) != "bottom" {
			t.Fatal(out, err)
		}
	}, trunkcall.Unary[payload, payload]("/test.Service/Nest").Handler(descend))
}

func descend(ctx context.Context, in *payload) (*payload, error) {
	if len(in.Data) == 0 {
		return text("bottom"), nil
	}
	nest := trunkcall.Unary[payload, payload]("/test.Service/Nest")
	return nest.Call(ctx, trunkcall.CallFromContext(ctx).Connection(), &payload{Data: in.Data[1:]})
}

func TestAClientThatServesNothingRefuses(t *testing.T) {
	s, c := join(t)
	_, err := echo.Call(soon(t), connected(t, s, c), text("x"))
	wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
}

func TestDeadlineMetadataAndStatusTravelToAClient(t *testing.T) {
	s, c := join(t)
	blocked := make(chan context.Context, 1)
	register(t, c, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		blocked <- ctx
		<-ctx.Done()
		return in, nil
	}), echo.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		if call.Metadata.Get("who") != "server" {
			return nil, trunkcall.Errorf(trunkcall.InvalidArgument, "metadata %v", call.Metadata)
		}
		if err := call.SetTrailer(trunkcall.Metadata{{Key: "by", Value: "client"}}); err != nil {
			return nil, err
		}
		return nil, trunkcall.Errorf(trunkcall.NotFound, "not here")
	}))
	conn := connected(t, s, c)
	ctx := trunkcall.WithMetadata(soon(t), trunkcall.Metadata{{Key: "who", Value: "server"}})
	_, err := echo.Call(ctx, conn, text("x"))
	if got := wants(t, err, trunkcall.NotFound, trunkcall.Executed); len(got.Trailer) != 1 {
		t.Fatal(got.Trailer)
	}
	runsOut(t, func(d time.Duration) bool {
		ctx, cancel := within(d)
		defer cancel()
		if _, err = block.Call(ctx, conn, text("x")); unsent(err) {
			return true
		}
		wants(t, err, trunkcall.DeadlineExceeded, trunkcall.DeliveryUnknown)
		return !begins(t, ctx, blocked, func() int { return c.Gauges().RunningHandlers }, calls(conn))
	})
	handler := receive(t, blocked, "handler to start")
	if _, has := handler.Deadline(); !has {
		t.Fatal("the deadline did not travel")
	}
	ends(t, handler)
}

func TestAServersCallsWaitForSlotsOfTheirClient(t *testing.T) {
	s, target := serve(t, serverOptions{trunkcall.WithWaitingCalls(3)}, standard()...)
	c := dial(t, target, trunkcall.WithLimits(trunkcall.Limits{Calls: 2}))
	g := newGate(t)
	register(t, c, g.handler())
	conn := connected(t, s, c)
	ended := make(chan error, 6)
	call := func() {
		_, err := block.Call(soon(t), conn, text("x"))
		ended <- err
	}
	for range 2 {
		go call()
		g.await(t)
	}
	for range 4 {
		go call()
	}
	wants(t, receive(t, ended, "refusal"), trunkcall.ResourceExhausted, trunkcall.NotSent)
	g.open()
	for range 5 {
		if err := receive(t, ended, "answer"); err != nil {
			t.Fatal(err)
		}
	}
}

// A handler that runs while its server drains may still call its client.
func TestDrainingLetsHandlersCallBack(t *testing.T) {
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		register(t, c, echo.Handler(serveEcho))
		entered, leave := make(chan *trunkcall.Connection, 1), make(chan struct{})
		if err := s.Register(block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
			entered <- trunkcall.CallFromContext(ctx).Connection()
			<-leave
			return callBack(ctx, in)
		})); err != nil {
			t.Fatal(err)
		}
		ended, stopped := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := block.Call(soon(t), c, text("x"))
			ended <- err
		}()
		conn := receive(t, entered, "handler")
		go func() { stopped <- s.Stop(soon(t)) }()
		eventually(t, "the client has seen the farewell", func() bool {
			_, err := echo.Call(soon(t), c, text("x"))
			return err != nil
		})
		close(leave)
		if err := receive(t, ended, "answer"); err != nil {
			t.Fatal(err)
		}
		if err := receive(t, stopped, "end of Stop"); err != nil {
			t.Fatal(err)
		}
		_, err := echo.Call(soon(t), conn, text("x"))
		wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
	})
}

// A call that a server has open to its client holds up Stop until it is answered.
func TestStopWaitsForCallsToClients(t *testing.T) {
	s, c := join(t)
	g := newGate(t)
	register(t, c, g.handler())
	conn := connected(t, s, c)
	ended, stopped := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := block.Call(soon(t), conn, text("x"))
		ended <- err
	}()
	g.await(t)
	go func() { stopped <- s.Stop(soon(t)) }()
	eventually(t, "the connection drains", func() bool {
		_, err := echo.Call(soon(t), conn, text("x"))
		s := trunkcall.StatusOf(err) // UNIMPLEMENTED before
		return s.Code == trunkcall.Unavailable && s.Delivery == trunkcall.NotSent
	})
	select {
	case err := <-stopped:
		t.Fatal("Stop did not wait:", err)
	default:
	}
	g.open()
	if err := receive(t, ended, "answer"); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, stopped, "end of Stop"); err != nil {
		t.Fatal(err)
	}
}

func TestTheEndOfAConnectionEndsCallsBothWays(t *testing.T) {
	for name, end := range map[string]func(*trunkcall.Server, *trunkcall.Client, *trunkcall.Connection){
		"Client.Close":          func(_ *trunkcall.Server, c *trunkcall.Client, _ *trunkcall.Connection) { c.Close() },
		"Server.Close":          func(s *trunkcall.Server, _ *trunkcall.Client, _ *trunkcall.Connection) { s.Close() },
		"Connection.Disconnect": func(_ *trunkcall.Server, _ *trunkcall.Client, c *trunkcall.Connection) { c.Disconnect() },
		"Server.Stop, out of patience": func(s *trunkcall.Server, _ *trunkcall.Client, _ *trunkcall.Connection) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			_ = s.Stop(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			atServer, atClient := newGate(t), newGate(t)
			s, c := join(t, atServer.handler())
			register(t, c, atClient.handler())
			conn := connected(t, s, c)
			ended := make(chan error, 2)
			for _, caller := range []trunkcall.Caller{conn, c} {
				go func() {
					_, err := block.Call(soon(t), caller, text("x"))
					ended <- err
				}()
			}
			contexts := []context.Context{atServer.await(t), atClient.await(t)}
			end(s, c, conn)
			for range 2 {
				err := receive(t, ended, "status")
				want := trunkcall.Unavailable
				if errors.Is(err, trunkcall.ErrClientClosed) {
					want = trunkcall.Canceled // by its own side
				}
				if s := trunkcall.StatusOf(err); s.Code != want || s.Delivery != trunkcall.DeliveryUnknown {
					t.Errorf("%v, want %v", err, want)
				}
			}
			for _, ctx := range contexts {
				ends(t, ctx)
			}
		})
	}
}

func TestAClientReconnectsAfterDisconnect(t *testing.T) {
	s, c := join(t)
	connected(t, s, c).Disconnect()
	eventually(t, "the client has another connection", func() bool {
		_, err := echo.Call(soon(t), c, text("x"))
		return err == nil
	})
}

// A connection that the client itself disconnects is no failed attempt: nothing is
// put off for it.
func TestAClientThatDisconnectsOpensAnotherAtOnce(t *testing.T) {
	_, c := join(t)
	for range 10 {
		mustEcho(t, c, "x")
		for _, conn := range c.Connections() {
			conn.Disconnect()
		}
	}
	if n := c.Gauges().ConnectFailures; n != 0 {
		t.Fatal(n, "failures to connect")
	}
}

func TestReverseInterceptorsWrapCallsTheOtherWay(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(who string) trunkcall.Option {
		return trunkcall.WithReverseInterceptors(func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			mu.Lock()
			seen = append(seen, who)
			mu.Unlock()
			return next(ctx, call)
		})
	}
	_, target := serve(t, serverOptions{note("server")}, back.Handler(callBack), echo.Handler(serveEcho))
	c := dial(t, target, note("client"))
	register(t, c, echo.Handler(serveEcho))
	mustEcho(t, c, "not wrapped")
	mustCallBack(t, c, "wrapped at both ends")
	if len(seen) != 2 || seen[0] != "server" || seen[1] != "client" {
		t.Fatal(seen)
	}
}
