package http2

import (
	"github.com/trunkcall/trunkcall/go/transport"
	"github.com/trunkcall/trunkcall/go/wire"
)

// What a connection holds for its peer counts against the budget that all
// connections of the server share (spec/limits.md 2): messages being put
// together, by their lengths; those that nobody has taken yet; and output.

// holdingLocked is how many bytes that is.
func (c *Conn) holdingLocked() int64 {
	return c.promised + c.held + int64(len(c.out)+len(c.writing))
}

// affordsLocked reports whether n more bytes may be held.
func (c *Conn) affordsLocked(n int) bool { return c.share.Affords(c.holdingLocked() + int64(n)) }

// giveBackLocked returns what is no longer needed.
func (c *Conn) giveBackLocked() { c.share.GiveBack(c.holdingLocked()) }

// roomRetry is what a request refused for want of room is asked to wait, in
// milliseconds.
const roomRetry = 10

func (c *Conn) noRoom() *wire.Refusal {
	return &wire.Refusal{Code: wire.ResourceExhausted, Message: c.config.Budget.Full(), RetryAfter: roomRetry}
}

// Gauges are what the connection has at the moment.
func (c *Conn) Gauges() transport.Gauges {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return transport.Gauges{}
	}
	return transport.Gauges{
		Served: len(c.streams), Unsent: uint64(len(c.out) + len(c.writing)), Held: uint64(c.promised + c.held),
		Withheld: c.withheldLocked(),
	}
}

// withheldLocked is how much less than their windows allow the peer may send on
// open streams.
func (c *Conn) withheldLocked() (bytes int64) {
	for _, s := range c.streams {
		if !s.ended {
			bytes += int64(c.config.Window) - s.body.window
		}
	}
	return bytes
}
