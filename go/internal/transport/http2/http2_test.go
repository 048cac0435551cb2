package http2

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"

	"context"
)

func TestFloodsEndTheConnectionWithEnhanceYourCalm(t *testing.T) {
	for name, frame := range map[string]func(p *peer, i int) error{
		"PING":          func(p *peer, _ int) error { return p.frames.WritePing(false, [8]byte{}) },
		"SETTINGS":      func(p *peer, _ int) error { return p.frames.WriteSettings() },
		"PRIORITY":      func(p *peer, _ int) error { return p.frames.WritePriority(1, h2.PriorityParam{Weight: 1}) },
		"unknown":       func(p *peer, _ int) error { return p.frames.WriteRawFrame(0x77, 0, 1, nil) },
		"WINDOW_UPDATE": func(p *peer, _ int) error { return p.frames.WriteWindowUpdate(0, 1) },
		"rapid reset": func(p *peer, i int) error {
			p.open(uint32(2*i+1), true, "/wait")
			return p.frames.WriteRSTStream(uint32(2*i+1), h2.ErrCodeCancel)
		},
		"rapid reset with DATA": func(p *peer, i int) error {
			p.open(uint32(2*i+1), false, "/hello")
			p.frames.WriteData(uint32(2*i+1), false, []byte("some"))
			return p.frames.WriteRSTStream(uint32(2*i+1), h2.ErrCodeCancel)
		},
		"resets that the server is made to send": func(p *peer, i int) error {
			p.open(uint32(2*i+1), false, "/hello")
			p.frames.WriteData(uint32(2*i+1), false, []byte("some"))
			return p.frames.WriteRawFrame(h2.FrameWindowUpdate, 0, uint32(2*i+1), make([]byte, 4))
		},
		"empty DATA": func(p *peer, i int) error {
			if i == 0 {
				p.open(1, false, "/hello")
			}
			return p.frames.WriteData(1, false, nil)
		},
		"malformed requests": func(p *peer, i int) error {
			p.open(uint32(2*i+1), true, "/hello", "connection", "close")
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, Config{Spare: 200, KeepaliveInterval: -1}).greet()
			go func() {
				for i := 0; i < 100_000 && frame(p, i) == nil; i++ {
				}
			}()
			p.untilGoAway(h2.ErrCodeEnhanceYourCalm)
		})
	}
}

func TestWhatIsEarnedIsNotSavedUpForAFlood(t *testing.T) {
	p := connect(t, Config{Spare: 200, KeepaliveInterval: -1}).greet()
	for i := range 200 { // each earns 8
		p.open(uint32(2*i+1), true, "/hello")
		p.untilHello(uint32(2*i + 1))
	}
	for range 1100 {
		p.frames.WriteSettings()
	}
	p.untilGoAway(h2.ErrCodeEnhanceYourCalm)
}

func TestAHeaderBlockInVeryManyFramesEndsTheConnection(t *testing.T) {
	p := connect(t, Config{}).greet()
	p.frames.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: p.fields("POST", "/hello")})
	for range maxContinuations + 1 {
		p.frames.WriteContinuation(1, false, nil)
	}
	p.untilGoAway(h2.ErrCodeEnhanceYourCalm)
}

func TestAHeaderListAboveTheLimitIsRefusedAndTheConnectionLives(t *testing.T) {
	p := connect(t, Config{HeaderBytes: 1000}).greet()
	p.open(1, true, "/hello", "k", string(bytes.Repeat([]byte("x"), 1000)))
	p.until("431", func(f h2.Frame) bool {
		m, ok := f.(*h2.MetaHeadersFrame)
		return ok && m.PseudoValue("status") == "431"
	})
	p.open(3, true, "/hello")
	p.untilHello(3)
	p.open(5, true, "/hello", "k", string(bytes.Repeat([]byte("x"), 10000)))
	p.untilGoAway(h2.ErrCodeEnhanceYourCalm)
}

func TestHandlersOfResetStreamsStillCount(t *testing.T) {
	p := connect(t, Config{Streams: 2}).greet()
	h := p.server
	p.open(1, true, "/wait")
	p.open(3, true, "/wait")
	p.open(5, true, "/hello")
	p.untilReset(5, h2.ErrCodeRefusedStream)
	if n := h.Running(); n != 2 {
		t.Fatal(n)
	}
}

func TestWhatIsSilentTooLongIsClosed(t *testing.T) {
	short := 30 * time.Millisecond
	t.Run("no preface", func(t *testing.T) {
		connect(t, Config{Handshake: short}).untilGoAway(h2.ErrCodeEnhanceYourCalm)
	})
	t.Run("a header block that never ends", func(t *testing.T) {
		p := connect(t, Config{Handshake: short}).greet()
		p.frames.WriteHeaders(h2.HeadersFrameParam{StreamID: 1, BlockFragment: p.fields("POST", "/hello")})
		p.untilGoAway(h2.ErrCodeEnhanceYourCalm)
	})
	t.Run("no answer to PING", func(t *testing.T) {
		p := connect(t, Config{KeepaliveInterval: short, KeepaliveTimeout: short, Handshake: time.Hour}).greet()
		var err error
		for err == nil {
			_, err = p.frames.ReadFrame()
		}
		if cause := p.server.Err(); !errors.Is(cause, errSilent) {
			t.Errorf("ended with %v, %v", err, cause)
		}
	})
	t.Run("a request that never ends", func(t *testing.T) {
		p := connect(t, Config{Stall: short}).greet()
		p.open(1, false, "/hello")
		p.until("the answer", func(f h2.Frame) bool {
			m, ok := f.(*h2.MetaHeadersFrame)
			return ok && m.PseudoValue("status") == "500"
		})
	})
	t.Run("a window that is never opened", func(t *testing.T) {
		p := connect(t, Config{Stall: short}).greet(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 0})
		p.open(1, true, "/large")
		p.untilReset(1, h2.ErrCodeEnhanceYourCalm)
		p.frames.WriteSettings(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 100})
		p.open(3, true, "/hello")
		p.untilHello(3)
	})
	t.Run("idle", func(t *testing.T) {
		p := connect(t, Config{Idle: short, Handshake: time.Hour}).greet()
		p.untilGoAway(h2.ErrCodeNo)
	})
}

func TestWindowsAreHeldToTheByte(t *testing.T) {
	p := connect(t, Config{}).greet(h2.Setting{ID: h2.SettingInitialWindowSize, Val: 3})
	p.open(1, true, "/hello")
	got := 0
	p.until("DATA", func(f h2.Frame) bool {
		d, ok := f.(*h2.DataFrame)
		if ok {
			got += len(d.Data())
		}
		return ok
	})
	if got != 3 {
		t.Fatal(got)
	}
	p.frames.WriteWindowUpdate(1, 2)
	p.untilHello(1)
	p.open(3, false, "/wait")
	over := make([]byte, 16384)
	for range DefaultWindow/len(over) + 1 {
		p.frames.WriteData(3, false, over)
	}
	p.untilReset(3, h2.ErrCodeFlowControl)
}

// What is taken after a wait returns credit, be there less to write than before it.
func TestCreditForAPieceThatWasWaitedForIsWritten(t *testing.T) {
	p := connect(t, Config{KeepaliveInterval: -1, Window: 100}).greet()
	p.open(1, false, "/piece")
	p.await("the handler waits", func() bool {
		s := p.server.streams[1]
		return s != nil && s.receiver.waiting
	})
	p.frames.WriteData(1, false, make([]byte, 100))
	p.until("credit", func(f h2.Frame) bool {
		w, ok := f.(*h2.WindowUpdateFrame)
		return ok && w.StreamID == 1 && w.Increment == 100
	})
}

// await waits until something holds under the server's lock.
func (p *peer) await(what string, holds func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(long); ; time.Sleep(time.Millisecond) {
		p.server.mu.Lock()
		held := holds()
		p.server.mu.Unlock()
		if held {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s", what)
		}
	}
}

func TestAMessagesLengthIsJudgedByItsPrefix(t *testing.T) {
	p := connect(t, Config{}).greet()
	p.open(1, false, "/framed")
	p.frames.WriteData(1, false, []byte{0, 0, 0, 3, 233})
	p.until("the answer", func(f h2.Frame) bool {
		m, ok := f.(*h2.MetaHeadersFrame)
		return ok && m.PseudoValue("status") == "500"
	})
}

func TestDrainingAnswersWhatThePeerSentBeforeItKnew(t *testing.T) {
	p := connect(t, Config{}).greet()
	p.open(1, true, "/hello")
	p.untilHello(1)
	p.server.Drain("stopping")
	p.open(3, true, "/hello") // it has not read yet
	p.until("PING", func(f h2.Frame) bool {
		ping, ok := f.(*h2.PingFrame)
		if ok {
			p.frames.WritePing(true, ping.Data)
		}
		return ok
	})
	answered := false
	p.until("the last GOAWAY", func(f h2.Frame) bool {
		if m, ok := f.(*h2.MetaHeadersFrame); ok && m.StreamID == 3 && m.StreamEnded() {
			answered = true
		}
		g, ok := f.(*h2.GoAwayFrame)
		return ok && g.LastStreamID == 3
	})
	for !answered {
		p.untilHello(3)
		answered = true
	}
	if _, err := p.frames.ReadFrame(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func TestInputMeansTheSameHoweverItIsCut(t *testing.T) {
	var all bytes.Buffer
	p := connect(t, Config{})
	p.frames = h2.NewFramer(&all, p.conn)
	all.WriteString(h2.ClientPreface)
	p.frames.WriteSettings()
	p.open(1, false, "/hello", "k", "v")
	p.frames.WriteDataPadded(1, false, []byte("some"), make([]byte, 3))
	p.frames.WriteData(1, true, []byte("more"))
	p.frames.WritePing(false, [8]byte{1})
	go func() {
		for _, b := range all.Bytes() {
			p.conn.Write([]byte{b})
		}
	}()
	p.frames.ReadMetaHeaders = nil
	p.until("PING", func(f h2.Frame) bool { ping, ok := f.(*h2.PingFrame); return ok && ping.IsAck() })
}

func TestTheStandardLibrarysClientIsServed(t *testing.T) {
	p := connect(t, Config{})
	transport := &http.Transport{Protocols: &http.Protocols{}, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return p.conn, nil
	}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport}
	for _, path := range []string{"/hello", "/large"} {
		answer, err := client.Post("http://h"+path, "text/plain", bytes.NewReader(make([]byte, 3<<20)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != 200 || answer.Trailer.Get("x-end") != "yes" || len(body) < 5 {
			t.Fatal(err, answer, len(body))
		}
	}
}

func TestAPeerThatWaitsForLeaveToSendGetsIt(t *testing.T) {
	for name, path := range map[string]string{"a request that is taken whole": "/hello", "one that its handler reads": "/piece"} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, Config{KeepaliveInterval: -1}).greet()
			p.open(1, false, path, "expect", "100-continue")
			p.until("100", func(f h2.Frame) bool {
				m, ok := f.(*h2.MetaHeadersFrame)
				if ok && (m.PseudoValue("status") != "100" || m.StreamEnded()) {
					t.Fatal(m)
				}
				return ok
			})
			if path == "/piece" {
				return
			}
			p.frames.WriteData(1, true, []byte("body"))
			p.untilHello(1)
		})
	}
	t.Run("one that is refused", func(t *testing.T) {
		p := connect(t, Config{KeepaliveInterval: -1, HeaderBytes: 1000}).greet()
		p.open(1, false, "/hello", "expect", "100-continue", "k", string(make([]byte, 1000)))
		p.until("431", func(f h2.Frame) bool {
			m, ok := f.(*h2.MetaHeadersFrame)
			if ok && m.PseudoValue("status") != "431" {
				t.Fatal(m)
			}
			return ok
		})
	})
	t.Run("one that does not wait", func(t *testing.T) {
		p := connect(t, Config{KeepaliveInterval: -1}).greet()
		p.open(1, true, "/hello", "expect", "100-continue")
		p.until("the answer", func(f h2.Frame) bool {
			m, ok := f.(*h2.MetaHeadersFrame)
			if ok && m.PseudoValue("status") != "200" {
				t.Fatal(m)
			}
			return ok
		})
	})
}

func TestAPeerThatTookItsTimeBeforehandHasLessLeft(t *testing.T) {
	p := connect(t, Config{Handshake: long, KeepaliveInterval: -1}, func(c *Conn) { c.GreetBy(time.Now()) })
	p.until("GOAWAY", func(f h2.Frame) bool {
		g, ok := f.(*h2.GoAwayFrame)
		return ok && g.ErrCode == h2.ErrCodeEnhanceYourCalm
	})
}
