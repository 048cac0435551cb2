package trunkcall_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// Calls of protocols without a listener, as those of a message broker are.

// brokenExchange panics in one of its methods.
type brokenExchange struct {
	lineExchange
	receive, send bool
}

func (x *brokenExchange) Receive(ctx context.Context) ([]byte, bool, error) {
	if x.receive {
		panic("receive")
	}
	return x.lineExchange.Receive(ctx)
}

func (x *brokenExchange) Send(ctx context.Context, m []byte, c bool) error {
	if x.send {
		panic("send")
	}
	return x.lineExchange.Send(ctx, m, c)
}

// broker is a protocol without a listener, as short as can be.
type broker struct {
	lines
	stop func(context.Context) error
}

func (b *broker) Recognize() {} // so that it is no PortProtocol

func (b *broker) Stop(ctx context.Context) error {
	if b.stop == nil {
		return nil
	}
	return b.stop(ctx)
}

func (b *broker) call(ctx context.Context, x trunkcall.Exchange, method string) error {
	a, err := b.calls.Accept(&trunkcall.IncomingCall{Method: method, Codec: "json"})
	if err != nil {
		return err
	}
	_, err = a.Serve(ctx, x)
	return err
}

func exchanging(text string) *lineExchange {
	return &lineExchange{call: &asked{Messages: messagesOf(text)}, out: json.NewEncoder(io.Discard)}
}

func startBroker(t testing.TB, handlers ...trunkcall.Handler) (*trunkcall.Server, *broker) {
	t.Helper()
	return startBrokerWith(t, nil, handlers...)
}

func startBrokerWith(t testing.TB, options serverOptions, handlers ...trunkcall.Handler) (*trunkcall.Server, *broker) {
	t.Helper()
	b := &broker{}
	s := newServer(t, append(options, trunkcall.WithProtocol(b), trunkcall.WithLogger(slog.New(slog.DiscardHandler)))...)
	t.Cleanup(s.Close)
	if err := s.Register(append(standard(), handlers...)...); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s, b
}

func TestABrokerNeedsNoListener(t *testing.T) {
	peers := make(chan trunkcall.Peer, 1)
	s, b := startBroker(t, trunkcall.Unary[payload, payload]("/test.Service/Who").Handler(func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		if call.Connection() != nil {
			return nil, errors.New("there is a connection")
		}
		peers <- call.Peer()
		return in, nil
	}))
	if err := b.call(t.Context(), exchanging("x"), "/test.Service/Who"); err != nil {
		t.Fatal(err)
	}
	if p := <-peers; p.Remote.String() != "lines" {
		t.Error(p)
	}
	if err := s.Stop(soon(t)); err != nil {
		t.Error(err)
	}
	wants(t, b.call(t.Context(), exchanging("x"), "/test.Service/Echo"), trunkcall.Unavailable, trunkcall.Refused)
}

func TestAPanicOfAnExchangeEndsItsCall(t *testing.T) {
	s, b := startBroker(t)
	for _, x := range []*brokenExchange{{receive: true}, {send: true}} {
		for _, method := range []string{"Echo", "Produce", "Chat"} {
			x.lineExchange = *exchanging("x")
			if err := b.call(t.Context(), x, "/test.Service/"+method); err == nil {
				t.Error(method, "succeeds")
			}
		}
	}
	if s.Running() != 0 {
		t.Error(s.Running())
	}
}

// waiting is an exchange whose request never comes.
type waiting struct{ lineExchange }

func (w *waiting) Receive(ctx context.Context) ([]byte, bool, error) {
	<-ctx.Done()
	return nil, false, ctx.Err()
}

func TestACallOfABrokerEndsWithItsContext(t *testing.T) {
	g := newGate(t)
	s, b := startBroker(t, g.handler())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.call(ctx, &waiting{}, "/test.Service/Echo") }()
	eventually(t, "the call is accepted", func() bool { return s.Running() == 1 })
	cancel()
	wants(t, receive(t, ended, "the end"), trunkcall.Canceled, trunkcall.Refused)

	ctx, cancel = context.WithCancel(t.Context())
	go func() { ended <- b.call(ctx, exchanging("x"), "/test.Service/Block") }()
	handler := g.await(t)
	cancel()
	wants(t, receive(t, ended, "the end"), trunkcall.Canceled, trunkcall.DeliveryUnknown)
	ends(t, handler)
	if s.Running() != 1 {
		t.Error("a handler that runs on does not count")
	}
}

func TestStopWaitsForTheCallsOfABrokerUntilTheGraceIsOver(t *testing.T) {
	t.Parallel() // it waits more than it computes
	g := newGate(t)
	s, b := startBroker(t, g.handler())
	hangs := make(chan struct{})
	b.stop = func(ctx context.Context) error {
		<-hangs // whatever it is told
		return nil
	}
	defer close(hangs)
	ended := make(chan error, 1)
	go func() { ended <- b.call(context.Background(), exchanging("x"), "/test.Service/Block") }()
	g.await(t)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	<-s.Stopping()
	select {
	case err := <-stopped:
		t.Error("Stop does not wait:", err)
	default:
	}
	cancel()
	wants(t, receive(t, ended, "the end of the call"), trunkcall.Unavailable, trunkcall.DeliveryUnknown)
	if err := receive(t, stopped, "Stop"); err == nil {
		t.Error("nothing is said of the call that was cut off")
	}
}

func TestACallThatIsAcceptedAndNeverServedHoldsUpNothing(t *testing.T) {
	s, b := startBroker(t)
	a, err := b.calls.Accept(&trunkcall.IncomingCall{Method: "/test.Service/Echo", Codec: "json"})
	if err != nil {
		t.Fatal(err)
	}
	dropped, err := b.calls.Accept(&trunkcall.IncomingCall{Method: "/test.Service/Echo", Codec: "json"})
	if err != nil {
		t.Fatal(err)
	}
	dropped.Drop()
	if s.Running() != 1 {
		t.Error(s.Running())
	}
	s.Close()
	if s.Running() != 0 {
		t.Error(s.Running())
	}
	_, err = a.Serve(t.Context(), exchanging("x"))
	wants(t, err, trunkcall.Unavailable, trunkcall.Refused)
}

// manyBytes is a request of so many bytes, which JSON has a third more for.
func manyBytes(n int) *lineExchange {
	return &lineExchange{call: &asked{Messages: messagesOf(strings.Repeat("x", n))}, out: json.NewEncoder(io.Discard)}
}

// What a protocol has received counts as what the server holds for its peers, until the call is over.
func TestMessagesOfAProtocolCountAgainstTheMemory(t *testing.T) {
	g := newGate(t)
	s, b := startBrokerWith(t, serverOptions{trunkcall.WithMemory(1 << 20)}, g.handler())
	status := wants(t, b.call(t.Context(), manyBytes(1200<<10), "/test.Service/Echo"), trunkcall.ResourceExhausted, trunkcall.Refused)
	wantsText(t, status.Message, "memory 1048576")
	if status.RetryAfter <= 0 {
		t.Error("it may not come again")
	}
	ended := make(chan error, 2)
	block := func(n int) {
		ended <- b.call(context.Background(), manyBytes(n), "/test.Service/Block")
	}
	go block(700 << 10)
	g.await(t)
	if n := trunkcall.Held(s); n < 700<<10 {
		t.Errorf("%d bytes are held", n)
	}
	go block(200 << 10) // the first, which holds more, makes room for it
	wantsText(t, wants(t, receive(t, ended, "end"), trunkcall.ResourceExhausted, trunkcall.DeliveryUnknown).Message, "memory 1048576")
	g.await(t)
	g.open()
	if err := receive(t, ended, "end"); err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is held", func() bool { return trunkcall.Held(s) == 0 })
	if err := b.call(t.Context(), manyBytes(600<<10), "/test.Service/Echo"); err != nil {
		t.Error(err)
	}
}

// pausing is an exchange whose second message never comes.
type pausing struct {
	lineExchange
	first chan struct{} // closed once the first has been taken
}

func (p *pausing) Receive(ctx context.Context) ([]byte, bool, error) {
	if len(p.call.Messages) > 0 {
		return p.lineExchange.Receive(ctx)
	}
	close(p.first)
	<-ctx.Done()
	return nil, false, ctx.Err()
}

// A call that makes room for another before its handler has begun may come again soon, over each protocol alike.
func TestACallOfAProtocolThatMakesRoomMayComeAgain(t *testing.T) {
	s, b := startBrokerWith(t, serverOptions{trunkcall.WithMemory(1 << 20)})
	x := &pausing{*manyBytes(600 << 10), make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- b.call(context.Background(), x, "/test.Service/Echo") }()
	receive(t, x.first, "first message")
	if err := b.call(t.Context(), manyBytes(300<<10), "/test.Service/Echo"); err != nil {
		t.Error(err)
	}
	status := wants(t, receive(t, ended, "end"), trunkcall.ResourceExhausted, trunkcall.Refused)
	wantsText(t, status.Message, "memory 1048576")
	if status.RetryAfter <= 0 {
		t.Error("it may not come again")
	}
	eventually(t, "nothing is held", func() bool { return trunkcall.Held(s) == 0 })
}

// Of a method that takes one request a second message counts beside the first, which is still held.
func TestASecondMessageOfAProtocolCountsBesideTheFirst(t *testing.T) {
	_, b := startBrokerWith(t, serverOptions{trunkcall.WithMemory(1 << 20)})
	half := strings.Repeat("x", 500<<10) // of which JSON makes a third more
	x := &lineExchange{call: &asked{Messages: messagesOf(half, half)}, out: json.NewEncoder(io.Discard)}
	status := wants(t, b.call(t.Context(), x, "/test.Service/Echo"), trunkcall.ResourceExhausted, trunkcall.Refused)
	wantsText(t, status.Message, "memory 1048576")
}
