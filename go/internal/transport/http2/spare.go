package http2

import (
	"time"

	h2 "golang.org/x/net/http2"
)

// Frames that cost work and are of no use (PING, SETTINGS, PRIORITY, WINDOW_UPDATE, RST_STREAM,
// empty DATA, CONTINUATION, frames for closed streams, refused requests) use up an allowance. DATA
// with content, in either direction, and answered requests earn it back; time does so slowly. A
// reset takes away what the request's DATA has earned, so that requests made only to be reset
// always cost. The connection of a peer that has used up its allowance is ended with
// ENHANCE_YOUR_CALM.

const (
	spareForData   = 4 // a frame with content, sent or received
	spareForAnswer = 8
	maxForfeit     = 16 * spareForData // of what a stream has earned that its peer then has reset
	sparePerSecond = 1000
)

type spare struct {
	left  int
	since int64 // when time was last credited
}

// spendLocked takes n from the allowance for something that was read; name says what.
func (c *Conn) spendLocked(n int, name string) error {
	// What time has earned first: it is not kept beside an allowance that is full.
	const each = int64(time.Second) / sparePerSecond
	if earned := (c.lastRead - c.spare.since) / each; earned > 0 {
		c.spare.since += earned * each
		c.earnLocked(int(min(earned, int64(c.config.Spare))))
	}
	if c.spare.left -= n; c.spare.left >= 0 {
		return nil
	}
	return violate(h2.ErrCodeEnhanceYourCalm, "too many frames without use (%s): more than %d at once", name, c.config.Spare)
}

func (c *Conn) earnLocked(n int) {
	c.spare.left = min(c.spare.left+n, c.config.Spare)
}

// maxControl bounds the frames that wait to be written in answer to a peer that does not read them.
const maxControl = 1024

// controlLocked is called before such a frame is appended.
func (c *Conn) controlLocked() { c.answersOut++ }

// floodedLocked reports whether more of them wait than may.
func (c *Conn) floodedLocked() bool { return c.answersOut > maxControl+int(c.config.Streams) }

// shutStreams are the streams that this side closed last while the peer was
// still sending: what it sent before it knew is no fault of its.
type shutStreams struct {
	ids  *[256]uint32 // nil until there is one: most connections have none
	next int
}

func (r *shutStreams) add(id uint32) {
	if r.ids == nil {
		r.ids = &[256]uint32{}
	}
	r.ids[r.next] = id
	r.next = (r.next + 1) % len(r.ids)
}

func (r *shutStreams) has(id uint32) bool {
	if r.ids == nil {
		return false
	}
	for _, known := range r.ids {
		if known == id {
			return true
		}
	}
	return false
}
