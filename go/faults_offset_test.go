package trunkcall_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// recorded is what a client sends in a small session of every kind of frame.
func recorded(t *testing.T) []byte {
	p := func(s string) []byte { return echoed(t, s) }
	withMeta := func(b []byte) []byte {
		return append(wire.AppendMetadata(nil, trunkcall.Metadata{{Key: "k", Value: "v"}}, nil), b...)
	}
	cancelled := rawframe.ID(3, 1)
	stream := rawframe.ID(2, 1)
	return bytes.Join([][]byte{
		rawframe.Preface(),
		rawframe.Define(1, "/test.Service/Echo"), rawframe.Define(2, "/test.Service/Chat"), rawframe.Define(3, "/nobody.Serves/This"),
		rawframe.Bytes(rawframe.CallHeader(1, 1, 1, wire.FlagMsg|wire.FlagEnd|wire.FlagMeta), withMeta(p("one"))),
		rawframe.Bytes(rawframe.CallHeader(2, 1, 2, 0)),
		rawframe.Data(stream, wire.FlagMsg, p("two")),
		rawframe.Credit(stream, 1000),
		rawframe.Bytes(wire.Header{Type: 0x99}, []byte("skipped")),
		rawframe.Data(stream, wire.FlagMsg|wire.FlagEnd, p("three")),
		rawframe.Call(4, 1, 3, nil),
		rawframe.Bytes(rawframe.CallHeader(3, 1, 1, wire.FlagMsg), p("never whole")),
		rawframe.Cancel(cancelled, 0),
		rawframe.Ping(0, 42),
	}, nil)
}

// outcome is what a server said to a session, by stream and without times.
func outcome(t *testing.T, frames []rawframe.Frame) string {
	said := map[wire.StreamID]string{}
	for _, f := range frames {
		text := ""
		switch {
		case f.Type == wire.GoAway:
			continue // what the test itself brought about
		case f.Type == wire.Result && f.Code != 0:
			text = f.StatusText(t)
		default:
			text = string(f.Body)
		}
		said[f.Stream] += fmt.Sprintf("%v %d %#x %q; ", f.Type, f.Code, f.Flags, text)
	}
	return fmt.Sprint(said)
}

// drainedFrames asks for the orderly end and reads to it.
func drainedFrames(p *rawframe.Peer) []rawframe.Frame {
	p.Send(rawframe.GoAway(0, "done"), rawframe.GoAwayAck())
	return p.Rest()
}

func TestInputSplitAtEveryOffsetHasTheSameOutcome(t *testing.T) {
	_, target, _ := besieged(t)
	session := recorded(t)
	whole := rawframe.Dial(t, target)
	whole.Send(session)
	whole.ReadPreface()
	want := outcome(t, drainedFrames(whole))
	if len(want) < 200 {
		t.Fatalf("too little came back: %s", want)
	}
	for at := 1; at < len(session); at++ {
		p := rawframe.Dial(t, target)
		p.Send(session[:at])
		if at >= wire.PrefaceSize {
			p.ReadPreface() // the first part was read: the parts are apart
		} else {
			runtime.Gosched()
		}
		p.Send(session[at:])
		p.ReadPreface()
		if got := outcome(t, drainedFrames(p)); got != want {
			t.Fatalf("split at %d:\n%s\nwhole:\n%s", at, got, want)
		}
		_ = p.Close()
	}
	p := rawframe.Dial(t, target)
	for i := range session {
		p.Send(session[i : i+1])
	}
	p.ReadPreface()
	if got := outcome(t, drainedFrames(p)); got != want {
		t.Fatalf("byte by byte:\n%s\nwhole:\n%s", got, want)
	}
}

func TestInputCutOffAtEveryOffsetEndsCleanly(t *testing.T) {
	s, target, stop := besieged(t)
	session := recorded(t)
	for _, end := range []func(*rawframe.Peer){
		func(p *rawframe.Peer) { p.HalfClose(); p.Rest() },
		(*rawframe.Peer).Reset,
	} {
		for at := range session {
			p := rawframe.Dial(t, target)
			if at > 0 {
				p.Send(session[:at])
			}
			if at >= wire.PrefaceSize {
				p.ReadPreface()
				end(p)
			} else {
				_ = p.Close()
			}
			_ = p.Close()
		}
	}
	stop()
	eventually(t, "no handler runs", func() bool { return s.Running() == 0 })
	ctx, cancel := within(long)
	defer cancel()
	if err := s.Stop(ctx); err != nil { // no connection is left to wait for
		t.Fatal(err)
	}
}

// What a server answers, split and cut off at every offset, as our client
// takes it.
func TestAnswersSplitAtEveryOffsetHaveTheSameOutcome(t *testing.T) {
	answer := recordedAnswer(t)
	for at := 1; at < len(answer); at++ {
		if out, err := answered(t, answer[:at], answer[at:]); err != nil || string(out.Data) != "answer" {
			t.Fatalf("split at %d: %v, %v", at, out, err)
		}
	}
}

func TestAnswersCutOffAtEveryOffsetAreUnknown(t *testing.T) {
	answer := recordedAnswer(t)
	for at := range answer {
		_, err := answered(t, answer[:at])
		wants(t, err, trunkcall.Unavailable, trunkcall.DeliveryUnknown)
	}
}

func recordedAnswer(t *testing.T) []byte {
	id := rawframe.ID(1, 1)
	return bytes.Join([][]byte{
		rawframe.Preface(func(p *wire.Preface) { p.Settings.Calls = 5 }),
		rawframe.Ping(0, 1),
		rawframe.Bytes(wire.Header{Type: wire.Data, Stream: id, Flags: wire.FlagMeta}, wire.AppendMetadata(nil, trunkcall.Metadata{{Key: "k", Value: "v"}}, nil)),
		rawframe.Bytes(wire.Header{Type: 0xab}, []byte("skipped")),
		rawframe.Credit(id, 100),
		rawframe.Result(id, echoed(t, "answer")),
	}, nil)
}

// answered makes one call to a raw server that answers it with parts, one
// after the other, and then closes.
func answered(t *testing.T, parts ...[]byte) (*payload, error) {
	t.Helper()
	near, far := memoryListener(t)
	c := newClient(t, near)
	defer c.Close()
	type result struct {
		out *payload
		err error
	}
	ended := make(chan result, 1)
	ctx, cancel := within(long)
	defer cancel()
	go func() {
		out, err := echo.Call(ctx, c, text("x"))
		ended <- result{out, err}
	}()
	p := far()
	p.ReadPreface()
	p.Await(wire.Call)
	for i, part := range parts {
		if i > 0 {
			time.Sleep(50 * time.Microsecond) // lets the first part be read alone, nearly always
		}
		p.Send(part)
	}
	p.HalfClose()
	r := receive(t, ended, "status")
	return r.out, r.err
}
