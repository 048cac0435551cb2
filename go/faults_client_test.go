package trunkcall_test

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// A client under attack by a raw server.

var memoryNames int

// memoryListener is a raw server in memory: its target, and the next
// connection.
func memoryListener(t *testing.T) (target string, next func() *rawframe.Peer) {
	t.Helper()
	memoryNames++
	name := fmt.Sprintf("%s-%d", t.Name(), memoryNames)
	l, err := transport.ListenMemory(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return "mem:" + name, func() *rawframe.Peer {
		accepted := make(chan net.Conn, 1)
		go func() {
			s, err := l.Accept()
			if err == nil {
				accepted <- s
			}
		}()
		p := rawframe.New(t, receive(t, accepted, "connection"))
		_ = l.Close() // a second attempt finds nobody
		return p
	}
}

// served makes one unary call to a raw server, which has greeted and does as
// it likes with the call.
func served(t *testing.T, serve func(p *rawframe.Peer, id wire.StreamID)) (*trunkcall.Client, error) {
	t.Helper()
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text("x"))
		ended <- err
	}()
	p := l.Next()
	t.Cleanup(func() { _ = p.Close() })
	p.Greet()
	serve(p, p.Await(wire.Call).Stream)
	return c, receive(t, ended, "status")
}

func TestAServersViolationsEndTheConnection(t *testing.T) {
	id := rawframe.ID(1, 1)
	for name, fault := range map[string]struct {
		bytes []byte
		class wire.Class
	}{
		"unknown type":                 {rawframe.Bytes(wire.Header{Type: 0x42}), wire.ErrType},
		"length that lies":             {rawframe.Lie(wire.Header{Type: wire.Result, Stream: id}, 1<<20), wire.ErrLength},
		"unknown flag":                 {rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id, Flags: 0x80}), wire.ErrFlags},
		"RESULT OK and refused":        {rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id, Flags: wire.FlagRefused}), wire.ErrFlags},
		"status 17":                    {rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id, Code: 17}), wire.ErrValue},
		"RESULT of another slot":       {rawframe.Result(rawframe.ID(7, 1), nil), wire.ErrState},
		"RESULT of another generation": {rawframe.Result(rawframe.ID(1, 2), nil), wire.ErrState},
		"RESULT twice":                 {append(rawframe.Result(id, nil), rawframe.Result(id, nil)...), wire.ErrState},
		"a call of the caller's":       {rawframe.Call(1, 1, 0, []byte("\x01x")), wire.ErrDirection},
		"CREDIT that overflows":        {rawframe.Credit(id, 1<<31-1), wire.ErrCredit},
		"refused after DATA": {append(rawframe.Data(id, wire.FlagMsg, nil),
			rawframe.Failure(id, trunkcall.Aborted, wire.FlagRefused, 0, "")...), wire.ErrState},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := served(t, func(p *rawframe.Peer, _ wire.StreamID) {
				p.Send(fault.bytes)
				p.ExpectViolation(fault.class, wire.GoAwayProtocolError)
			})
			if name != "RESULT twice" {
				s := wants(t, err, trunkcall.Unavailable, trunkcall.DeliveryUnknown)
				wantsText(t, s.Message, string(fault.class))
			}
		})
	}
}

func TestAnswersThatTheClientCannotTake(t *testing.T) {
	whole := wire.FlagMsg
	for name, fault := range map[string]struct {
		answer   func(p *rawframe.Peer, id wire.StreamID)
		code     trunkcall.Code
		delivery trunkcall.Delivery
	}{
		"no message": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id}))
		}, trunkcall.Unimplemented, trunkcall.Executed},
		"two messages": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Data(id, wire.FlagMsg, nil), rawframe.Data(id, wire.FlagMsg, nil))
			if f := p.Await(wire.Cancel); f.Word != 2 {
				t.Errorf("CANCEL with reason %d", f.Word)
			}
			p.Send(rawframe.Failure(id, trunkcall.Canceled, wire.FlagCut, 0, ""))
		}, trunkcall.Unimplemented, trunkcall.DeliveryUnknown},
		"one before and one in RESULT": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Data(id, wire.FlagMsg, nil), rawframe.Result(id, nil))
		}, trunkcall.Unimplemented, trunkcall.Executed},
		"bad metadata": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id, Flags: whole | wire.FlagMeta, Codec: 1}, []byte{3, 0, 1, 'K'}))
		}, trunkcall.Internal, trunkcall.Executed},
		"another codec": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id, Flags: whole, Codec: 2}))
		}, trunkcall.Internal, trunkcall.Executed},
		"a compression never offered": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id, Flags: whole, Codec: 1, Compression: 2}))
		}, trunkcall.Internal, trunkcall.Executed},
		"not Protobuf": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Result(id, []byte{0xff}))
		}, trunkcall.Internal, trunkcall.Executed},
		"a status that cannot be read": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id, Code: 5}, []byte{200}))
		}, trunkcall.NotFound, trunkcall.Executed},
		"a total above the limit": {func(p *rawframe.Peer, id wire.StreamID) {
			body := append(wire.AppendVarint(nil, 1<<31), make([]byte, wire.MinPiece)...)
			p.Send(rawframe.Data(id, wire.FlagMsg|wire.FlagMore, body[:wire.MinPiece]))
			p.Await(wire.Cancel)
			p.Send(rawframe.Failure(id, trunkcall.Canceled, wire.FlagCut, 0, ""))
		}, trunkcall.ResourceExhausted, trunkcall.DeliveryUnknown},
		"cut by the server": {func(p *rawframe.Peer, id wire.StreamID) {
			p.Send(rawframe.Failure(id, trunkcall.ResourceExhausted, wire.FlagCut, 0, "a limit"))
		}, trunkcall.ResourceExhausted, trunkcall.DeliveryUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			var peer *rawframe.Peer
			c, err := served(t, func(p *rawframe.Peer, id wire.StreamID) { peer = p; fault.answer(p, id) })
			wants(t, err, fault.code, fault.delivery)
			wantsText(t, trunkcall.StatusOf(err).Message)
			ended := make(chan error, 1)
			go func() {
				_, err := echo.Call(soon(t), c, text("x"))
				ended <- err
			}()
			f := peer.Await(wire.Call) // on the same connection
			peer.Send(rawframe.Result(f.Stream, f.Message(t)))
			if err := receive(t, ended, "answer"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAServerThatOverspendsAStreamLosesItsConnection(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	opened := make(chan *trunkcall.BidiStream[payload, payload], 1)
	go func() {
		s, err := chat.Open(soon(t), c)
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}()
	p := l.Next()
	defer p.Close()
	p.Greet()
	p.Send(overspend(p.Await(wire.Call).Stream))
	p.ExpectViolation(wire.ErrCredit, wire.GoAwayProtocolError)
	s := receive(t, opened, "stream")
	var err error
	for err == nil {
		_, err = s.Receive()
	}
	if trunkcall.StatusOf(err).Code != trunkcall.Unavailable && trunkcall.StatusOf(err).Code != trunkcall.Internal {
		t.Fatal(err) // INTERNAL: the messages that came in time are no Protobuf
	}
}

func TestAnAnswerWithTheHeaderOnlyWaitsForItsMessage(t *testing.T) {
	_, err := served(t, func(p *rawframe.Peer, id wire.StreamID) {
		for i := range byte(3) {
			p.Send(rawframe.Data(id, 0, nil), rawframe.Credit(id, 1), rawframe.Ping(0, uint32(i)))
			p.Await(wire.Ping)
		}
		p.Send(rawframe.Data(id, wire.FlagMsg, nil), rawframe.Bytes(wire.Header{Type: wire.Result, Stream: id}))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAServerMayNotCallAClientThatServesNothing(t *testing.T) {
	_, err := served(t, func(p *rawframe.Peer, id wire.StreamID) {
		h := rawframe.CallHeader(1, 1, 0, wire.FlagMsg|wire.FlagEnd)
		h.Stream = wire.MakeStreamID(1, 1, true)
		p.Send(rawframe.Bytes(h, []byte("\x02/x")))
		f, code, _ := p.AwaitResult(h.Stream)
		if code != trunkcall.Unimplemented || f.Flags&wire.FlagRefused == 0 {
			t.Errorf("%v, flags %#x", code, f.Flags)
		}
		p.Send(rawframe.Result(id, nil))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Late frames for calls that were given up do no harm.
func TestFramesForAbandonedCallsAreIgnored(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(ctx, c, text("x"))
		ended <- err
	}()
	p := l.Next()
	defer p.Close()
	p.Greet()
	id := p.Await(wire.Call).Stream
	cancel()
	wants(t, receive(t, ended, "status"), trunkcall.Canceled, trunkcall.DeliveryUnknown)
	p.Await(wire.Cancel)
	p.Send(rawframe.Data(id, wire.FlagMsg, echoed(t, "late")), rawframe.Credit(id, 5), rawframe.Result(id, echoed(t, "late")), rawframe.Ping(0, 1))
	p.Await(wire.Ping)
	go func() {
		out, err := echo.Call(soon(t), c, text("y"))
		if err == nil && string(out.Data) != "y" {
			err = fmt.Errorf("got %q, another call's answer", out.Data)
		}
		ended <- err
	}()
	f := p.Await(wire.Call)
	if f.Stream.Slot() != id.Slot() || f.Stream.Generation() != id.Generation()+1 {
		t.Errorf("stream %x after %x", f.Stream, id)
	}
	p.Send(rawframe.Result(f.Stream, f.Message(t)))
	if err := receive(t, ended, "answer"); err != nil {
		t.Fatal(err)
	}
}

// CANCEL says 2 of an answer that cannot be taken only (protocol.md 7.7, status.md 1.3).
func TestAMessageThatCannotBeSentGivesItsCallUp(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	opened := make(chan *trunkcall.BidiStream[payload, payload], 1)
	go func() {
		s, err := chat.Open(soon(t), c)
		if err != nil {
			t.Error(err)
		}
		opened <- s
	}()
	p := l.Next()
	p.ReadPreface()
	p.Await(wire.Call)
	p.Send(rawframe.Preface(func(p *wire.Preface) { p.Settings.Message = 100_000 }), rawframe.Ping(0, 7))
	p.Await(wire.Ping) // now the client knows the limit
	s := receive(t, opened, "stream")
	wants(t, s.Send(&payload{Data: make([]byte, 100_000)}), trunkcall.ResourceExhausted, trunkcall.DeliveryUnknown)
	if f := p.Await(wire.Cancel); f.Word != 0 {
		t.Errorf("CANCEL gives the reason %d", f.Word)
	}
}
