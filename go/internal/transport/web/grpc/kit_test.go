package grpc_test

import (
	"net"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	protocol "github.com/trunkcall/trunkcall/go/internal/transport/web/grpc"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// method is a method of the server below.
type method struct {
	streams bool
	serve   func(call *web.Call, x web.Exchange, a *web.Answer, stopped <-chan wire.Code)
}

type server map[string]method

func (s server) Accept(call *web.Call) (web.Served, *wire.Refusal) {
	m, ok := s[call.Method]
	if !ok {
		return nil, &wire.Refusal{Code: wire.Unimplemented, Message: "method " + call.Method + " is not served by this server", RetryAfter: 7}
	}
	return &served{m, call, make(chan wire.Code, 1)}, nil
}

func (server) Refused(*web.Call, *wire.Refusal) {}

type served struct {
	method
	call    *web.Call
	stopped chan wire.Code
}

func (s *served) Whole() bool                         { return !s.streams }
func (s *served) Pace() *roles.Pace                   { return nil }
func (s *served) Compression() uint8                  { return s.call.Compression }
func (s *served) Stopped(how web.Stop)                { s.stopped <- how.Code }
func (s *served) Dropped()                            {}
func (s *served) Serve(x web.Exchange, a *web.Answer) { s.serve(s.call, x, a, s.stopped) }

// serve listens and returns a stock client's connection to it.
func serve(t *testing.T, s server, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pool := &roles.Pool{}
	over := make(chan struct{}, 100)
	config := &http2.Config{Pool: pool, Handler: &web.HTTP2{
		GRPC: &protocol.Protocol{Server: s, Compressions: 1 << wire.Gzip}, OnClosed: func(*http2.Conn, error) { over <- struct{}{} },
	}}
	accepted := make(chan int)
	go func() {
		n := 0
		for {
			socket, err := listener.Accept()
			if err != nil {
				accepted <- n
				return
			}
			http2.Serve(socket, nil, config, nil)
			n++
		}
	}()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(65<<20), grpc.MaxCallSendMsgSize(65<<20)))
	client, err := grpc.NewClient("passthrough:///"+listener.Addr().String(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		listener.Close()
		for range <-accepted {
			<-over
		}
		pool.Close()
	})
	return client
}

// echo answers with the request; reply sets a message as the answer.
func echo(_ *web.Call, x web.Exchange, a *web.Answer, _ <-chan wire.Code) {
	m, compressed, err := x.Receive()
	if err != nil {
		fail(a, err)
		return
	}
	a.Scratch = append(a.Scratch[:web.Headroom], m.B...)
	m.Free()
	a.Ending.HasMessage = true
	if compressed {
		a.Ending.Compression = wire.Gzip
	}
}

func fail(a *web.Answer, err error) {
	a.Ending.Code, a.Ending.Message = wire.Internal, err.Error()
	if f, ok := err.(*web.Fault); ok {
		a.Ending.Code, a.Ending.Message = f.Code, f.Text
	}
}
