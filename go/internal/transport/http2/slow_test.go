package http2

import (
	"bytes"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// drips does something little again and again, and gives up, and the connection with it, after
// far more time than any limit below allows.
func (p *peer) drips(little func(n int) error) {
	done := make(chan struct{})
	p.t.Cleanup(func() {
		_ = p.conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		for n := range 1000 {
			if little(n) != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		_ = p.conn.Close()
	}()
}

const soonOver = 100 * time.Millisecond

func TestAHeaderBlockHasToBeWholeInTimeHoweverItComes(t *testing.T) {
	long := []string{"k", string(bytes.Repeat([]byte("~!"), 1000))}
	for name, first := range map[string]func(p *peer, frames *h2.Framer) error{
		"HEADERS": func(p *peer, frames *h2.Framer) error {
			return frames.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: p.fields("POST", "/hello", long...), EndHeaders: true})
		},
		"CONTINUATION": func(p *peer, frames *h2.Framer) error {
			block := p.fields("POST", "/hello", long...)
			p.frames.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:1]})
			return frames.WriteContinuation(1, true, block[1:])
		},
		"another frame": func(_ *peer, frames *h2.Framer) error { return frames.WriteRawFrame(0x77, 0, 1, make([]byte, 2000)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, Config{Handshake: soonOver, KeepaliveInterval: -1}).greet()
			p.pings()
			var whole bytes.Buffer
			first(p, h2.NewFramer(&whole, nil))
			p.drips(func(int) error {
				_, err := p.conn.Write(whole.Next(1))
				return err
			})
			p.untilGoAway(h2.ErrCodeEnhanceYourCalm)
		})
	}
}

func TestAMessageHasToBeWholeInTimeHoweverItComes(t *testing.T) {
	for name, path := range map[string]string{"a message": "/framed", "one of several": "/held", "a body": "/hello"} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, Config{Stall: soonOver, KeepaliveInterval: -1}).greet()
			p.open(1, false, path)
			p.drips(func(n int) error {
				if n == 0 && path != "/hello" {
					return p.frames.WriteData(1, false, []byte{0, 0, 0, 3, 232})
				}
				return p.frames.WriteData(1, false, []byte{'x'})
			})
			p.until("the answer", func(f h2.Frame) bool {
				m, ok := f.(*h2.MetaHeadersFrame)
				if ok && m.PseudoValue("status") != "500" {
					t.Errorf("got %v", m.Fields)
				}
				return ok
			})
		})
	}
	t.Run("an answer", func(t *testing.T) {
		p := connect(t, Config{Stall: soonOver, KeepaliveInterval: -1}).greet(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 1})
		p.open(1, true, "/large")
		p.drips(func(int) error { return p.frames.WriteWindowUpdate(1, 1) })
		p.untilReset(1, h2.ErrCodeEnhanceYourCalm)
	})
	t.Run("a DATA frame", func(t *testing.T) {
		p := connect(t, Config{Stall: soonOver, KeepaliveInterval: -1}).greet()
		p.open(1, false, "/wait")
		var whole bytes.Buffer
		h2.NewFramer(&whole, nil).WriteData(1, false, make([]byte, 2000))
		p.drips(func(int) error {
			_, err := p.conn.Write(whole.Next(1))
			return err
		})
		p.untilGoAway(h2.ErrCodeEnhanceYourCalm)
	})
}

// later has the connection look at its streams as it would so much later.
func (p *peer) later(by time.Duration) {
	p.server.mu.Lock()
	p.server.checkStreamsLocked(roles.Clock() + int64(by))
	p.server.mu.Unlock()
}

func TestWhatHasPassedOfAMessageGivesItTime(t *testing.T) {
	p := connect(t, Config{KeepaliveInterval: -1}).greet()
	p.open(1, false, "/hello")
	for range 40 { // ten times 64 KiB
		p.frames.WriteData(1, false, make([]byte, maxFrame))
	}
	p.pings()
	p.later(69 * time.Second)
	p.frames.WriteData(1, true, nil)
	p.untilHello(1)
	p.open(3, false, "/hello")
	for range 40 {
		p.frames.WriteData(3, false, make([]byte, maxFrame))
	}
	p.pings()
	p.later(71 * time.Second)
	p.until("the answer", func(f h2.Frame) bool {
		m, ok := f.(*h2.MetaHeadersFrame)
		return ok && m.PseudoValue("status") == "500"
	})
}

// The caller cannot go on with a message while the handler takes none.
func TestTimeWithoutCreditDoesNotCount(t *testing.T) {
	p := connect(t, Config{KeepaliveInterval: -1, Window: 2000}).greet()
	p.open(1, false, "/held")
	message := append([]byte{0, 0, 0, 3, 232}, make([]byte, 1000)...)
	p.frames.WriteData(1, false, message)
	p.frames.WriteData(1, false, message[:2000-len(message)])
	p.pings()
	p.later(time.Hour)
	p.noReset()
	p.await("it goes on", func() bool { return p.server.streams[1] != nil && !p.server.streams[1].stopped })
	p.server.mu.Lock()
	s := p.server.streams[1]
	s.conn.takeMessageLocked(s)
	s.conn.roles.FlushUnlock()
	p.later(59 * time.Second)
	p.await("it goes on", func() bool { return p.server.streams[1] != nil && !p.server.streams[1].stopped })
	p.later(61 * time.Second)
	p.await("it is over", func() bool { return p.server.streams[1] == nil })
}
