package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// What users get wrong is told where they can see it, and in words that help.

func TestANameWithoutAServiceOrMethodIsRefused(t *testing.T) {
	s, target := serve(t, nil)
	c := dial(t, target)
	for _, name := range []string{"", "/", "div", "/div", "//div", "div/", "/test.Service/", strings.Repeat("s", 1020) + "/div"} {
		m := trunkcall.Unary[payload, payload](name)
		for how, err := range map[string]error{
			"RegisterFunc": codefirst.RegisterFunc(s, name, func() {}),
			"Register":     s.Register(m.Handler(serveEcho)),
		} {
			if err == nil || !strings.Contains(err.Error(), "want /package.Service/Method") {
				t.Errorf("%s of %.10q: %v", how, name, err)
			}
		}
		_, unary := m.Call(soon(t), c, text(""))
		_, asynchronous := m.Start(soon(t), c, text("")).Result()
		_, stream := trunkcall.Bidi[payload, payload](name).Open(soon(t), c)
		oneWay := trunkcall.OneWay[payload](name).Send(soon(t), c, text(""))
		for _, err := range []error{unary, asynchronous, stream, oneWay, c.Invoke(soon(t), trunkcall.NewMethod(name, trunkcall.KindUnary), text(""), &payload{})} {
			wantsText(t, wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent).Message, "want /package.Service/Method")
		}
	}
	if err := codefirst.RegisterFunc(s, "s/d", func() {}); err != nil {
		t.Error(err)
	}
}

func TestAnAddressWithoutANameIsRefused(t *testing.T) {
	s := newServer(t)
	defer s.Close()
	for _, where := range []string{"mem:", "unix:"} {
		if _, err := s.Listen(where); err == nil || !strings.Contains(err.Error(), "mem:NAME") {
			t.Errorf("listening on %q: %v", where, err)
		}
		if _, err := trunkcall.NewClient(where); err == nil || !strings.Contains(err.Error(), "mem:NAME") {
			t.Errorf("calling %q: %v", where, err)
		}
	}
}

func TestWhoDoesNotServeAMethodIsSaid(t *testing.T) {
	s, c := join(t)
	conn := connected(t, s, c)
	_, err := block.Call(soon(t), c, text("x"))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.Refused).Message, "/test.Service/Block is not served by this server")
	_, err = echo.Call(soon(t), conn, text("x"))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.Refused).Message, "/test.Service/Echo is not served by this client")
}

func TestARefusalIsLoggedWithTheNameThatWasAskedFor(t *testing.T) {
	var log logged
	_, target := serve(t, serverOptions{log.option()})
	c := dial(t, target)
	_, err := echo.Call(soon(t), c, text(""))
	wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
	long := "/test.Service/" + strings.Repeat("m", 1000)
	_, err = trunkcall.Unary[payload, payload](long).Call(soon(t), c, text(""))
	wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
	eventually(t, "both names are logged", func() bool {
		return log.has("method=/test.Service/Echo ") && log.has("method="+long[:256]+"… ")
	})
}

// secretMessage is a type that no codec carries.
type secretMessage struct{ C chan int }

func TestTypesOfTheServersOwnAreForItsLog(t *testing.T) {
	var log logged
	wrong := trunkcall.Unary[payload, secretMessage]("/test.Service/WrongResponse")
	taken := trunkcall.Unary[secretMessage, payload]("/test.Service/WrongRequest")
	stream := trunkcall.ServerStream[payload, secretMessage]("/test.Service/WrongStream")
	_, target := serve(t, serverOptions{log.option()},
		wrong.Handler(func(context.Context, *payload) (*secretMessage, error) { return &secretMessage{}, nil }),
		taken.Handler(func(context.Context, *secretMessage) (*payload, error) { return &payload{}, nil }),
		stream.Handler(func(_ context.Context, _ *payload, out *trunkcall.Sender[secretMessage]) error {
			return out.Send(&secretMessage{})
		}))
	c := dial(t, target)
	for method, code := range map[string]trunkcall.Code{"WrongResponse": trunkcall.Internal, "WrongRequest": trunkcall.Unimplemented} {
		_, err := trunkcall.Unary[payload, payload]("/test.Service/"+method).Call(soon(t), c, text(""))
		wantsInside(t, err, code)
		eventually(t, "the type is logged", func() bool {
			return log.has("method=/test.Service/" + method + ` error="the message is of a wrong type: *trunkcall_test.secretMessage`)
		})
	}
	answers, err := trunkcall.ServerStream[payload, payload]("/test.Service/WrongStream").Call(soon(t), c, text(""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = answers.Receive()
	wantsInside(t, err, trunkcall.Internal)
	eventually(t, "the type is logged", func() bool { return log.has("method=/test.Service/WrongStream error=") })

	_, err = taken.Call(soon(t), c, &secretMessage{}) // the caller's own fault is the caller's to know
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.NotSent).Message, "secretMessage")
}

// wantsInside checks that a call failed without a word of the other side's types.
func wantsInside(t *testing.T, err error, code trunkcall.Code) {
	t.Helper()
	const want = "codec protobuf cannot carry the messages of this method"
	if s := trunkcall.StatusOf(err); s.Code != code || s.Message != want {
		t.Errorf("%v: %s, want %v: %s", s.Code, s.Message, code, want)
	}
}

func TestAPanicOfAnObserverIsNeverSilent(t *testing.T) {
	var log logged
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	serve(t, serverOptions{trunkcall.WithObserver(trunkcall.Observer{Listening: func(net.Addr) { panic("without a logger") }})})
	eventually(t, "the panic is logged", func() bool { return log.has("observer panicked") && log.has("without a logger") })
}

func TestWhyAConnectionEndedCanBeTold(t *testing.T) {
	type end struct{ server, client error }
	for name, test := range map[string]struct {
		end  func(s *trunkcall.Server, c *trunkcall.Client)
		want end
	}{
		"disconnected by the client": {func(_ *trunkcall.Server, c *trunkcall.Client) {
			for _, conn := range c.Connections() {
				conn.Disconnect()
			}
		}, end{client: trunkcall.ErrDisconnected}},
		"disconnected by the server": {func(s *trunkcall.Server, _ *trunkcall.Client) {
			for _, conn := range s.Connections() {
				conn.Disconnect()
			}
		}, end{server: trunkcall.ErrDisconnected}},
		"the client is closed": {func(_ *trunkcall.Server, c *trunkcall.Client) { c.Close() }, end{client: trunkcall.ErrClientClosed}},
		"the server is closed": {func(s *trunkcall.Server, _ *trunkcall.Client) { s.Close() }, end{server: trunkcall.ErrServerStopped}},
	} {
		t.Run(name, func(t *testing.T) {
			why := make(chan error, 1)
			told := trunkcall.WithObserver(trunkcall.Observer{Disconnected: func(_ *trunkcall.Connection, err error) { why <- err }})
			options, want := serverOptions{told}, test.want.server
			var own []trunkcall.ClientOption
			if want == nil {
				options, own, want = nil, []trunkcall.ClientOption{told}, test.want.client
			}
			s, target := serve(t, options)
			c := dial(t, target, own...)
			if err := c.Connect(soon(t)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the server knows of the connection", func() bool { return len(s.Connections()) == 1 })
			test.end(s, c)
			if got := receive(t, why, "end"); !errors.Is(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func TestHowASocketEndedCanBeTold(t *testing.T) {
	for name, want := range map[string]error{"end": io.EOF, "reset": syscall.ECONNRESET} {
		t.Run(name, func(t *testing.T) {
			why, up := make(chan error, 2), make(chan struct{})
			_, target := serve(t, serverOptions{trunkcall.WithObserver(trunkcall.Observer{
				Connected:    func(*trunkcall.Connection) { close(up) },
				ReadFailed:   func(_ *trunkcall.Connection, err error) { why <- err },
				Disconnected: func(_ *trunkcall.Connection, err error) { why <- err },
			})})
			socket, err := net.Dial("tcp", target)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := socket.Write(rawframe.Preface()); err != nil {
				t.Fatal(err)
			}
			receive(t, up, "connection")
			if _, err := socket.Read(make([]byte, 1<<10)); err != nil { // else closing resets
				t.Fatal(err)
			}
			if name == "reset" {
				_ = socket.(*net.TCPConn).SetLinger(0)
			}
			_ = socket.Close()
			told := 1
			if name == "reset" {
				told = 2
			}
			for range told {
				if got := receive(t, why, "end"); !errors.Is(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
			}
		})
	}
}

// A name without a service would be called by nobody: gRPC and HTTP have no place for it.
func TestAFunctionWithoutAServiceIsRefusedAtBothEnds(t *testing.T) {
	s, c := join(t)
	for _, name := range []string{"div", "/div", ""} {
		err := codefirst.RegisterFunc(s, name, func(a, b int) int { return a / b })
		if err == nil {
			t.Fatalf("%q is served", name)
		}
		wantsText(t, err.Error(), "want /package.Service/Method")
		func() {
			defer func() {
				said, _ := recover().(string)
				wantsText(t, said, "want /package.Service/Method")
			}()
			codefirst.Func[func(a, b int) (int, error)](c, name)
		}()
		_, err = trunkcall.Unary[payload, payload](name).Call(soon(t), c, text(""))
		wantsText(t, wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent).Message, "want /package.Service/Method")
	}
}
