package trunkcall_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
)

// Limits, draining and what is told, for calls that come over gRPC.

func TestOneTLSPortServesBothAndRefusesCleartext(t *testing.T) {
	a := newAuthority(t)
	withTLS := trunkcall.WithTLS(&tls.Config{Certificates: []tls.Certificate{a.certificate(t, x509.ExtKeyUsageServerAuth)}})
	trust := &tls.Config{RootCAs: a.pool}
	_, target := serve(t, serverOptions{withTLS}, standard()...)
	mustEcho(t, dial(t, target, trunkcall.WithTLS(trust)), "native")
	if _, err := stockEcho(soon(t), stock(t, target, secured(trust)), "/test.Service/Echo", text("")); err != nil {
		t.Fatal(err)
	}
	// A request that GOAWAY alone said nobody took would be made again, on one connection after the other.
	var dialled atomic.Int32
	plain := stock(t, target, grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		dialled.Add(1)
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := stockEcho(soon(t), plain, "/test.Service/Echo", text("")); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "use TLS") {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := dialled.Load(); n > 5 {
		t.Errorf("%d connections for 20 calls", n)
	}

	_, target = serve(t, serverOptions{withTLS, trunkcall.WithCleartext()}, standard()...)
	if _, err := stockEcho(soon(t), stock(t, target), "/test.Service/Echo", text("")); err != nil {
		t.Fatal(err)
	}
}

func TestAServerCanBeNativeOnly(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithNativeOnly()}, standard()...)
	mustEcho(t, dial(t, target), "native")
	_, err := stockEcho(soon(t), stock(t, target), "/test.Service/Echo", text(""))
	wantsCodeOnly(t, err, codes.Unavailable)
}

func TestTheLimitOfRunningHandlersHoldsForAllProtocolsTogether(t *testing.T) {
	g := newGate(t)
	s, target := serve(t, serverOptions{trunkcall.WithRunningHandlers(2)}, append(standard(), g.handler())...)
	native, c := dial(t, target), stock(t, target)
	var all sync.WaitGroup
	all.Go(func() { _, _ = block.Call(soon(t), native, text("")) })
	g.await(t)
	all.Go(func() { _, _ = stockEcho(soon(t), c, "/test.Service/Block", text("")) })
	g.await(t)
	var trailer metadata.MD
	_, err := stockEcho(soon(t), c, "/test.Service/Echo", text(""), grpc.Trailer(&trailer))
	wantsCode(t, err, codes.ResourceExhausted, "running handlers", "2")
	wantsDelivery(t, trailer, "refused")
	if trailer.Get("grpc-retry-pushback-ms")[0] != "50" {
		t.Error(trailer)
	}
	if gauges := s.Gauges(); gauges.RunningHandlers != 2 || gauges.CallsServed != 2 || gauges.Connections != 2 || gauges.Refused != 1 {
		t.Errorf("%+v", gauges)
	}
	g.open()
	all.Wait()
	eventually(t, "the gauges return", func() bool {
		gauges := s.Gauges()
		return gauges.RunningHandlers == 0 && gauges.CallsServed == 0 && gauges.UnsentBytes == 0 && gauges.HeldBytes == 0
	})
}

func TestTheLimitOfMessagesHoldsOverGRPC(t *testing.T) {
	s, c := joinStock(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 1000})})
	var trailer metadata.MD
	_, err := stockEcho(soon(t), c, "/test.Service/Echo", noise(1001), grpc.Trailer(&trailer))
	wantsCode(t, err, codes.ResourceExhausted, "max_message 1000")
	wantsDelivery(t, trailer, "refused")
	eventually(t, "the handler's place is free", func() bool { return s.Running() == 0 })
}

func TestTheMemoryOfAServerIsSharedByAllProtocols(t *testing.T) {
	s, target := serve(t, serverOptions{trunkcall.WithMemory(2 << 20)}, standard()...)
	c := stock(t, target)
	var trailer metadata.MD
	_, err := stockEcho(soon(t), c, "/test.Service/Echo", noise(3<<20), grpc.Trailer(&trailer))
	wantsCode(t, err, codes.ResourceExhausted, "memory 2097152")
	wantsDelivery(t, trailer, "refused")
	if trailer.Get("grpc-retry-pushback-ms")[0] != "10" {
		t.Error(trailer)
	}
	for range 20 { // what was drawn is given back
		if _, err := stockEcho(soon(t), c, "/test.Service/Echo", noise(300_000)); err != nil {
			t.Fatal(err)
		}
	}
	other := stock(t, target)
	eventually(t, "another connection has all of it", func() bool {
		_, err := stockEcho(soon(t), other, "/test.Service/Echo", noise(900_000))
		return err == nil
	})
	eventually(t, "nothing is held", func() bool { return s.Gauges().HeldBytes == 0 })
}

func TestStopLosesNoCallOfAGRPCClient(t *testing.T) {
	g := newGate(t)
	s, c := joinStock(t, nil, g.handler())
	answered := make(chan error, 1)
	go func() {
		_, err := stockEcho(soon(t), c, "/test.Service/Block", text(""))
		answered <- err
	}()
	g.await(t)
	stream := stockStream(t, c, "/test.Service/Chat")
	sends(t, stream, text("before"))
	if err := stream.RecvMsg(&payload{}); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(soon(t)) }()
	eventually(t, "new calls find nobody", func() bool {
		_, err := stockEcho(soon(t), c, "/test.Service/Echo", text(""))
		return err != nil
	})
	sends(t, stream, text("after"))
	_ = stream.CloseSend()
	wantsAnswers(t, stream, "after")
	g.open()
	if err := receive(t, answered, "answer"); err != nil {
		t.Error(err)
	}
	if err := receive(t, stopped, "end of Stop"); err != nil {
		t.Error(err)
	}
}

func TestReplacingAServerFailsNoCallOfItsGRPCClients(t *testing.T) {
	t.Parallel() // it waits more than it computes
	s, where := serve(t, nil, standard()...)
	c := stock(t, where, grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	var calls, failures atomic.Int64
	over := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := stockEcho(soon(t), c, "/test.Service/Echo", text("x")); err != nil {
					failures.Add(1)
					t.Error(err)
					return
				}
				calls.Add(1)
			}
		})
	}
	for range 3 {
		before := calls.Load()
		eventually(t, "calls go on", func() bool { return calls.Load() > before+50 || failures.Load() > 0 })
		if err := s.Stop(soon(t)); err != nil {
			t.Error(err)
		}
		s, _ = start(t, where, nil, standard()...)
	}
	close(over)
	all.Wait()
}

func TestTheGraceEndsCallsOfGRPCClients(t *testing.T) {
	g := newGate(t)
	s, c := joinStock(t, nil, g.handler())
	answered := make(chan error, 1)
	go func() {
		_, err := stockEcho(soon(t), c, "/test.Service/Block", text(""))
		answered <- err
	}()
	handler := g.await(t)
	ctx, cancel := within(10 * time.Millisecond)
	defer cancel()
	if err := s.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	wantsCodeOnly(t, receive(t, answered, "end of the call"), codes.Unavailable)
	ends(t, handler)
}

func TestObserversAndLogsAreToldOfGRPCClients(t *testing.T) {
	told, log := newEvents(), &logged{}
	_, target := serve(t, serverOptions{told.option(), log.option()}, standard()...)
	c := stock(t, target)
	_, err := stockEcho(soon(t), c, "/test.Service/None", text(""))
	wantsCodeOnly(t, err, codes.Unimplemented)
	if up := receive(t, told.up, "connection"); up.Protocol() != "h2" || up.Err() != nil {
		t.Error(up.Protocol(), up.Err())
	}
	_ = c.Close()
	told.wants(t, "listening, connected, disconnected")
	eventually(t, "a refusal is logged", func() bool { return log.has("call refused") && log.has("UNIMPLEMENTED") })
}

func TestTheConnectionOfAGRPCClientCanBeDisconnectedButNotCalled(t *testing.T) {
	_, c := joinStock(t, nil, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		conn := trunkcall.CallFromContext(ctx).Connection()
		_, err := echo.Call(ctx, conn, in)
		if s := trunkcall.StatusOf(err); s.Code != trunkcall.Unimplemented || s.Delivery != trunkcall.NotSent {
			return nil, err
		}
		if _, err := chat.Open(ctx, conn); trunkcall.StatusOf(err).Code != trunkcall.Unimplemented {
			return nil, err
		}
		if _, err := echo.Start(ctx, conn, in).Wait(ctx); trunkcall.StatusOf(err).Code != trunkcall.Unimplemented {
			return nil, err
		}
		if string(in.Data) == "disconnect" {
			conn.Disconnect()
			<-ctx.Done()
		}
		return nil, err
	}))
	_, err := stockEcho(soon(t), c, "/test.Service/Block", text(""))
	wantsCode(t, err, codes.Unimplemented, "speaks h2", "no calls from a server to its client")
	_, err = stockEcho(soon(t), c, "/test.Service/Block", text("disconnect"))
	wantsCodeOnly(t, err, codes.Unavailable)
}

func TestAOneWayMethodAnswersAGRPCClientAtItsEnd(t *testing.T) {
	ran := make(chan string, 1)
	_, c := joinStock(t, nil, trunkcall.OneWay[payload]("/test.Service/Tell").Handler(func(_ context.Context, in *payload) error {
		ran <- string(in.Data)
		return nil
	}))
	if _, err := stockEcho(soon(t), c, "/test.Service/Tell", text("news")); err != nil {
		t.Fatal(err)
	}
	if got := <-ran; got != "news" {
		t.Error(got)
	}
}

func TestAPeerThatSaysHalfThePrefaceIsToldSo(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	for said, want := range map[string]string{
		"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n": "HTTP/1.1 505 ", "POST / HTTP/1.1\r\n\r\n": "HTTP/1.1 400 ", "PROPFIND nonsense\r\n\r\n": "HTTP/1.1 400 ",
	} {
		if got := says(t, target, said); !strings.HasPrefix(got, want) {
			t.Errorf("%q is answered by %q", said, got)
		}
	}
}

// says returns all that a server answers to raw bytes until it closes.
func says(t *testing.T, target string, said ...string) string {
	t.Helper()
	socket, err := net.Dial("tcp", target)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, piece := range said { // each goes by itself: TCP is told not to gather them
		_, _ = socket.Write([]byte(piece))
	}
	_ = socket.SetReadDeadline(time.Now().Add(long))
	all, err := io.ReadAll(socket)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%q: not closed, but %q", said, all)
	}
	return string(all)
}
