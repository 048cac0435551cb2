package trunkcall_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// quick asks for a sign of life early and often; the raw peers of these tests
// allow it.
func quick() trunkcall.Option {
	return trunkcall.WithKeepalive(20*time.Millisecond, 50*time.Millisecond)
}

func often(p *wire.Preface) { p.Settings.MinPingInterval = 1 }

func TestAServerThatFallsSilentIsGivenUp(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target(), quick())
	t.Cleanup(c.Close)
	ended := make(chan error, 1)
	began := time.Now()
	go func() {
		_, err := echo.Call(soon(t), c, text("x"))
		ended <- err
	}()
	p := l.Next()
	p.Greet(often)
	s := wants(t, receive(t, ended, "status"), trunkcall.Unavailable, trunkcall.DeliveryUnknown)
	if took := time.Since(began); took > tardy {
		t.Errorf("it took %v", took)
	}
	wantsText(t, s.Message, l.Target(), "silent")
	p.ExpectViolation(wire.ErrSilence, wire.GoAwayPeerSilent)
}

// A peer that has not answered a PING is sent no other.
func TestAPeerThatAnswersPingsIsKept(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target(), trunkcall.WithKeepalive(20*time.Millisecond, long))
	t.Cleanup(c.Close)
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text("x"))
		ended <- err
	}()
	p := l.Next()
	defer p.Close()
	p.Greet(often)
	var call rawframe.Frame
	for answered := 0; answered < 20 || call.Type == 0; {
		f, err := p.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case wire.Call:
			call = f
		case wire.Ping:
			p.Send(rawframe.Ping(wire.FlagAck, f.Word))
			answered++
		}
	}
	p.Send(rawframe.Result(call.Stream, call.Message(t)))
	if err := receive(t, ended, "answer"); err != nil {
		t.Error(err)
	}
}

func TestAClientThatFallsSilentIsGivenUp(t *testing.T) {
	g := newGate(t)
	_, target := serve(t, serverOptions{quick()}, append(standard(), g.handler())...)
	p := rawframe.Dial(t, target)
	p.Send(rawframe.Preface(often), rawframe.Define(1, "/test.Service/Block"), rawframe.Call(1, 1, 1, nil)) // at once: it is not patient
	p.ReadPreface()
	handler := g.await(t)
	ends(t, handler)
	p.ExpectViolation(wire.ErrSilence, wire.GoAwayPeerSilent)
}

// A peer that reads nothing: what is written to it piles up in its socket and
// then in the sender, which is bounded, until the peer is given up.
func TestAClientThatStopsReadingIsGivenUp(t *testing.T) {
	method := trunkcall.ServerStream[payload, payload]("/test.Service/Endless")
	stopped := make(chan error, 1)
	_, target := serve(t, serverOptions{quick()}, method.Handler(
		func(_ context.Context, _ *payload, out *trunkcall.Sender[payload]) error {
			for {
				if err := out.Send(&payload{Data: make([]byte, 32<<10)}); err != nil {
					stopped <- err
					return err
				}
			}
		}))
	p := rawframe.Dial(t, target)
	_ = p.Conn.(*net.TCPConn).SetReadBuffer(4096)
	p.Send(rawframe.Preface(often, func(p *wire.Preface) { p.Settings.Window = wire.MaxWindow }),
		rawframe.Define(1, "/test.Service/Endless"), rawframe.Call(1, 1, 1, nil))
	p.ReadPreface()
	if s := trunkcall.StatusOf(receive(t, stopped, "end of the stream")); s.Code != trunkcall.Canceled {
		t.Fatal(s)
	}
}

// A client whose server neither reads nor answers.
func TestAServerThatStopsReadingIsGivenUp(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target(), quick())
	t.Cleanup(c.Close)
	ended := make(chan error, 64)
	for range cap(ended) {
		go func() {
			_, err := echo.Call(soon(t), c, &payload{Data: make([]byte, 1<<20)})
			ended <- err
		}()
	}
	p := l.Next()
	_ = p.Conn.(*net.TCPConn).SetReadBuffer(4096)
	p.Greet(often)
	_ = l.Close()
	for range cap(ended) {
		s := trunkcall.StatusOf(receive(t, ended, "status"))
		if s.Code != trunkcall.Unavailable {
			t.Fatal(s)
		}
	}
}

func TestKeepaliveCanBeTurnedOff(t *testing.T) {
	s, target := serve(t, serverOptions{trunkcall.WithKeepalive(0, 0)}, standard()...)
	c := dial(t, target, trunkcall.WithKeepalive(0, 0))
	mustEcho(t, c, "x")
	_ = s
}
