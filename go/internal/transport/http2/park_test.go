//go:build linux

package http2

import (
	"errors"
	"io"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

// parks connects, and sends PINGs until nobody reads the connection.
func parks(t *testing.T) *peer {
	t.Helper()
	p := connect(t, Config{KeepaliveInterval: time.Millisecond}).greet()
	p.open(1, true, "/hello")
	p.untilHello(1)
	p.untilParked()
	return p
}

func (p *peer) untilParked() {
	p.t.Helper()
	c := p.server
	for parked := false; !parked; {
		p.frames.WritePing(false, [8]byte{1})
		p.until("answer to a PING", func(f h2.Frame) bool {
			ping, ok := f.(*h2.PingFrame)
			return ok && ping.IsAck()
		})
		c.mu.Lock()
		parked = c.parked != nil && !c.roles.Reading && !c.roles.HelperPending
		c.mu.Unlock()
	}
}

func TestAConnectionThatStaysQuietHasNoGoroutine(t *testing.T) {
	p := parks(t)
	for id := uint32(3); id < 9; id += 2 {
		p.open(id, true, "/hello")
		p.untilHello(id)
		p.untilParked()
	}
}

func TestAParkedConnectionEndsAsOthersDo(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		p := parks(t)
		p.server.Close(errors.New("closed"))
		p.untilEnd()
	})
	t.Run("cut off", func(t *testing.T) {
		p := parks(t)
		p.server.CutOff(errors.New("cut off"))
		p.untilGoAway(h2.ErrCodeNo)
		p.untilEnd()
	})
	t.Run("drained", func(t *testing.T) {
		p := parks(t)
		p.server.Drain("over")
		p.until("PING that asks whether it was read", func(f h2.Frame) bool {
			ping, ok := f.(*h2.PingFrame)
			if ok && !ping.IsAck() {
				p.frames.WritePing(true, ping.Data)
			}
			return ok && ping.Data == drainPing
		})
		p.untilEnd()
	})
	t.Run("by its peer", func(t *testing.T) {
		p := parks(t)
		p.conn.Close()
		select {
		case err := <-p.hello.closed:
			if !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			p.hello.closed <- err
		case <-time.After(long):
			t.Fatal("nobody noticed")
		}
	})
}

// untilEnd reads until the server has closed.
func (p *peer) untilEnd() {
	p.t.Helper()
	for {
		if _, err := p.frames.ReadFrame(); err != nil {
			return
		}
	}
}
