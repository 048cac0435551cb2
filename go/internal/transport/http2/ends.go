package http2

import (
	"bytes"
	"errors"
	"math"
	"net"
	"time"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The ends of a connection: lost, closed, after a violation, drained; and the
// timer, which finds what takes too long.

var (
	errDrained = errors.New("drained")
	errUnread  = errors.New("the peer does not read what it asked for, and there is no memory for more")
	errStalled = errors.New("the peer does not read")
	errSilent  = errors.New("the peer does not answer PING")
	errSlow    = errors.New("the peer took too long to begin")

	errSlowHeader = errors.New("the peer took too long over a header block")
	errSlowFrame  = errors.New("the peer took too long over a frame")
)

// failLocked ends the connection at once.
func (c *Conn) failLocked(cause error) {
	if c.closed {
		if !c.lingering {
			go c.closeSocket()
		}
		return
	}
	c.unparkLocked()
	c.endLocked(cause)
	go func() {
		c.closeSocket()
		c.config.Handler.Closed(c, cause)
	}()
}

// closeSocket closes the socket. It is not for the lock: TLS writes something for that,
// and may wait.
func (c *Conn) closeSocket() { _ = c.socket.Close() }

// endLocked ends all requests.
func (c *Conn) endLocked(cause error) {
	c.closed = true
	c.cause = cause
	if c.timer != nil {
		c.timer.Stop()
	}
	for _, s := range c.streams {
		if !s.stopped && !s.returned {
			s.stopped = true
			c.config.Handler.Stopped(s, &wire.Refusal{Code: wire.Canceled, Message: "the connection is lost: " + transport.Describe(cause)})
		}
		c.goneLocked(s)
	}
	c.roles.DropQueueLocked()
	clear(c.sending)
	c.sending = nil
	c.share.GiveBack(0)
}

// violateLocked ends the connection because of what the peer did; it is told.
func (c *Conn) violateLocked(cause error) {
	if c.closed {
		return
	}
	code, text := h2.ErrCodeProtocol, cause.Error()
	var v *violation
	if errors.As(cause, &v) {
		code, text = v.code, v.text
	}
	c.endLingeringLocked(cause, code, text)
}

// endLingeringLocked ends all requests, appends GOAWAY and leaves the socket to lingerAndClose.
func (c *Conn) endLingeringLocked(cause error, code h2.ErrCode, text string) {
	c.endLocked(cause)
	_ = c.framer.WriteGoAway(c.lastID, code, []byte(text))
	c.leaveLocked()
}

// leaveLocked leaves the socket, on which nothing more is done but to tell the
// peer, to lingerAndClose.
func (c *Conn) leaveLocked() {
	c.unparkLocked()
	_ = c.socket.SetWriteDeadline(time.Now().Add(transport.LingerTime))
	_ = c.socket.SetReadDeadline(time.Unix(1, 0)) // whoever reads is to stop
	c.lingering = true
	c.lingerIfFreeLocked()
}

// lingerIfFreeLocked has the socket closed once nobody else reads or writes. The peer still gets to
// read what was written.
func (c *Conn) lingerIfFreeLocked() {
	if c.lingering && !c.lingered && !c.roles.Flushing && !c.roles.Reading {
		c.lingered = true
		go c.lingerAndClose()
	}
}

// lingerAndClose writes what is left and closes.
func (c *Conn) lingerAndClose() {
	c.mu.Lock()
	farewell, cause := c.out, c.cause
	c.out = nil
	c.mu.Unlock()
	if _, err := c.socket.Write(farewell); err == nil {
		transport.Linger(c.socket)
	}
	_ = c.socket.Close()
	c.config.Handler.Closed(c, cause)
}

// Close ends the connection at once: requests that run lose their callers.
func (c *Conn) Close(cause error) {
	c.mu.Lock()
	c.failLocked(cause)
	c.mu.Unlock()
}

// CutOff ends the connection at once, but tells the peer.
func (c *Conn) CutOff(cause error) {
	c.mu.Lock()
	if !c.closed {
		for _, s := range c.streams {
			c.stopLocked(s, wire.Unavailable, cause.Error())
		}
		c.endLingeringLocked(cause, h2.ErrCodeNo, cause.Error())
	}
	c.mu.Unlock()
}

// Decline tells a peer to go elsewhere, and that none of its requests was or
// will be served, and closes the socket. Its preface was read.
func Decline(socket net.Conn, text string) {
	_ = socket.SetDeadline(time.Now().Add(transport.LingerTime))
	var b bytes.Buffer
	f := h2.NewFramer(&b, nil)
	_ = f.WriteSettings()
	_ = f.WriteGoAway(0, h2.ErrCodeNo, []byte(text))
	if _, err := socket.Write(b.Bytes()); err == nil {
		transport.Linger(socket)
	}
	_ = socket.Close()
}

// drainPing is the PING whose answer shows that the peer has read the first
// step.
var drainPing = [8]byte{'d', 'r', 'a', 'i', 'n', 'i', 'n', 'g'}

// Drain ends the connection without losing a request, in two steps (RFC 9113
// 6.8): the peer is asked to open no more streams; those that it opened before
// it read that are served; when it has, or does not answer in time, the last
// stream that is served is named. The connection closes once all are answered.
func (c *Conn) Drain(text string) {
	c.mu.Lock()
	if c.closed || c.goingAway != 0 {
		c.mu.Unlock()
		return
	}
	c.drainLocked(text)
	c.roles.FlushUnlock()
}

// Retire is Drain.
func (c *Conn) Retire(text string) { c.Drain(text) }

func (c *Conn) drainLocked(text string) {
	c.goingAway = 1
	c.goAwayBy = roles.Clock() + int64(c.config.DrainAnswer)
	_ = c.framer.WriteGoAway(maxStreamID, h2.ErrCodeNo, []byte(text))
	_ = c.framer.WritePing(false, drainPing)
	c.armLocked(c.goAwayBy)
}

func (c *Conn) goAwayFinallyLocked() {
	c.goingAway = 2
	c.acceptUpTo = c.lastID
	_ = c.framer.WriteGoAway(c.lastID, h2.ErrCodeNo, nil)
}

// closeIfDrainedLocked closes a draining connection once all was answered and
// written.
func (c *Conn) closeIfDrainedLocked() {
	if c.goingAway != 2 || c.closed || len(c.streams) > 0 || c.orphans > 0 || len(c.out) > 0 || c.roles.Flushing || c.roles.Scheduled {
		return
	}
	c.endLocked(errDrained)
	c.leaveLocked()
}

// armIdleLocked notes when the connection has become quiet.
func (c *Conn) armIdleLocked() {
	if len(c.streams) == 0 && c.orphans == 0 {
		c.quietSince = c.lastRead
	}
}

// tick does what is due, and has itself called when something is next.
func (c *Conn) tick() {
	c.mu.Lock()
	c.timerAt = 0
	if c.closed {
		c.mu.Unlock()
		return
	}
	now := roles.Clock()
	next := int64(math.MaxInt64)
	for _, due := range [...]func(now int64) int64{
		c.checkBeginningLocked, c.checkKeepaliveLocked, c.checkWritingLocked, c.checkEndLocked, c.checkStreamsLocked, c.checkLateLocked,
	} {
		at := c.dueLocked(due, now)
		if c.closed {
			c.mu.Unlock()
			return
		}
		if at > 0 {
			next = min(next, at)
		}
	}
	if next != math.MaxInt64 {
		c.armLocked(max(next, now+int64(minTick)))
	}
	c.roles.FlushUnlock()
}

// checkBeginningLocked looks at what must be whole in time: the preface, header blocks
// and frames.
func (c *Conn) checkBeginningLocked(now int64) (by int64) {
	cause, handshake := errSlow, int64(c.config.Handshake)
	switch {
	case !c.greeted:
		by = c.greetBy
	case c.block.began != 0:
		by, cause = c.block.began+handshake, errSlowHeader
	case c.frameBegan != 0:
		by, cause = c.frameBy, errSlowFrame
	default:
		return 0
	}
	if now >= by {
		c.endLingeringLocked(cause, h2.ErrCodeEnhanceYourCalm, cause.Error())
		return 0
	}
	return by
}

func (c *Conn) checkKeepaliveLocked(now int64) (next int64) {
	interval, timeout := int64(c.config.KeepaliveInterval), int64(c.config.KeepaliveTimeout)
	switch {
	case interval < 0 || !c.greeted:
		return 0
	case c.pingSent != 0:
		if now-c.pingSent >= timeout {
			c.failLocked(errSilent)
			return 0
		}
		return c.pingSent + timeout
	case now-c.lastRead >= interval:
		c.pingSent = now
		_ = c.framer.WritePing(false, [8]byte{})
		return now + timeout
	}
	return c.lastRead + interval
}

// checkWritingLocked looks whether the peer reads.
func (c *Conn) checkWritingLocked(now int64) (next int64) {
	stall := int64(c.config.Stall)
	switch {
	case !c.roles.Flushing || c.wroteAt == 0:
		return 0
	case now-c.wroteAt >= stall:
		c.failLocked(errStalled)
		return 0
	}
	return c.wroteAt + stall
}

// checkEndLocked looks whether the connection is to be drained, or to be
// drained on.
func (c *Conn) checkEndLocked(now int64) (next int64) {
	switch {
	case c.goingAway == 1:
		if now >= c.goAwayBy {
			c.goAwayFinallyLocked()
			return 0
		}
		return c.goAwayBy
	case c.goingAway == 2 || c.config.Idle < 0 || len(c.streams)+c.orphans > 0:
		return 0
	case now-c.quietSince >= int64(c.config.Idle):
		c.drainLocked("idle")
		return c.goAwayBy
	}
	return c.quietSince + int64(c.config.Idle)
}

// checkStreamsLocked looks for requests whose time is over, and for those that
// stand still.
func (c *Conn) checkStreamsLocked(now int64) (next int64) {
	next = math.MaxInt64
	c.nextTimeout = 0
	for _, s := range c.streams {
		if s.deadline != 0 && !s.finishing {
			if now >= s.deadline {
				c.stopLocked(s, wire.DeadlineExceeded, "the deadline has passed")
				continue
			}
			if c.nextTimeout == 0 || s.deadline < c.nextTimeout {
				c.nextTimeout = s.deadline
			}
			next = min(next, s.deadline)
		}
		by := c.passedByLocked(s)
		if by == 0 {
			continue
		}
		if now >= by {
			c.stalledLocked(s)
			continue
		}
		next = min(next, by)
	}
	if next == math.MaxInt64 {
		return 0
	}
	return next
}

// passedByLocked is when what a stream has under way must have passed, 0: nothing is.
func (c *Conn) passedByLocked(s *Stream) int64 {
	b := &s.body
	switch {
	case len(s.rest) > 0:
		return s.underWay.By(c.config.Stall)
	case s.ended || s.finishing || b.starved != 0:
		return 0
	case b.underWay.Began():
		return b.underWay.By(c.config.Stall)
	case b.readBy != 0 && !s.receiver.waiting: // it may be that all is there
		return max(b.readBy, roles.Clock()+int64(time.Second))
	}
	return b.readBy
}

// stalledLocked ends a request with a message that was under way for too long, in either direction.
func (c *Conn) stalledLocked(s *Stream) {
	c.cutLocked(s, &wire.Refusal{Code: wire.ResourceExhausted, Message: transport.LateText(c.config.Stall)})
}

// cutLocked ends a request that the peer, or this side, holds up.
func (c *Conn) cutLocked(s *Stream, why *wire.Refusal) {
	if len(s.rest) == 0 {
		c.stopForLocked(s, why)
		return
	}
	// Of an answer cut off only a reset can tell.
	if !s.stopped && !s.returned {
		s.stopped = true
		c.config.Handler.Stopped(s, why)
	}
	c.resetLocked(s, h2.ErrCodeEnhanceYourCalm)
}
