package trunkcall_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

func listenTCP(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serving runs Serve and returns what it will return.
func serving(s *trunkcall.Server, listeners ...net.Listener) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(listeners...) }()
	return ended
}

func TestServeReturnsOnceTheServerHasStoppedAndNotBefore(t *testing.T) {
	g := newGate(t)
	s := newServer(t)
	if err := s.Register(append(standard(), g.handler())...); err != nil {
		t.Fatal(err)
	}
	l := listenTCP(t)
	ended := serving(s, l)
	c := dial(t, l.Addr().String())
	answered := make(chan error, 1)
	go func() {
		_, err := block.Call(soon(t), c, text("running"))
		answered <- err
	}()
	g.await(t)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(soon(t)) }()
	<-s.Stopping()
	select {
	case err := <-ended:
		t.Fatal("Serve has returned although a call runs:", err)
	default:
	}
	g.open()
	if err := receive(t, answered, "the answer"); err != nil {
		t.Error(err)
	}
	if err := receive(t, stopped, "Stop"); err != nil {
		t.Error(err)
	}
	if err := receive(t, ended, "Serve"); !errors.Is(err, trunkcall.ErrServerStopped) {
		t.Error(err)
	}
}

func TestServeWithoutListenersServesWhatListenHasOpened(t *testing.T) {
	s, target := serve(t, nil, standard()...)
	ended := serving(s)
	mustEcho(t, dial(t, target), "served")
	s.Close()
	if err := receive(t, ended, "Serve"); !errors.Is(err, trunkcall.ErrServerStopped) {
		t.Error(err)
	}
	l := listenTCP(t)
	if err := s.Serve(l); !errors.Is(err, trunkcall.ErrServerStopped) {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error("the listener that cannot be served is not closed:", err)
	}
}

func TestServeSaysThatAListenerWasClosedByOthers(t *testing.T) {
	s, target := serve(t, nil, standard()...)
	l := listenTCP(t)
	ended := serving(s, l)
	mustEcho(t, dial(t, l.Addr().String()), "served")
	_ = l.Close()
	if err := receive(t, ended, "Serve"); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), l.Addr().String()) {
		t.Error(err)
	}
	mustEcho(t, dial(t, target), "the others are served on")
}

func TestAServerServesNewConnectionsUntilTheDrainDelayIsOver(t *testing.T) {
	s, target := serve(t, serverOptions{trunkcall.WithDrainDelay(time.Hour)}, standard()...)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(ctx) }()
	receive(t, s.Leaving(), "that the server leaves")
	mustEcho(t, dial(t, target), "native")
	if _, err := stockEcho(soon(t), stock(t, target), "/test.Service/Echo", text("gRPC")); err != nil {
		t.Error(err)
	}
	select {
	case <-s.Stopping():
		t.Error("the server takes no more calls, within the delay")
	case err := <-stopped:
		t.Error("Stop has returned within the delay:", err)
	default:
	}
	cancel()
	receive(t, s.Stopping(), "the end of the delay")
	if err := receive(t, stopped, "Stop"); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", target); err == nil {
		t.Error("the port is still open")
	}
}

func TestADrainDelayEndsByItself(t *testing.T) {
	s, _ := serve(t, serverOptions{trunkcall.WithDrainDelay(time.Millisecond)}, standard()...)
	if err := s.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	receive(t, s.Leaving(), "that the server leaves")
	receive(t, s.Stopping(), "that the server stops")
}

func TestCloseCutsTheDrainDelayShort(t *testing.T) {
	s, _ := serve(t, serverOptions{trunkcall.WithDrainDelay(time.Hour)}, standard()...)
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(context.Background()) }()
	receive(t, s.Leaving(), "that the server leaves")
	s.Close()
	if err := receive(t, stopped, "Stop"); err != nil {
		t.Error(err)
	}
}

func TestADrainDelayBelowNoneIsNamed(t *testing.T) {
	if _, err := trunkcall.NewServer(trunkcall.WithDrainDelay(-1)); err == nil || !strings.Contains(err.Error(), "drain delay is -1ns") {
		t.Error(err)
	}
}
