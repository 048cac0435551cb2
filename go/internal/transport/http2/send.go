package http2

import (
	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Sending. What fits the windows and the buffer is appended to the connection's
// output at once; of the rest, streams append a frame each in turn as windows
// and the socket allow. At most one message of a stream waits.

// fillLimit is how many bytes wait for the socket at most while streams take
// turns.
const fillLimit = 128 << 10

// SendHeader sends the header of the answer, unless it was sent before.
func (s *Stream) SendHeader(head *Block, fields []Field) error {
	c := s.conn
	c.mu.Lock()
	if s.gone || s.stopped || s.finishing {
		c.mu.Unlock()
		return ErrGone
	}
	c.headerLocked(s, head, fields)
	c.roles.FlushUnlock()
	return nil
}

// headerLocked sends the header if it was not sent before; more is sure to
// follow.
func (c *Conn) headerLocked(s *Stream, head *Block, fields []Field) {
	if s.headerSent {
		return
	}
	s.headerSent = true
	c.encodeLocked(head, fields)
	c.writeFieldsLocked(s.id, false)
}

// SendAfter sends a piece of the body, behind the header, which is sent first
// unless it was before. It waits while an earlier piece has no place yet. The
// buffer is the stream's from then on.
func (s *Stream) SendAfter(head *Block, fields []Field, piece *transport.Buffer) error {
	c := s.conn
	c.mu.Lock()
	for len(s.rest) > 0 && !s.gone && !s.stopped {
		if s.sender.waiting {
			c.mu.Unlock()
			piece.Free()
			return transport.ErrSending
		}
		s.sender.waitLocked(c)
	}
	if s.gone || s.stopped || s.finishing {
		c.mu.Unlock()
		piece.Free()
		return ErrGone
	}
	if !c.affordsLocked(s, cap(piece.B)) {
		c.stopForLocked(s, c.noRoom())
		c.roles.FlushUnlock()
		piece.Free()
		return ErrGone
	}
	c.headerLocked(s, head, fields)
	if len(c.out) < fillLimit && c.fitsLocked(s, len(piece.B)) {
		c.writeDataLocked(s, piece.B, false)
		piece.Free()
	} else if len(piece.B) > 0 {
		c.setRestLocked(s, piece.B)
		s.restBuffer = piece
		c.beginTurnsLocked(s)
	}
	c.roles.FlushLaterUnlock()
	return nil
}

// Finish ends the request with its answer. It is for the goroutine that is in
// Handler.Serve, and written when that returns. If it reports true, the memory of
// the answer's body must not be used again.
func (s *Stream) Finish(a *Answer) (kept bool) {
	c := s.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out) == 0 {
		c.roles.AnsweringLocked(roles.Clock())
	}
	return c.finishLocked(s, a)
}

func (c *Conn) finishLocked(s *Stream, a *Answer) (kept bool) {
	if s.gone || s.finishing {
		return false
	}
	if len(a.Body) > 0 && !s.stopped && !c.affordsLocked(s, cap(a.Body)) {
		c.stopForLocked(s, c.noRoom())
		return false
	}
	s.finishing = true
	if len(s.rest) == 0 && len(c.out) < c.config.Unsent && c.fitsLocked(s, len(a.Body)) {
		c.answerLocked(s, a, a.Body)
		return false
	}
	later := *a
	s.tail = &later
	if len(s.rest) > 0 {
		c.setRestLocked(s, append(append(make([]byte, 0, len(s.rest)+len(a.Body)), s.rest...), a.Body...))
		s.freeRestBuffer()
	} else {
		c.setRestLocked(s, a.Body)
	}
	c.beginTurnsLocked(s)
	return len(s.rest) > 0
}

// answerLocked sends what is left of an answer: body, and what follows it.
func (c *Conn) answerLocked(s *Stream, a *Answer, body []byte) {
	hasTail := a.hasTail()
	if !s.headerSent {
		s.headerSent = true
		c.encodeLocked(a.Head, a.HeadFields)
		if a.Merge && len(body) == 0 {
			c.encodeLocked(a.Tail, a.TailFields)
			hasTail = false
		}
		end := len(body) == 0 && !hasTail
		c.writeFieldsLocked(s.id, end)
		if end {
			c.answeredLocked(s)
			return
		}
	}
	if len(body) > 0 || !hasTail {
		c.writeDataLocked(s, body, !hasTail)
	}
	if hasTail {
		c.encodeLocked(a.Tail, a.TailFields)
		c.writeFieldsLocked(s.id, true)
	}
	c.answeredLocked(s)
}

// answeredLocked closes a stream whose answer is complete. What the peer still
// sends of its request is of no use.
func (c *Conn) answeredLocked(s *Stream) {
	if !s.ended {
		c.lateLocked(s)
	}
	if !s.stopped {
		s.stopped = true // there is nobody to be told
		if s.started {
			c.earnLocked(spareForAnswer)
		}
	}
	c.goneLocked(s)
}

// fitsLocked reports whether n bytes of a stream can be sent in a frame now.
func (c *Conn) fitsLocked(s *Stream, n int) bool {
	return n == 0 || n <= c.peer.frame && int64(n) <= min(c.sendWindow, s.sendWindow)
}

func (c *Conn) writeDataLocked(s *Stream, data []byte, end bool) {
	if len(data) > 0 {
		c.earnLocked(spareForData)
	}
	c.sendWindow -= int64(len(data))
	s.sendWindow -= int64(len(data))
	_ = c.framer.WriteData(s.id, end, data)
}

// beginTurnsLocked lets a stream send what has no place yet.
func (c *Conn) beginTurnsLocked(s *Stream) {
	s.underWay.Begin(roles.Clock())
	c.armLocked(s.underWay.By(c.config.Stall))
	c.wantSendLocked(s)
	c.fillLocked()
}

// wantSendLocked gives a stream its turn, if there is something that it can
// send.
func (c *Conn) wantSendLocked(s *Stream) {
	if s.inTurn || len(s.rest) == 0 && s.tail == nil || len(s.rest) > 0 && s.sendWindow <= 0 {
		return
	}
	s.inTurn = true
	c.sending = append(c.sending, s)
}

// fillLocked appends what streams have to send.
func (c *Conn) fillLocked() {
	for len(c.sending) > 0 && len(c.out) < fillLimit {
		s := c.sending[0]
		if !s.gone && len(s.rest) > 0 && c.sendWindow <= 0 {
			return
		}
		c.sending[0] = nil
		c.sending = c.sending[1:]
		s.inTurn = false
		if !s.gone {
			c.turnLocked(s)
			c.wantSendLocked(s)
		}
	}
}

// turnLocked sends one frame of a stream.
func (c *Conn) turnLocked(s *Stream) {
	n := int(min(int64(len(s.rest)), int64(c.peer.frame), s.sendWindow, c.sendWindow))
	if n < len(s.rest) {
		if n <= 0 {
			return
		}
		if s.tail != nil {
			c.headerLocked(s, s.tail.Head, s.tail.HeadFields)
		}
		c.writeDataLocked(s, s.rest[:n], false)
		s.rest = s.rest[n:]
		s.underWay.Pass(n)
		return
	}
	last := s.rest
	c.setRestLocked(s, nil)
	if a := s.tail; a != nil {
		s.tail = nil
		c.answerLocked(s, a, last)
	} else {
		c.writeDataLocked(s, last, false)
		s.sender.wakeLocked()
	}
	s.freeRestBuffer()
}

// setRestLocked has a piece of the body wait for its turn. Its memory counts, which is there until
// all of it has left.
func (c *Conn) setRestLocked(s *Stream, rest []byte) {
	room := int64(cap(rest))
	c.holdLocked(s, room-s.restRoom)
	s.rest, s.restRoom = rest, room
}

func (s *Stream) freeRestBuffer() {
	if s.restBuffer != nil {
		s.restBuffer.Free()
		s.restBuffer = nil
	}
}

// dropRestLocked lets go of what will not be sent.
func (s *Stream) dropRestLocked() {
	s.conn.setRestLocked(s, nil)
	s.tail = nil
	s.freeRestBuffer()
	s.sender.wakeLocked()
}
