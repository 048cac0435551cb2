package http2

import (
	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// What a connection holds for its peer counts against the budget that all
// connections of the server share (spec/limits.md 2): messages being put
// together, by the memory that they have; those that nobody has taken yet; and output.

// holdingLocked is how many bytes that is.
func (c *Conn) holdingLocked() int64 {
	return c.assembling + c.held + int64(len(c.out)+len(c.writing))
}

// affordsLocked reports whether n more bytes may be held for s. If nobody holds more
// than this connection, it ends other requests that have been held for longer.
func (c *Conn) affordsLocked(s *Stream, n int) bool {
	for {
		affords, mine := c.share.HoldsMost(c.holdingLocked() + int64(n))
		if affords {
			return true
		}
		longest := c.longestHeldLocked()
		if !mine || longest == nil || longest == s {
			return false
		}
		c.letGoLocked(longest)
	}
}

// shed frees memory, because this connection holds most of the budget. It ends the requests that
// were held for longest; if what is held is output that the peer does not read, it ends the
// connection.
func (c *Conn) shed() {
	c.mu.Lock()
	for !c.closed && c.share.Excess() {
		longest := c.longestHeldLocked()
		if longest == nil {
			if c.share.Exceeded() {
				c.endLingeringLocked(errUnread, h2.ErrCodeEnhanceYourCalm, errUnread.Error())
			}
			break
		}
		c.letGoLocked(longest)
	}
	c.share.Relieved()
	c.roles.FlushUnlock()
}

// letGoLocked ends a request for want of room, and gives back what it held.
func (c *Conn) letGoLocked(s *Stream) {
	c.cutLocked(s, c.noRoom())
	if s.holds() > 0 { // the handler was told, and will not be given what is there
		c.resetLocked(s, h2.ErrCodeEnhanceYourCalm)
		s.dropInboxLocked()
	}
	c.giveBackLocked()
}

// longestHeldLocked is the request that something has been held of for longest, nil
// if there is none. Those that hold little come last.
func (c *Conn) longestHeldLocked() (longest *Stream) {
	const littleHeld = 4 << 10
	little := false
	for _, s := range c.streams {
		if s.holds() == 0 {
			continue
		}
		less := s.holds() < littleHeld
		if longest == nil || little && !less || little == less && s.heldSince < longest.heldSince {
			longest, little = s, less
		}
	}
	return longest
}

func (s *Stream) holds() int64 { return s.held + s.body.room }

// holdLocked accounts for n more bytes that a stream holds, or fewer.
func (c *Conn) holdLocked(s *Stream, n int64) {
	if n > 0 {
		c.beginsToHoldLocked(s)
	}
	s.held += n
	c.held += n
}

// beginsToHoldLocked is to be called before a stream holds more.
func (c *Conn) beginsToHoldLocked(s *Stream) {
	if s.holds() == 0 {
		c.holdings++
		s.heldSince = c.holdings
	}
}

// giveBackLocked returns what is no longer needed.
func (c *Conn) giveBackLocked() { c.share.GiveBack(c.holdingLocked()) }

func (c *Conn) noRoom() *wire.Refusal {
	return &wire.Refusal{Code: wire.ResourceExhausted, Message: c.config.Budget.Full(), RetryAfter: wire.RoomRetry}
}

// Gauges are what the connection has at the moment.
func (c *Conn) Gauges() transport.Gauges {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return transport.Gauges{}
	}
	return transport.Gauges{
		Served: len(c.streams), Unsent: uint64(len(c.out) + len(c.writing)), Held: uint64(c.holdingLocked()),
		Withheld: c.withheldLocked(),
	}
}

// withheldLocked is how much less than their windows allow the peer may send on
// open streams.
func (c *Conn) withheldLocked() (bytes int64) {
	for _, s := range c.streams {
		if !s.ended {
			bytes += s.body.kept - s.body.window
		}
	}
	return bytes
}
