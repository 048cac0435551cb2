package trunkcall_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func TestAMethodThatNobodyServesIsRefused(t *testing.T) {
	_, c := join(t)
	err := c.Invoke(soon(t), unary("/test.Service/Nothing"), text(""), &payload{})
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.Refused).Message, "/test.Service/Nothing")
	s, err := trunkcall.OpenStream(soon(t), c, trunkcall.NewMethod("/test.Service/Nothing", trunkcall.KindBidiStream))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, s.Receive(&payload{}), trunkcall.Unimplemented, trunkcall.Refused)
}

func TestAMethodRegisteredLaterIsFoundOnTheSameConnection(t *testing.T) {
	s, c := join(t)
	_, err := block.Call(soon(t), c, text(""))
	wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
	if err := s.Register(block.Handler(serveEcho)); err != nil {
		t.Fatal(err)
	}
	if _, err := block.Call(soon(t), c, text("")); err != nil {
		t.Fatal(err)
	}
}

// rawCodec passes the bytes of a Payload as they are, under another number.
type rawCodec struct{ fail error }

func (rawCodec) Name() string  { return "raw" }
func (rawCodec) Number() uint8 { return 0 }
func (c rawCodec) Append(dst []byte, m any) ([]byte, error) {
	return append(dst, m.(*payload).Data...), c.fail
}

func (c rawCodec) Decode(b []byte, m any) error {
	m.(*payload).Data = append([]byte(nil), b...)
	return c.fail
}

func TestACodecThatTheServerDoesNotKnowIsRefused(t *testing.T) {
	_, c := join(t)
	_, err := echo.Call(soon(t), c, text("x"), trunkcall.CallCodec(renamed{trunkcall.Protobuf, 4, "capnp"}))
	wantsText(t, wants(t, err, trunkcall.Unimplemented, trunkcall.Refused).Message, "codec 4", "1 (protobuf)", "0 (raw)")
}

func TestAnotherCodecServesBothEnds(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithCodec(rawCodec{})}, standard()...)
	c := dial(t, target, trunkcall.WithCodec(rawCodec{}))
	mustEcho(t, c, "as it is")
	checkBidi(t, c)
}

func TestAClosedPortIsNotSent(t *testing.T) {
	l := rawframe.Listen(t)
	_ = l.Close()
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	_, err := echo.Call(soon(t), c, text(""))
	wantsText(t, wants(t, err, trunkcall.Unavailable, trunkcall.NotSent).Message, l.Target(), "refused")
	_, err = chat.Open(soon(t), c)
	wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
}

func TestACallOnItsWayWhenTheConnectionIsLostIsUnknown(t *testing.T) {
	for name, end := range map[string]func(*rawframe.Peer){
		"closed": func(p *rawframe.Peer) { _ = p.Close() },
		"reset":  (*rawframe.Peer).Reset,
		"an error of the protocol": func(p *rawframe.Peer) {
			p.Send(rawframe.Bytes(wire.Header{Type: 0x11}))
		},
		"the server's own GOAWAY": func(p *rawframe.Peer) {
			p.Send(rawframe.GoAway(wire.GoAwayInternalError, "out of luck"))
			_ = p.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := rawframe.Listen(t)
			c := newClient(t, l.Target())
			t.Cleanup(c.Close)
			ended := make(chan error, 1)
			go func() {
				_, err := echo.Call(soon(t), c, text("x"))
				ended <- err
			}()
			p := l.Next()
			p.Greet()
			p.Await(wire.Call)
			end(p)
			s := wants(t, receive(t, ended, "status"), trunkcall.Unavailable, trunkcall.DeliveryUnknown)
			wantsText(t, s.Message, l.Target())
		})
	}
}

// A call that the socket never took cannot have run. The client repeats such a call once by itself; here nobody
// listens any more.
func TestCallsThatTheSocketNeverTookAreNotSent(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	const calls = 200
	ended := make(chan error, calls)
	data := make([]byte, 60_000)
	call := func() {
		_, err := echo.Call(soon(t), c, &payload{Data: data})
		ended <- err
	}
	go call()
	p := l.Next()
	_ = p.Conn.(*net.TCPConn).SetReadBuffer(4096)
	p.Greet()
	p.Await(wire.Call)
	for range calls - 1 {
		go call()
	}
	// All calls have been opened once the client counts them.
	p.Await(wire.Call)
	_ = l.Close()
	p.Reset()
	classes := map[trunkcall.Delivery]int{}
	for range calls {
		err := receive(t, ended, "status")
		s := trunkcall.StatusOf(err)
		if s.Code != trunkcall.Unavailable || !s.Local {
			t.Fatal(err)
		}
		classes[s.Delivery]++
	}
	if classes[trunkcall.DeliveryUnknown] == 0 || classes[trunkcall.NotSent] == 0 || classes[trunkcall.Executed]+classes[trunkcall.Refused] > 0 {
		t.Fatalf("deliveries %v", classes)
	}
}

func TestARefusalWithARetryTimeIsRepeatedOnce(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	ended := make(chan error, 1)
	call := func() {
		_, err := echo.Call(soon(t), c, text("x"))
		ended <- err
	}
	go call()
	p := l.Next()
	p.Greet()
	refuse := func(retryAfter uint32) {
		f := p.Await(wire.Call)
		p.Send(rawframe.Failure(f.Stream, trunkcall.ResourceExhausted, wire.FlagRefused, retryAfter, "busy"))
	}
	refuse(1)
	f := p.Await(wire.Call)
	limits := wire.DefaultSettings()
	b, fault := wire.ParseBody(&f.Header, f.Body, false, &limits)
	if fault != nil {
		t.Fatal(fault)
	}
	p.Send(rawframe.Result(f.Stream, b.Payload))
	if err := receive(t, ended, "status"); err != nil {
		t.Fatal(err)
	}
	go call()
	refuse(1)
	refuse(1)
	wants(t, receive(t, ended, "status"), trunkcall.ResourceExhausted, trunkcall.Refused)
	go call()
	refuse(0) // pointless to repeat
	wants(t, receive(t, ended, "status"), trunkcall.ResourceExhausted, trunkcall.Refused)
	p.Send(rawframe.Ping(0, 7))
	for {
		f, err := p.Next()
		if err != nil || f.Type == wire.Call {
			t.Fatalf("%v, %v: a call was repeated once too often", f, err)
		}
		if f.Type == wire.Ping {
			break
		}
	}
}

// ledger counts the executions of calls by the id that their request carries.
type ledger struct{ runs [1 << 16]atomic.Int32 }

func (l *ledger) handler() trunkcall.Handler {
	return block.Handler(func(_ context.Context, in *payload) (*payload, error) {
		l.runs[binary.LittleEndian.Uint16(in.Data)].Add(1)
		return in, nil
	})
}

func ledgerRequest(id int) *payload {
	return &payload{Data: binary.LittleEndian.AppendUint16(nil, uint16(id))}
}

// judge checks a terminal status against what ran.
func (l *ledger) judge(id int, out *payload, err error) error {
	runs := l.runs[id].Load()
	s := trunkcall.StatusOf(err)
	switch {
	case err == nil && (runs != 1 || string(out.Data) != string(ledgerRequest(id).Data)):
		return fmt.Errorf("call %d: OK, %d executions, answer %x", id, runs, out.Data)
	case err != nil && (s.Delivery == trunkcall.NotSent || s.Delivery == trunkcall.Refused) && runs != 0:
		return fmt.Errorf("call %d: %v, and yet %d executions", id, s, runs)
	case runs > 1:
		return fmt.Errorf("call %d: %v, %d executions", id, err, runs)
	}
	return nil
}

// cutter stands between client and server and resets the connection when a
// number of bytes has passed in one direction.
type cutter struct {
	net.Listener
	target string
	after  atomic.Int64 // bytes until the cut, towards the server if positive
	done   sync.WaitGroup
}

func newCutter(t *testing.T, target string) *cutter {
	c := &cutter{Listener: rawframe.Listen(t).Listener, target: target}
	c.done.Add(1)
	go func() {
		defer c.done.Done()
		for {
			near, err := c.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", c.target)
			if err != nil {
				_ = near.Close()
				continue
			}
			up, down := int64(1)<<40, int64(1)<<40
			if n := c.after.Swap(0); n > 0 {
				up = n
			} else if n < 0 {
				down = -n
			}
			c.done.Add(2)
			cut := func() {
				for _, s := range []net.Conn{near, far} {
					_ = s.(*net.TCPConn).SetLinger(0)
					_ = s.Close()
				}
			}
			pass := func(to, from net.Conn, n int64) {
				defer c.done.Done()
				_, _ = io.CopyN(to, from, n)
				cut()
			}
			go pass(far, near, up)
			go pass(near, far, down)
		}
	}()
	t.Cleanup(func() { _ = c.Close(); c.done.Wait() })
	return c
}

func TestAResetAtEveryByteLeavesOneTrueStatusPerCall(t *testing.T) {
	l := &ledger{}
	_, target := serve(t, nil, l.handler())
	proxy := newCutter(t, target)
	const calls = 4
	id := 0
	for _, way := range []int64{1, -1} {
		for at := int64(1); at < 160; at += 3 {
			proxy.after.Store(at * way)
			c := newClient(t, proxy.Addr().String())
			faults := make(chan error, calls)
			for range calls {
				id++
				go func(id int) {
					out, err := block.Call(soon(t), c, ledgerRequest(id))
					faults <- l.judge(id, out, err)
				}(id)
			}
			for range calls {
				if err := receive(t, faults, "status"); err != nil {
					t.Errorf("cut after %d: %v", at*way, err)
				}
			}
			c.Close()
		}
	}
}
