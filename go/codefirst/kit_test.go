package codefirst_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// long is more than any step of a test takes on a machine that has other things
// to do as well.
const long = 2 * time.Minute

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	t.Cleanup(cancel)
	return ctx
}

// receive waits for a value.
func receive[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(long):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}

// payload is a message of Protobuf.
type payload = wrapperspb.BytesValue

func text(s string) *payload { return wrapperspb.Bytes([]byte(s)) }

var echo = trunkcall.Unary[payload, payload]("/test.Service/Echo")

func serveEcho(_ context.Context, in *payload) (*payload, error) { return in, nil }

func unary(name string) *trunkcall.Method { return trunkcall.NewMethod(name, trunkcall.KindUnary) }

type (
	serverOptions = []trunkcall.ServerOption
	clientOptions = []trunkcall.ClientOption
)

// newClient is a client that is to be closed by the test.
func newClient(t testing.TB, target string, options ...trunkcall.ClientOption) *trunkcall.Client {
	t.Helper()
	c, err := trunkcall.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newServer is a server that is to be stopped or closed by the test.
func newServer(t testing.TB, options ...trunkcall.ServerOption) *trunkcall.Server {
	t.Helper()
	s, err := trunkcall.NewServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve serves handlers on a free port of the loopback.
func serve(t testing.TB, options serverOptions, handlers ...trunkcall.Handler) (*trunkcall.Server, string) {
	t.Helper()
	s := newServer(t, options...)
	if err := s.Register(handlers...); err != nil {
		t.Fatal(err)
	}
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, addr.String()
}

func dial(t testing.TB, target string, options ...trunkcall.ClientOption) *trunkcall.Client {
	t.Helper()
	c, err := trunkcall.Dial(soon(t), target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// join is serve and dial.
func join(t testing.TB, handlers ...trunkcall.Handler) (*trunkcall.Server, *trunkcall.Client) {
	t.Helper()
	s, target := serve(t, nil, handlers...)
	return s, dial(t, target)
}

// connected returns the server's connection to a client.
func connected(t testing.TB, s *trunkcall.Server) *trunkcall.Connection {
	t.Helper()
	all := s.Connections()
	if len(all) != 1 {
		t.Fatalf("%d connections", len(all))
	}
	return all[0]
}

// everyMethod publishes all methods of a value.
func everyMethod(value any) codefirst.ServiceOption {
	t := reflect.TypeOf(value)
	names := make([]string, t.NumMethod())
	for i := range names {
		names[i] = t.Method(i).Name
	}
	return codefirst.Methods(names...)
}

// wants fails unless err is a Status with the given code and delivery.
func wants(t testing.TB, err error, code trunkcall.Code, delivery trunkcall.Delivery) trunkcall.Status {
	t.Helper()
	if !errors.As(err, new(trunkcall.StatusError)) {
		t.Fatalf("got %v (%T), want a Status with %v", err, err, code)
	}
	s := trunkcall.StatusOf(err)
	if s.Code != code || s.Delivery != delivery {
		t.Fatalf("got %v with delivery %v, want %v, %v", s, s.Delivery, code, delivery)
	}
	return s
}

// wantsText adds what the message must say.
func wantsText(t testing.TB, message string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			t.Fatalf("%q does not say %q", message, part)
		}
	}
}

// eventually waits for a condition that another goroutine brings about and
// that nothing announces.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(long); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// logged is a log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.b.String(), part)
}

func (l *logged) option() trunkcall.Option {
	return trunkcall.WithLogger(slog.New(slog.NewTextHandler(l, nil)))
}
