package trunkcall_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// What observers, gauges and logs tell.

// events gathers what an observer is told, in order.
type events struct {
	mu   sync.Mutex
	told []string
	up   chan *trunkcall.Connection
}

func newEvents() *events { return &events{up: make(chan *trunkcall.Connection, 100)} }

func (e *events) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, what)
}

// all puts first that the server listens: what it tells itself is in no order with
// what its connections tell.
func (e *events) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	told := slices.Clone(e.told)
	slices.SortStableFunc(told, func(a, b string) int {
		return cmp.Compare(strings.Index(b, "listen"), strings.Index(a, "listen"))
	})
	return strings.Join(told, ", ")
}

func (e *events) option() trunkcall.Option {
	return trunkcall.WithObserver(trunkcall.Observer{
		Listening:     func(net.Addr) { e.note("listening") },
		ListenFailed:  func(string, error) { e.note("listen failed") },
		ConnectFailed: func(string, error) { e.note("connect failed") },
		Connected: func(c *trunkcall.Connection) {
			e.note("connected")
			e.up <- c
		},
		ReadFailed:   func(*trunkcall.Connection, error) { e.note("read failed") },
		WriteFailed:  func(*trunkcall.Connection, error) { e.note("write failed") },
		Disconnected: func(*trunkcall.Connection, error) { e.note("disconnected") },
	})
}

func (e *events) wants(t testing.TB, want string) {
	t.Helper()
	eventually(t, "told: "+want, func() bool { return e.all() == want })
}

func TestObserversAreToldInOrder(t *testing.T) {
	// What was on its way to one that closes is lost, and that is a failure too. A second
	// connection may come before the first one's end is told.
	inOrder := strings.NewReplacer(", read failed", "", ", write failed", "", "connected, connected", "connected")
	for _, p := range places(t) {
		t.Run(p.name, func(t *testing.T) {
			atServer, atClient := newEvents(), newEvents()
			s, target := start(t, p.where, append(p.server, atServer.option()), standard()...)
			c := dial(t, target, append(p.client, atClient.option())...)
			near, far := receive(t, atClient.up, "connection"), receive(t, atServer.up, "connection")
			if near.Remote().String() != far.Local().String() || near.Secure() != strings.Contains(p.name, "TLS") {
				t.Error(near.Remote(), far.Local(), near.Secure())
			}
			register(t, c, echo.Handler(serveEcho))
			if _, err := echo.Call(soon(t), far, text("from Connected")); err != nil {
				t.Fatal(err)
			}
			far.Disconnect()
			c.Close()
			s.Close()
			eventually(t, "everything is told", func() bool {
				return strings.HasPrefix(inOrder.Replace(atServer.all()), "listening, connected, disconnected") &&
					strings.HasPrefix(inOrder.Replace(atClient.all()), "connected, disconnected")
			})
		})
	}
}

func TestObserversAreToldOfFailures(t *testing.T) {
	e := newEvents()
	s := newServer(t, e.option())
	defer s.Close()
	if _, err := s.Listen("256.0.0.1:0"); err == nil {
		t.Fatal("it listens")
	}
	e.wants(t, "listen failed")
	e = newEvents()
	c := newClient(t, "127.0.0.1:1", e.option())
	defer c.Close()
	if err := c.Connect(soon(t)); err == nil {
		t.Fatal("it connects")
	}
	e.wants(t, "connect failed")
}

// A reset is a failure of reading, the mere end of the stream is not.
func TestAResetIsAFailureOfReading(t *testing.T) {
	for how, want := range map[string]string{
		"reset": "listening, connected, read failed, disconnected",
		"end":   "listening, connected, disconnected",
	} {
		e := newEvents()
		_, target := serve(t, serverOptions{e.option()})
		socket, err := net.Dial("tcp", target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := socket.Write(rawframe.Preface()); err != nil {
			t.Fatal(err)
		}
		receive(t, e.up, "connection")
		if _, err := socket.Read(make([]byte, 1<<10)); err != nil { // else closing resets
			t.Fatal(err)
		}
		if how == "reset" {
			_ = socket.(*net.TCPConn).SetLinger(0)
		}
		_ = socket.Close()
		e.wants(t, want)
	}
}

func TestAnObserverThatPanicsOrBlocksHarmsNobody(t *testing.T) {
	var log logged
	leave := make(chan struct{})
	defer close(leave)
	_, target := serve(t, serverOptions{log.option(), trunkcall.WithObserver(trunkcall.Observer{
		Listening: func(net.Addr) { panic("in an observer") },
		Connected: func(*trunkcall.Connection) { <-leave },
	})}, standard()...)
	for range 3 {
		c := dial(t, target, trunkcall.WithObserver(trunkcall.Observer{Connected: func(*trunkcall.Connection) { <-leave }}))
		mustEcho(t, c, "lives")
		c.Close()
	}
	eventually(t, "the panic is logged", func() bool { return log.has("in an observer") })
}

func TestAnObserverMayCloseItsServer(t *testing.T) {
	closed := make(chan struct{})
	var s *trunkcall.Server
	s, target := serve(t, serverOptions{trunkcall.WithObserver(trunkcall.Observer{
		Connected: func(*trunkcall.Connection) {
			s.Close()
			close(closed)
		},
	})})
	c := newClient(t, target)
	defer c.Close()
	_ = c.Connect(soon(t))
	receive(t, closed, "end of Close")
}

func TestGaugesCountAndReturn(t *testing.T) {
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		n, g := newNotified(), newGate(t)
		if err := s.Register(notify.Handler(n.serve), g.handler()); err != nil {
			t.Fatal(err)
		}
		f := block.Start(soon(t), c, text(""))
		g.await(t)
		if err := notify.Send(soon(t), c, text("")); err != nil {
			t.Fatal(err)
		}
		receive(t, n.entered, "handler")
		stream, err := collect.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		want := trunkcall.Gauges{Connections: 1, CallsServed: 2, RunningHandlers: 3, OneWayHandlers: 1, PoolBytes: trunkcall.DefaultPool}
		eventually(t, fmt.Sprintf("%+v", want), func() bool { return s.Gauges() == want })
		if got := c.Gauges(); got != (trunkcall.Gauges{Connections: 1, CallsMade: 2, PoolBytes: trunkcall.DefaultPool}) {
			t.Errorf("%+v", got)
		}
		g.open()
		n.leave <- nil
		if _, err := f.Result(); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.CloseAndReceive(); err != nil {
			t.Fatal(err)
		}
		want = trunkcall.Gauges{Connections: 1, PoolBytes: trunkcall.DefaultPool}
		eventually(t, "idle", func() bool { return s.Gauges() == want && c.Gauges() == want })
		c.Close()
		eventually(t, "empty", func() bool { return s.Gauges() == trunkcall.Gauges{} && c.Gauges() == trunkcall.Gauges{} })
	})
}

// Messages that a handler does not consume are held, and their credit is withheld.
func TestGaugesShowWhatIsNotConsumed(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	method := trunkcall.ClientStream[payload, payload]("/test.Service/Slow")
	s, c := join(t, method.Handler(func(_ context.Context, in *trunkcall.Receiver[payload]) (*payload, error) {
		close(entered)
		<-leave
		for {
			if _, err := in.Receive(); err != nil {
				return text(""), nil
			}
		}
	}))
	stream, err := method.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&payload{Data: make([]byte, 100_000)}); err != nil {
		t.Fatal(err)
	}
	receive(t, entered, "handler")
	eventually(t, "the message is held", func() bool {
		g := s.Gauges()
		return g.HeldBytes >= 100_000 && g.WithheldCredit >= 30_000
	})
	close(leave)
	if _, err := stream.CloseAndReceive(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is held", func() bool { g := s.Gauges(); return g.HeldBytes == 0 && g.WithheldCredit == 0 })
	b, err := json.Marshal(s.Gauges())
	if err != nil || !strings.Contains(string(b), `"withheld_credit":0`) {
		t.Fatal(string(b), err)
	}
}

func TestWhatIsRefusedOrCutOffIsCountedAndLogged(t *testing.T) {
	var log logged
	g := newGate(t)
	s, target := serve(t, serverOptions{log.option(), trunkcall.WithRunningHandlers(1)}, g.handler())
	c := dial(t, target)
	_, err := echo.Call(soon(t), c, text(""))
	wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
	ctx, cancel := context.WithCancel(soon(t))
	f := block.Start(ctx, c, text(""))
	g.await(t)
	cancel()
	_, err = f.Result()
	wants(t, err, trunkcall.Canceled, trunkcall.DeliveryUnknown)
	eventually(t, "both are counted", func() bool { g := s.Gauges(); return g.Refused == 1 && g.CutOff == 1 })
	eventually(t, "both are logged", func() bool {
		return log.has(`"call refused"`) && log.has("/test.Service/Echo is not served by this server") &&
			log.has(`"call cut off"`) && log.has("method=/test.Service/Block")
	})
}

// A flood of refusals is not one of records: they are counted instead.
func TestALogIsNotFlooded(t *testing.T) {
	var log logged
	s, target := serve(t, serverOptions{log.option()})
	c := dial(t, target)
	for range 3000 {
		_, err := echo.Call(soon(t), c, text(""))
		wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
	}
	if n := s.Gauges().Refused; n != 3000 {
		t.Fatal(n)
	}
	s.Close() // writes what there is to write
	log.mu.Lock()
	defer log.mu.Unlock()
	if n := strings.Count(log.b.String(), "call refused"); n < 100 || n >= 2000 {
		t.Fatalf("%d records", n)
	}
}

// askingLog is a log whose handler does something for each record.
func askingLog(do func()) *slog.Logger { return slog.New(&asking{do: do}) }

type asking struct {
	slog.Handler
	do func()
}

func (a *asking) Enabled(context.Context, slog.Level) bool { return true }
func (a *asking) Handle(context.Context, slog.Record) error {
	a.do()
	return nil
}

// A log that calls back, or blocks, does no harm.
func TestALogMayUseItsServer(t *testing.T) {
	var s *trunkcall.Server
	ready, asked := make(chan struct{}), make(chan int, 1000)
	s, target := serve(t, serverOptions{trunkcall.WithLogger(askingLog(func() {
		<-ready
		asked <- s.Gauges().Connections
	}))})
	close(ready)
	c := dial(t, target)
	_, err := echo.Call(soon(t), c, text(""))
	if !errors.As(err, new(trunkcall.StatusError)) {
		t.Fatal(err)
	}
	receive(t, asked, "record")
}
