package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/grpc"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

// serveNamed serves methods of all kinds that answer with its name.
func serveNamed(t *testing.T, name string, told chan<- string) string {
	t.Helper()
	s, target := serve(t, nil,
		echo.Handler(func(context.Context, *payload) (*payload, error) { return text(name), nil }),
		whereOneWay.Handler(func(context.Context, *payload) error {
			told <- name
			return nil
		}),
		whereDown.Handler(func(_ context.Context, _ *payload, s *trunkcall.Sender[payload]) error { return s.Send(text(name)) }),
		whereUp.Handler(func(_ context.Context, s *trunkcall.Receiver[payload]) (*payload, error) {
			for range s.All() {
			}
			return text(name), nil
		}),
		chat.Handler(func(_ context.Context, s *trunkcall.BidiStream[payload, payload]) error { return s.Send(text(name)) }))
	if err := codefirst.RegisterFunc(s, "where/am", func() string { return name }); err != nil {
		t.Fatal(err)
	}
	return target
}

var (
	whereOneWay = trunkcall.OneWay[payload]("/test.Where/OneWay")
	whereDown   = trunkcall.ServerStream[payload, payload]("/test.Where/Down")
	whereUp     = trunkcall.ClientStream[payload, payload]("/test.Where/Up")
)

// everyKind makes a call of each kind and in each manner, and returns who answered it.
func everyKind(told <-chan string) map[string]func(t *testing.T, c trunkcall.Caller) (string, error) {
	of := func(out *payload, err error) (string, error) {
		if err != nil {
			return "", err
		}
		return string(out.Data), nil
	}
	type outcome struct {
		by  string
		err error
	}
	return map[string]func(t *testing.T, c trunkcall.Caller) (string, error){
		"unary": func(t *testing.T, c trunkcall.Caller) (string, error) { return of(echo.Call(soon(t), c, text(""))) },
		"unary with its reply": func(t *testing.T, c trunkcall.Caller) (string, error) {
			out, err := echo.Do(soon(t), c, text(""))
			if err != nil {
				return "", err
			}
			return string(out.Message.Data), nil
		},
		"by name": func(t *testing.T, c trunkcall.Caller) (string, error) {
			out := &payload{}
			_, err := trunkcall.Do(soon(t), c, echo.Method(), text(""), out)
			return of(out, err)
		},
		"one-way": func(t *testing.T, c trunkcall.Caller) (string, error) {
			if err := whereOneWay.Send(soon(t), c, text("")); err != nil {
				return "", err
			}
			return receive(t, told, "the one-way call"), nil
		},
		"future": func(t *testing.T, c trunkcall.Caller) (string, error) {
			return of(echo.Start(soon(t), c, text("")).Result())
		},
		"callback": func(t *testing.T, c trunkcall.Caller) (string, error) {
			done := make(chan outcome, 1)
			echo.CallFunc(soon(t), c, text(""), func(out *payload, err error) {
				by, err := of(out, err)
				done <- outcome{by, err}
			})
			got := receive(t, done, "callback")
			return got.by, got.err
		},
		"callback by name": func(t *testing.T, c trunkcall.Caller) (string, error) {
			out, done := &payload{}, make(chan error, 1)
			trunkcall.InvokeFunc(soon(t), c, echo.Method(), text(""), out, func(err error) { done <- err })
			return of(out, receive(t, done, "callback"))
		},
		"server stream": func(t *testing.T, c trunkcall.Caller) (string, error) {
			s, err := whereDown.Call(soon(t), c, text(""))
			if err != nil {
				return "", err
			}
			return of(s.Receive())
		},
		"client stream": func(t *testing.T, c trunkcall.Caller) (string, error) {
			s, err := whereUp.Open(soon(t), c)
			if err != nil {
				return "", err
			}
			return of(s.CloseAndReceive())
		},
		"bidi stream": func(t *testing.T, c trunkcall.Caller) (string, error) {
			s, err := chat.Open(soon(t), c)
			if err != nil {
				return "", err
			}
			defer s.Close()
			return of(s.Receive())
		},
		"code-first": func(t *testing.T, c trunkcall.Caller) (string, error) {
			return codefirst.Func[func(context.Context) (string, error)](c, "where/am")(soon(t))
		},
		"code-first future": func(t *testing.T, c trunkcall.Caller) (string, error) {
			f := codefirst.Func[func(context.Context) *codefirst.Future[func() (string, error)]](c, "where/am")
			return f(soon(t)).Result()
		},
		"code-first callback": func(t *testing.T, c trunkcall.Caller) (string, error) {
			done := make(chan outcome, 1)
			codefirst.Func[func(context.Context, func(string, error))](c, "where/am")(soon(t), func(by string, err error) { done <- outcome{by, err} })
			got := receive(t, done, "callback")
			return got.by, got.err
		},
		"stub": func(t *testing.T, c trunkcall.Caller) (string, error) {
			out := &payload{}
			err := grpcstub.Conn(c).Invoke(soon(t), echo.Method().Name, text(""), out)
			return of(out, err)
		},
		"stub of a stream": func(t *testing.T, c trunkcall.Caller) (string, error) {
			s, err := grpcstub.Conn(c).NewStream(soon(t), &grpc.StreamDesc{ServerStreams: true}, whereDown.Method().Name)
			if err != nil {
				return "", err
			}
			out := &payload{}
			_ = s.SendMsg(text(""))
			_ = s.CloseSend()
			return of(out, s.RecvMsg(out))
		},
	}
}

// router is a Client that sends all of its calls elsewhere.
type router struct {
	*trunkcall.Client
	to trunkcall.Caller
}

func (r router) Invoke(ctx context.Context, m *trunkcall.Method, request, response any, options ...trunkcall.CallOption) error {
	return r.to.Invoke(ctx, m, request, response, options...)
}

func (r router) NewStream(ctx context.Context, m *trunkcall.Method, options ...trunkcall.CallOption) (trunkcall.Stream, error) {
	return r.to.NewStream(ctx, m, options...)
}

func TestACallerThatEmbedsAClientIsAskedForEveryCall(t *testing.T) {
	told := make(chan string, 1)
	first, second := dial(t, serveNamed(t, "first", told)), dial(t, serveNamed(t, "second", told))
	for how, calls := range everyKind(told) {
		t.Run(how, func(t *testing.T) {
			for _, c := range []trunkcall.Caller{first, router{second, first}, &router{second, first}} {
				if by, err := calls(t, c); by != "first" || err != nil {
					t.Errorf("%T: answered by %q, %v", c, by, err)
				}
			}
			if by, err := calls(t, router{first, second.Connections()[0]}); by != "second" || err != nil {
				t.Errorf("answered by %q, %v", by, err)
			}
		})
	}
}

// mock is a Caller without a connection.
type mock struct {
	err    error
	header trunkcall.Metadata
	stream trunkcall.Stream
}

func (m mock) Invoke(_ context.Context, _ *trunkcall.Method, _, response any, options ...trunkcall.CallOption) error {
	if out, ok := response.(*payload); ok {
		out.Data = []byte("mocked")
	}
	trunkcall.SetReply(options, trunkcall.Reply{Header: m.header})
	return m.err
}

func (m mock) NewStream(context.Context, *trunkcall.Method, ...trunkcall.CallOption) (trunkcall.Stream, error) {
	return m.stream, m.err
}

func TestWhatACallerOfTheUsersAnswersIsTheAnswer(t *testing.T) {
	c := mock{header: trunkcall.Metadata{{Key: "k", Value: "v"}}}
	out, err := echo.Do(soon(t), c, text(""))
	if err != nil || string(out.Message.Data) != "mocked" || out.Header.Get("k") != "v" {
		t.Fatal(out, err)
	}
	if out, err := echo.Call(soon(t), c, text("")); err != nil || string(out.Data) != "mocked" {
		t.Fatal(out, err)
	}
}

func TestAnErrorOfACallersThatIsNoStatusIsUnknown(t *testing.T) {
	for name, want := range map[string]struct {
		err      error
		code     trunkcall.Code
		delivery trunkcall.Delivery
		local    bool
	}{
		"no status":       {errors.New("it broke"), trunkcall.Unknown, trunkcall.DeliveryUnknown, true},
		"a deadline":      {context.DeadlineExceeded, trunkcall.DeadlineExceeded, trunkcall.DeliveryUnknown, true},
		"a cancellation":  {fmt.Errorf("stop: %w", context.Canceled), trunkcall.Canceled, trunkcall.DeliveryUnknown, true},
		"a status":        {trunkcall.Status{Code: trunkcall.Aborted, Delivery: trunkcall.Refused}.Err(), trunkcall.Aborted, trunkcall.Refused, false},
		"a status within": {fmt.Errorf("b: %w", trunkcall.Errorf(trunkcall.NotFound, "no")), trunkcall.NotFound, trunkcall.DeliveryUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			for how, calls := range everyKind(nil) {
				_, err := calls(t, mock{err: want.err})
				s := trunkcall.StatusOf(err)
				if s.Code != want.code || s.Delivery != want.delivery || s.Local != want.local {
					t.Errorf("%s: %+v", how, s)
				}
				if !errors.As(err, new(trunkcall.StatusError)) {
					t.Errorf("%s: %T is no StatusError", how, err)
				}
			}
		})
	}
}

func TestACallerThatPanicsFailsTheAsynchronousCall(t *testing.T) {
	_, err := echo.Start(soon(t), router{}, text("")).Result()
	wants(t, err, trunkcall.Internal, trunkcall.DeliveryUnknown)
}

// script is a stream of a mock's: messages, and then how it ended.
type script struct {
	messages []string
	end      error
}

func (s *script) Send(any) error   { return nil }
func (s *script) CloseSend() error { return nil }

func (s *script) Receive(message any) error {
	if len(s.messages) == 0 {
		return s.end
	}
	message.(*payload).Data = []byte(s.messages[0])
	s.messages = s.messages[1:]
	return nil
}

func TestAStreamOfACallersNeedsThreeMethods(t *testing.T) {
	ctx, cancel := context.WithCancel(soon(t))
	defer cancel()
	for name, end := range map[string]error{"ends well": io.EOF, "fails": errors.New("it broke")} {
		t.Run(name, func(t *testing.T) {
			s, err := chat.Open(ctx, mock{stream: &script{[]string{"a", "b"}, end}})
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for message, failure := range s.All() {
				if err = failure; err == nil {
					got += string(message.Data)
				}
			}
			if got != "ab" || len(s.Header())+len(s.Trailer()) > 0 || s.Peer().Remote != nil {
				t.Error(got, s.Header(), s.Trailer(), s.Peer())
			}
			if errors.Is(end, io.EOF) {
				if err != nil {
					t.Error(err)
				}
			} else if s := wants(t, err, trunkcall.Unknown, trunkcall.DeliveryUnknown); !s.Local {
				t.Error(s)
			}
			s.Close()
		})
	}
	_, err := chat.Open(ctx, mock{})
	wants(t, err, trunkcall.Internal, trunkcall.DeliveryUnknown)
}

// hiding is a Caller whose streams hide what is under them.
type hiding struct{ *trunkcall.Client }

func (h hiding) NewStream(ctx context.Context, m *trunkcall.Method, options ...trunkcall.CallOption) (trunkcall.Stream, error) {
	s, err := h.Client.NewStream(ctx, m, options...)
	return struct{ trunkcall.Stream }{s}, err
}

func TestAStreamThatACallerHidesIsClosedByItsContext(t *testing.T) {
	g := newGate(t)
	ended := make(chan error, 1)
	_, c := join(t, whereDown.Handler(func(ctx context.Context, _ *payload, _ *trunkcall.Sender[payload]) error {
		g.entered <- ctx
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}))
	s, err := whereDown.Call(soon(t), hiding{c}, text(""))
	if err != nil {
		t.Fatal(err)
	}
	receive(t, g.entered, "the handler")
	s.Close()
	if err := receive(t, ended, "the end of the handler's context"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAMethodIsCalledAsItsKindSays(t *testing.T) {
	_, c := join(t)
	_, err := c.NewStream(soon(t), echo.Method())
	wantsText(t, wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent).Message, "/test.Service/Echo is unary", "Invoke")
	err = c.Invoke(soon(t), chat.Method(), text(""), &payload{})
	wantsText(t, wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent).Message, "/test.Service/Chat is bidi-streaming", "NewStream")
	wants(t, c.Invoke(soon(t), nil, text(""), &payload{}), trunkcall.InvalidArgument, trunkcall.NotSent)
}

// A Method that nobody looked up, or that was changed, is what its name says.
func TestAMethodIsItsName(t *testing.T) {
	_, c := join(t)
	wrong := *whereDown.Method()
	wrong.Name, wrong.Kind = "/test.Service/Echo", trunkcall.KindUnary
	for _, m := range []*trunkcall.Method{{Name: "/test.Service/Echo"}, {Name: "test.Service/Echo"}, &wrong} {
		for range 2 {
			out := &payload{}
			if err := c.Invoke(soon(t), m, text("x"), out); err != nil || string(out.Data) != "x" {
				t.Error(m, out, err)
			}
		}
	}
}
