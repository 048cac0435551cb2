package transport

import (
	"context"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Solo. While one caller makes one call after the other on a connection, it
// reads its answers itself: handing them over from a reading goroutine would
// cost it two switches and often the wake-up of a processor. Between two calls
// nobody reads then; when no call follows soon, the monitor (package roles) sends
// somebody.

// soloGap is the longest time, in nanoseconds, between the end of a call and
// the next for the two to count as one after the other.
const soloGap = 500e3

// takeReadingLocked gives the role of reading to the caller that has just
// opened the only call, if nobody has it. It also finds out whether calls come
// one after the other.
func (c *Conn) takeReadingLocked() bool {
	if c.raw == nil || c.roles.Bubbled() || c.polled != nil || c.session.OpenCalls() != 1 || c.session.OpenServed() != 0 {
		c.roles.Solo = false
		return false
	}
	c.roles.Solo = roles.Clock()-c.session.Now() < soloGap
	return !c.closed && c.roles.TakeReadingLocked()
}

// leaveUnreadLocked reports whether nobody need read, because the next call is
// likely to come soon and its caller will.
func (c *Conn) leaveUnreadLocked() bool {
	if !c.roles.Solo || c.shouldPollLocked() || c.closed || c.session.OpenCalls() != 0 || c.session.OpenServed() != 0 {
		return false
	}
	c.roles.LeaveUnread()
	return true
}

// LeaveReading has the caller not be the one who reads while it does something that may take long, between Open and
// Wait: others may wait for answers on the same connection. ResumeReading is to be called then if it reports true.
func (call *Call) LeaveReading() (left bool) {
	if !call.reads {
		return false
	}
	c := call.conn
	c.mu.Lock()
	defer c.unlock()
	call.reads, c.roles.Reading = false, false
	c.endInterruptLocked()
	c.lingerIfFreeLocked()
	c.roles.LeaveUnread()
	return true
}

// ResumeReading has the caller read its answer after all, or somebody else where others have called
// meanwhile.
func (call *Call) ResumeReading() {
	c := call.conn
	c.mu.Lock()
	call.reads = !call.ended && c.takeReadingLocked()
	help := !call.reads && !call.ended && !c.closed && c.roles.WantReaderLocked()
	c.unlock()
	if help {
		c.roles.Help()
	}
}

// readAnswer reads until the call has ended. It reports false when ctx ended
// first.
func (call *Call) readAnswer(ctx context.Context) bool {
	c := call.conn
	c.mu.Lock()
	c.soloRound++
	if ctx.Done() != nil {
		round := c.soloRound
		c.mu.Unlock()
		stop := context.AfterFunc(ctx, func() { c.interrupt(round) })
		defer stop()
		c.mu.Lock()
	}
	for !call.woken && !c.closed && c.failing == nil && !c.interrupted {
		c.readLocked()
		c.passOnLocked()
		if c.roles.ReadyLocked() || c.hasOutputLocked() {
			break // others' business, for a helper
		}
	}
	call.reads = false
	c.soloRound++
	c.roles.Reading = false
	c.endInterruptLocked()
	c.lingerIfFreeLocked()
	ended := call.woken
	help := !c.closed && !(call.ended && c.leaveUnreadLocked()) && c.roles.WantHelperLocked()
	c.unlock()
	if help {
		c.roles.Help()
	}
	return ended || ctx.Err() == nil
}

// interrupt ends a caller's reading because its context has ended. It may come
// late, when another caller reads already.
func (c *Conn) interrupt(round uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.soloRound == round && !c.closed {
		c.interruptLocked()
	}
}

// endInterruptLocked has whoever reads next read, after a caller that was to stop.
func (c *Conn) endInterruptLocked() {
	if c.interrupted && !c.closed {
		c.interrupted = false
		_ = c.socket.SetReadDeadline(time.Time{})
	}
}

// interruptLocked has the caller that reads, or is about to, stop.
func (c *Conn) interruptLocked() {
	c.interrupted = true
	_ = c.socket.SetReadDeadline(time.Unix(1, 0))
}
