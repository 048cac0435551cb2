package http2

import (
	"testing"

	h2 "golang.org/x/net/http2"
)

// refused opens a request that is answered before it has ended, and reads the answer.
func (p *peer) refused(id uint32) {
	p.t.Helper()
	p.open(id, false, "/framed")
	p.frames.WriteData(id, false, []byte{0, 0, 0xff, 0xff, 0xff}) // a message above the limit
	p.until("the refusal", func(f h2.Frame) bool {
		m, ok := f.(*h2.MetaHeadersFrame)
		return ok && m.StreamID == id && m.StreamEnded()
	})
}

// noReset waits until the server has taken in all that was sent, and fails if a stream was
// reset meanwhile.
func (p *peer) noReset() {
	p.t.Helper()
	p.frames.WritePing(false, [8]byte{'n', 'o', 'n', 'e'})
	p.until("PING", func(f h2.Frame) bool {
		if r, ok := f.(*h2.RSTStreamFrame); ok {
			p.t.Fatalf("stream %d was reset: %v", r.StreamID, r.ErrCode)
		}
		ping, ok := f.(*h2.PingFrame)
		return ok && ping.IsAck()
	})
}

// Clients that are about to send the rest of a request take a reset for a failure, though
// the answer is there.
func TestRequestMayEndBehindItsAnswer(t *testing.T) {
	for name, end := range map[string]func(p *peer){
		"DATA":       func(p *peer) { p.frames.WriteData(1, true, []byte("rest")) },
		"empty DATA": func(p *peer) { p.frames.WriteData(1, true, nil) },
		"RST_STREAM": func(p *peer) { p.frames.WriteRSTStream(1, h2.ErrCodeCancel) },
		"trailers": func(p *peer) {
			p.block.Reset()
			p.frames.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, Config{KeepaliveInterval: -1}).greet()
			p.refused(1)
			p.frames.WriteData(1, false, []byte("more"))
			end(p)
			p.noReset()
			if n := lates(p.server); n != 0 {
				t.Errorf("%d streams are waited for", n)
			}
		})
	}
}

// curl 7.88 takes a reset for a failure also while it waits for leave to send.
func TestRequestMayEndBehindItsAnswerWithItsWindowUsedUp(t *testing.T) {
	p := connect(t, Config{KeepaliveInterval: -1, Window: prefixSize}).greet()
	p.refused(1)
	p.noReset()
	p.frames.WriteData(1, true, nil)
	p.noReset()
	if n := lates(p.server); n != 0 {
		t.Errorf("%d streams are waited for", n)
	}
}

func TestRequestThatEndsWithWhatIsRefusedIsNotLate(t *testing.T) {
	p := connect(t, Config{KeepaliveInterval: -1}).greet()
	p.open(1, false, "/framed")
	p.frames.WriteData(1, true, []byte{0, 0, 0xff, 0xff, 0xff})
	p.untilHello(1)
	p.noReset()
	if n := lates(p.server); n != 0 {
		t.Errorf("%d streams are waited for", n)
	}
}

func lates(c *Conn) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.late)
}

func TestRequestThatGoesOnBehindItsAnswerIsReset(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		p := connect(t, Config{KeepaliveInterval: -1}).greet()
		p.refused(1)
		p.untilReset(1, h2.ErrCodeNo)
	})
	t.Run("beyond its window", func(t *testing.T) {
		p := connect(t, Config{KeepaliveInterval: -1, Window: prefixSize + 4}).greet()
		p.refused(1)
		p.frames.WriteData(1, false, []byte("four"))
		p.noReset()
		p.frames.WriteData(1, false, []byte("5"))
		p.untilReset(1, h2.ErrCodeFlowControl)
	})
	t.Run("as the oldest of many", func(t *testing.T) {
		p := connect(t, Config{KeepaliveInterval: -1}).greet()
		for n := range uint32(maxLate) {
			p.refused(2*n + 1)
		}
		p.noReset()
		p.refused(2*maxLate + 1)
		p.untilReset(1, h2.ErrCodeNo)
	})
}
