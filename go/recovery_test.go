package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// What a client remembers of the connections that ended (client.md 9.2).

// answeredAt has a call answered over the next connection to l, which the client opens by itself.
func answeredAt(t *testing.T, c *trunkcall.Client, l *rawframe.Listener) *rawframe.Peer {
	t.Helper()
	p := l.Next()
	p.Greet()
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady())
		ended <- err
	}()
	f := p.Await(wire.Call)
	p.Send(rawframe.Result(f.Stream, f.Message(t)))
	if err := receive(t, ended, "answer"); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFailuresAreForgottenOnceAConnectionWasGood(t *testing.T) {
	t.Parallel() // it waits more than it computes
	goAway := func(reason uint32) func(*trunkcall.Client, *rawframe.Peer) {
		return func(_ *trunkcall.Client, p *rawframe.Peer) {
			p.Send(rawframe.GoAway(reason, "bye"), rawframe.GoAwayAck())
		}
	}
	for name, one := range map[string]struct {
		steady bool
		end    func(*trunkcall.Client, *rawframe.Peer)
		left   int
	}{
		"drained":                    {false, goAway(wire.GoAwayDraining), 0},
		"drained after a while":      {true, goAway(wire.GoAwayDraining), 0},
		"lost after a while":         {true, func(_ *trunkcall.Client, p *rawframe.Peer) { p.Reset() }, 0},
		"lost at once":               {false, func(_ *trunkcall.Client, p *rawframe.Peer) { p.Reset() }, 3},
		"turned away after a while":  {true, goAway(wire.GoAwayProtocolError), 1},
		"disconnected after a while": {true, func(c *trunkcall.Client, _ *rawframe.Peer) { c.Connections()[0].Disconnect() }, 0},
		"disconnected at once":       {false, func(c *trunkcall.Client, _ *rawframe.Peer) { c.Connections()[0].Disconnect() }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := rawframe.Listen(t)
			c := newClient(t, l.Target())
			t.Cleanup(c.Close)
			go func() { _ = c.Connect(soon(t)) }()
			for range 2 {
				answeredAt(t, c, l).Reset() // and the client opens the next one
			}
			p := answeredAt(t, c, l)
			if n := trunkcall.Failures(c); n != 2 {
				t.Fatalf("%d failures", n)
			}
			if one.steady {
				trunkcall.CountAsSteady(c)
			}
			one.end(c, p)
			answeredAt(t, c, l)
			if n := trunkcall.Failures(c); n != one.left {
				t.Errorf("%d failures are left, not %d", n, one.left)
			}
		})
	}
}

// A call that finds a connection lost may be there before the connection itself says so.
func TestALossThatACallFindsIsALossLikeAnother(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c := dial(t, target)
	trunkcall.CountAsSteady(c)
	if state, failures := trunkcall.RefuseCall(c, io.EOF); state != trunkcall.StateConnecting || failures != 0 {
		t.Errorf("after a loss: %v, %d failures", state, failures)
	}
	mustEcho(t, c, "x")
	if state, failures := trunkcall.RefuseCall(c, io.EOF); state != trunkcall.StateFailing || failures != 1 {
		t.Errorf("after one at once: %v, %d failures", state, failures)
	}
}

// The next call, which uses the memory of one that ended, has nothing of what that one waited for.
func TestACallThatFailsFastWaitsForTheAttemptUnderWay(t *testing.T) {
	const calls = 8
	_, target := serve(t, nil, standard()...)
	var times atomic.Int32
	entered := []chan struct{}{make(chan struct{}), make(chan struct{})}
	fail, release := make(chan struct{}), make(chan struct{})
	c := newClient(t, target, trunkcall.WithDialer(func(ctx context.Context, _ trunkcall.Endpoint, address string) (net.Conn, error) {
		switch times.Add(1) {
		case 1:
			close(entered[0])
			<-fail
			return nil, errors.New("not yet")
		case 2:
			close(entered[1])
			<-release
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", address)
	}))
	t.Cleanup(c.Close)
	connected := make(chan error, 1)
	go func() { connected <- c.Connect(soon(t)) }()
	receive(t, entered[0], "first attempt")
	go func() {
		for trunkcall.Waiting(c) < 2 && c.Endpoints()[0].State == trunkcall.StateConnecting {
			time.Sleep(time.Millisecond)
		}
		close(fail)
	}()
	_, err := echo.Call(soon(t), c, text("x"))
	wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
	wants(t, receive(t, connected, "end of connecting"), trunkcall.Unavailable, trunkcall.NotSent)
	receive(t, entered[1], "second attempt")
	ended := make(chan error, calls)
	for range calls {
		go func() {
			_, err := echo.Call(soon(t), c, text("x"))
			ended <- err
		}()
	}
	eventually(t, "all wait", func() bool { return trunkcall.Waiting(c) == calls || len(ended) > 0 })
	close(release)
	for range calls {
		if err := receive(t, ended, "answer"); err != nil {
			t.Error(err)
		}
	}
}
