package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Servers restarted in turn under one client's load: no call fails, none runs
// twice (protocol.md 11.4, 11.5).

// streams is load of short streams, each of which has to echo all it is sent.
type streams struct {
	load
	begun atomic.Int64
}

func (l *streams) handlers() []trunkcall.Handler {
	return []trunkcall.Handler{l.load.handler(), chat.Handler(func(ctx context.Context, s *trunkcall.BidiStream[payload, payload]) error {
		l.begun.Add(1)
		return serveChat(ctx, s)
	})}
}

// stream runs one and reports what went wrong.
func stream(t *testing.T, c *trunkcall.Client, messages int) error {
	s, err := chat.Open(soon(t), c)
	if err != nil {
		return err
	}
	for i := range messages {
		if err := s.Send(numbered(i, 100)); err != nil {
			_, err = s.Receive()
			return err
		}
		m, err := s.Receive()
		if err != nil {
			return err
		}
		if number(m) != i {
			return errors.New("another message came back")
		}
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	if _, err := s.Receive(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func TestRollingRestartsLoseNoCall(t *testing.T) {
	for name, options := range map[string]clientOptions{
		"one connection":  nil,
		"two connections": {trunkcall.WithConnections(2)},
	} {
		t.Run(name, func(t *testing.T) {
			var l streams
			servers, where := make([]*trunkcall.Server, 2), make([]string, 2)
			for i := range servers {
				servers[i], where[i] = serve(t, nil, l.handlers()...)
			}
			c := dial(t, where[0]+","+where[1], options...)
			l.begin(t, c)
			var opened atomic.Int64
			for range 3 {
				l.all.Go(func() {
					for {
						select {
						case <-l.stop:
							return
						default:
						}
						opened.Add(1)
						if err := stream(t, c, 20); err != nil {
							t.Errorf("a stream failed: %v", err)
							return
						}
					}
				})
			}
			for round := range 10 {
				i := round % 2
				l.progress(t)
				if err := servers[i].Stop(soon(t)); err != nil {
					t.Error(err)
				}
				servers[i], _ = start(t, where[i], nil, l.handlers()...)
			}
			l.progress(t)
			l.end()
			if begun := l.begun.Load(); begun != opened.Load() {
				t.Errorf("%d streams ran %d times", opened.Load(), begun)
			}
		})
	}
}

// An endless stream holds the end up until the grace period is over, and then
// ends with a status of its own; a finite one beside it finishes.
func TestAnEndlessStreamEndsWithTheGracePeriod(t *testing.T) {
	endless := trunkcall.ServerStream[payload, payload]("/test.Service/Endless")
	stopped := make(chan error, 1)
	s, target := serve(t, nil, append(standard(), endless.Handler(
		func(ctx context.Context, in *payload, out *trunkcall.Sender[payload]) error {
			for {
				if err := out.Send(in); err != nil {
					stopped <- ctx.Err()
					return err
				}
			}
		}))...)
	c := dial(t, target)
	never, err := endless.Call(soon(t), c, text("again"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := never.Receive(); err != nil {
		t.Fatal(err)
	}
	finite, err := chat.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, expire := context.WithCancel(context.Background())
	defer expire()
	ended := make(chan error, 1)
	go func() { ended <- s.Stop(deadlined{ctx}) }()
	for range 100 {
		if err := finite.Send(text("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := finite.Receive(); err != nil {
			t.Fatal(err)
		}
		if _, err := never.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	_ = finite.CloseSend()
	if _, err := finite.Receive(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	expire()
	for err == nil {
		_, err = never.Receive()
	}
	status := wants(t, err, trunkcall.Unavailable, trunkcall.DeliveryUnknown)
	wantsText(t, status.Message, "the server has been stopped")
	if err := receive(t, ended, "end of Stop"); err == nil {
		t.Fatal("Stop does not say that a call was cut off")
	}
	if receive(t, stopped, "end of the handler") == nil {
		t.Fatal("the handler's context goes on")
	}
}

// deadlined is a context that says it has a deadline, though the test decides
// when that has come.
type deadlined struct{ context.Context } //nolint:containedctx // it is one

func (deadlined) Deadline() (time.Time, bool) { return time.Now().Add(time.Hour), true }
