package http2

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// heap is how much is in use once what is garbage was collected.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// pings waits until the server has taken in all that was sent.
func (p *peer) pings() {
	p.t.Helper()
	p.frames.WritePing(false, [8]byte{'h', 'e', 'r', 'e'})
	p.until("PING", func(f h2.Frame) bool {
		ping, ok := f.(*h2.PingFrame)
		return ok && ping.IsAck() && ping.Data == [8]byte{'h', 'e', 'r', 'e'}
	})
}

// holds waits until the server holds so many bytes.
func (p *peer) holds(bytes uint64) {
	p.t.Helper()
	held := p.server.Gauges().Held
	for deadline := time.Now().Add(long); held != bytes; held = p.server.Gauges().Held {
		if time.Now().After(deadline) {
			p.t.Fatalf("%d bytes are held, not %d", held, bytes)
		}
		time.Sleep(time.Millisecond)
	}
}

// What a stream that nobody takes makes the server hold is bounded by its window, however
// small the messages or frames are that fill it.
func TestSmallPiecesThatNobodyTakesCostLittle(t *testing.T) {
	const streams = 8
	for path, piece := range map[string][]byte{
		"/held":   bytes.Repeat([]byte{0, 0, 0, 0, 0}, 3000),                    // empty messages
		"/framed": bytes.Repeat([]byte{0, 0, 0, 0, 1, 'x'}, DefaultWindow/6/16), // to a method that takes one
		"/wait":   []byte("8 bytes."),                                           // a body in small frames
	} {
		t.Run(path, func(t *testing.T) {
			p := connect(t, Config{Streams: streams, KeepaliveInterval: -1, Budget: wire.NewBudget(1 << 30)}).greet()
			p.pings()
			before := heap()
			for i := range streams {
				p.open(uint32(2*i+1), false, path)
				for sent := 0; sent+len(piece) <= DefaultWindow; sent += len(piece) {
					p.frames.WriteData(uint32(2*i+1), false, piece)
				}
			}
			p.pings()
			if held := heap() - before; held > streams*24*DefaultWindow {
				t.Errorf("%d streams of %d bytes hold %d", streams, DefaultWindow, held)
			}
		})
	}
}

// They count against what all connections may hold.
func TestSmallMessagesThatNobodyTakesAreCounted(t *testing.T) {
	p := connect(t, Config{KeepaliveInterval: -1, Budget: wire.NewBudget(1 << 20)}).greet()
	p.open(1, false, "/held")
	for range DefaultWindow / 15000 {
		p.frames.WriteData(1, false, make([]byte, 15000))
	}
	p.until("the refusal", func(f h2.Frame) bool {
		m, ok := f.(*h2.MetaHeadersFrame)
		return ok && m.PseudoValue("status") == "500"
	})
	p.open(3, true, "/hello")
	p.untilHello(3)
}

// Answers that wait for credit are counted by the memory that they take up, until it is given back.
func TestAnswersThatWaitAreCountedByTheirMemory(t *testing.T) {
	p := connect(t, Config{KeepaliveInterval: -1, Budget: wire.NewBudget(16 << 20)}).greet(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 0})
	p.open(1, true, "/roomy")
	p.open(3, true, "/roomy")
	p.holds(2 << 20)
	p.frames.WriteWindowUpdate(1, 4) // of 5 bytes
	p.until("a piece", func(f h2.Frame) bool { return f.Header().Type == h2.FrameData })
	p.holds(2 << 20)
	p.frames.WriteWindowUpdate(1, 1)
	p.untilHello(1)
	p.holds(1 << 20)
	p.frames.WriteRSTStream(3, h2.ErrCodeCancel)
	p.pings()
	p.holds(0)
}
