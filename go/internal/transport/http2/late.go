package http2

import (
	"slices"
	"time"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// late is a stream whose answer is complete while its request goes on. The peer is
// asked to send no more of it (RFC 9113 8.1), but not at once: there are clients
// that take a reset for a failure if they are about to send the rest, even where
// they wait for leave to, and lose the answer. Most have little left to send, and
// nothing has to be reset then.
type late struct {
	id     uint32
	until  int64
	window int64 // that the peer has left
}

// Limits of limits.md 5: how long a request may go on behind its answer, and how
// many on a connection.
const (
	lateFor = time.Second
	maxLate = 16
)

// lateLocked lets a request go on for a while although its answer is complete.
func (c *Conn) lateLocked(s *Stream) {
	if len(c.late) == maxLate {
		c.resetLateLocked(0)
	}
	c.recentlyShut.add(s.id)
	until := roles.Clock() + int64(lateFor)
	c.late = append(c.late, late{s.id, until, s.body.window})
	c.armLocked(until)
}

func (c *Conn) findLate(id uint32) (n int, found bool) {
	n = slices.IndexFunc(c.late, func(l late) bool { return l.id == id })
	return n, n >= 0
}

func (c *Conn) resetLateLocked(n int) {
	c.resetIDLocked(c.late[n].id, h2.ErrCodeNo, true)
	c.forgetLate(n)
}

func (c *Conn) forgetLate(n int) { c.late = slices.Delete(c.late, n, n+1) }

// lateDataLocked takes DATA that nobody will read. The peer gets no more leave.
func (c *Conn) lateDataLocked(n int, length int64, end bool) error {
	l := &c.late[n]
	l.window -= length
	switch {
	case c.oversteppedLocked(length, l.window):
		id := l.id
		c.forgetLate(n)
		return c.streamErrorLocked(id, h2.ErrCodeFlowControl)
	case end:
		c.forgetLate(n)
	case length == 0:
		return c.spendLocked(1, "empty DATA")
	}
	return nil
}

// lateEndedLocked takes note that a request has ended behind its answer, and
// reports whether it was such a one.
func (c *Conn) lateEndedLocked(id uint32) bool {
	n, found := c.findLate(id)
	if found {
		c.forgetLate(n)
	}
	return found
}

// checkLateLocked resets streams whose request has gone on for too long.
func (c *Conn) checkLateLocked(now int64) (next int64) {
	for len(c.late) > 0 && now >= c.late[0].until {
		c.resetLateLocked(0)
	}
	if len(c.late) == 0 {
		return 0
	}
	return c.late[0].until
}
