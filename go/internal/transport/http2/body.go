package http2

import (
	"encoding/binary"
	"fmt"
	"io"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Message is one message of a body, or a piece of a body that is not Framed.
type Message struct {
	Flags  byte // of a Framed one
	buffer *transport.Buffer
	cost   int64 // of the stream's window
}

// Payload is the message's bytes, valid until Free.
func (m *Message) Payload() []byte {
	if m.buffer == nil {
		return nil
	}
	return m.buffer.B
}

// Free gives the message's memory back.
func (m *Message) Free() {
	if m.buffer != nil {
		m.buffer.Free()
	}
	*m = Message{}
}

// messageCost is about what a message takes beside its bytes.
const messageCost = 64

// size is about what the message takes in memory.
func (m *Message) size() int64 {
	if m.buffer == nil {
		return 0
	}
	return int64(len(m.buffer.B)) + messageCost
}

// Take returns the message's memory, for the caller to free. It is never nil.
func (m *Message) Take() *transport.Buffer {
	b := m.buffer
	*m = Message{}
	if b == nil {
		return &transport.Buffer{}
	}
	return b
}

// inbound is the body of a request.
//
// Credit for the connection goes back when bytes arrive, so that a stream that
// nobody reads stops only its own sender: what it can make us hold is bounded by
// its window, and by Config.Promised for messages being put together. Credit for the stream
// goes back when a message is taken; for the bytes of a message being put
// together as they arrive, if all before it were taken.
type inbound struct {
	inbox []Message
	head  int
	one   [1]Message

	prefix   [5]byte
	prefixed int // bytes of prefix that have come
	current  *transport.Buffer
	want     int   // bytes that current lacks
	cost     int64 // of what has come of it, not yet given back
	promised int64 // its length
	room     int64 // memory of current

	kept     int64 // the window: what the peer has left of it, what is owed, and what nobody has taken
	window   int64 // that the peer has left
	owed     int64
	beyond   int64 // what nobody has taken above what it was lent and had at first, if that is above 0
	sampled  int64 // what came in this round of the measure (windows.go)
	round    uint32
	declared int64 // content-length, -1: none
	received int64

	underWay transport.UnderWay // the message that is being put together, or all of a body that must be Whole
	starved  int64              // since when the peer lacks credit to go on, 0: it does not
	readBy   int64              // SetReadDeadline
}

// cut reports whether a message is there in part.
func (b *inbound) cut() bool { return b.current != nil || b.prefixed != 0 }

const (
	prefixSize = 5
	// firstRoom is what a long message gets to begin with, unless more has come
	// of it, and leastRoom when hardly anything has; it grows with what arrives.
	firstRoom = 64 << 10
	leastRoom = 4 << 10
)

// dataLocked takes a DATA frame, of which data is left without padding.
func (c *Conn) dataLocked(header h2.FrameHeader, data []byte) error {
	length := int64(header.Length)
	if c.recvWindow -= length; c.recvWindow < 0 {
		return violate(h2.ErrCodeFlowControl, "DATA exceeds the window of the connection")
	}
	c.arrivedOverPathLocked(length)
	c.recvOwed += length
	c.returnConnCreditLocked()
	end := header.Flags.Has(h2.FlagDataEndStream)
	s := c.streams[header.StreamID]
	if s == nil {
		return c.strayDataLocked(header.StreamID, length, end)
	}
	b := &s.body
	if s.ended {
		return c.streamErrorLocked(s.id, h2.ErrCodeStreamClosed)
	}
	if b.window -= length; c.oversteppedLocked(length, b.window) {
		return c.streamErrorLocked(s.id, h2.ErrCodeFlowControl)
	}
	s.expects = false
	b.received += int64(len(data))
	if b.declared >= 0 && b.received > b.declared {
		return c.streamErrorLocked(s.id, h2.ErrCodeProtocol)
	}
	c.sampleLocked(b, length)
	b.underWay.Pass(len(data))
	if len(data) > 0 {
		c.earnLocked(spareForData)
		s.earned = min(s.earned+spareForData, maxForfeit)
	} else if !end {
		if err := c.spendLocked(1, "empty DATA"); err != nil {
			return err
		}
	}
	b.owed += length - int64(len(data)) // padding is consumed at once
	switch {
	case s.finishing: // nobody will read it
		b.owed += int64(len(data))
	case s.Framed:
		c.messagesLocked(s, data)
	case s.Whole:
		c.gatherLocked(s, data)
	case len(data) > 0 && !c.affordsLocked(s, len(data)+messageCost):
		c.stopForLocked(s, c.noRoom())
	case len(data) > 0:
		c.pieceLocked(s, data)
	}
	if s.gone || s.finishing {
		if end {
			s.ended = true
			c.lateEndedLocked(s.id)
		}
		return nil
	}
	if end {
		return c.requestEndedLocked(s)
	}
	c.returnCreditLocked(s)
	if b.starved == 0 && b.window < c.leastWindow() {
		b.starved = c.lastRead
	}
	return nil
}

// leastWindow is what a peer can be expected to make use of. Less is left to it only while the
// handler does not take what has come.
func (c *Conn) leastWindow() int64 { return min(maxFrame, int64(c.config.Window)/2) }

// pieceLocked takes a piece of a body that is not Framed. Small ones gather while
// nobody takes them.
func (c *Conn) pieceLocked(s *Stream, data []byte) {
	b := &s.body
	if b.head < len(b.inbox) {
		last := &b.inbox[len(b.inbox)-1]
		if have := last.buffer.B; len(have)+len(data) <= cap(have) {
			last.buffer.B = append(have, data...)
			last.cost += int64(len(data))
			c.holdLocked(s, int64(len(data)))
			return
		}
	}
	buffer := transport.GetBuffer(len(data))
	buffer.B = append(buffer.B, data...)
	c.arrivedLocked(s, Message{buffer: buffer, cost: int64(len(data))})
}

// strayDataLocked takes DATA for a stream that is not open.
func (c *Conn) strayDataLocked(id uint32, length int64, end bool) error {
	if n, found := c.findLate(id); found {
		return c.lateDataLocked(n, length, end)
	}
	switch {
	case id > c.lastID || id&1 == 0:
		return violate(h2.ErrCodeProtocol, "DATA for stream %d, which is idle", id)
	case c.recentlyShut.has(id) || id > c.acceptUpTo:
		return c.spendLocked(1, "DATA for closed streams")
	}
	return c.streamErrorLocked(id, h2.ErrCodeStreamClosed)
}

// gatherLocked puts a body that is not Framed together, for a handler that
// starts once all of it is there.
func (c *Conn) gatherLocked(s *Stream, data []byte) {
	b := &s.body
	if b.received > int64(s.MaxMessage) {
		c.stopLocked(s, wire.ResourceExhausted, fmt.Sprintf("a body of more than max_message %d bytes", s.MaxMessage))
		return
	}
	c.promised += int64(len(data))
	b.promised += int64(len(data))
	if c.promised > c.config.Promised {
		c.stopLocked(s, wire.ResourceExhausted, fmt.Sprintf(
			"the bodies being received on this connection exceed their limit of %d bytes", c.config.Promised))
		return
	}
	if len(data) == 0 {
		return
	}
	if b.current == nil && !c.roomLocked(s, transport.GetBuffer(max(len(data), int(min(b.declared, firstRoom))))) {
		return
	}
	b.want = int(int64(s.MaxMessage) - b.received + int64(len(data)))
	if !c.growLocked(s, len(data)) {
		return
	}
	b.current.B = append(b.current.B, data...)
	b.owed += int64(len(data))
}

// gatheredLocked makes the body one message, at its end.
func (c *Conn) gatheredLocked(s *Stream) {
	b := &s.body
	if s.Framed || !s.Whole || b.current == nil {
		return
	}
	m := Message{buffer: b.current}
	b.want = 0
	c.assembledLocked(b)
	c.arrivedLocked(s, m)
}

// messagesLocked takes data apart into messages.
func (c *Conn) messagesLocked(s *Stream, data []byte) {
	b := &s.body
	for len(data) > 0 {
		if b.current == nil {
			if !b.underWay.Began() {
				b.underWay.Begin(c.lastRead)
				c.armLocked(b.underWay.By(c.config.Stall))
			}
			n := copy(b.prefix[b.prefixed:], data)
			data = data[n:]
			b.cost += int64(n)
			if b.prefixed += n; b.prefixed < prefixSize {
				break
			}
			if !c.beginMessageLocked(s, len(data)) {
				return
			}
		}
		n := min(b.want, len(data))
		if !c.growLocked(s, n) {
			return
		}
		b.current.B = append(b.current.B, data[:n]...)
		data = data[n:]
		b.cost += int64(n)
		if b.want -= n; b.want == 0 {
			m := Message{Flags: b.prefix[0], buffer: b.current, cost: b.cost}
			b.prefixed, b.cost = 0, 0
			c.assembledLocked(b)
			if !s.Whole {
				b.underWay.End()
			}
			c.arrivedLocked(s, m)
		}
	}
	if b.head == len(b.inbox) {
		b.owed += b.cost
		b.cost = 0
	}
}

// beginMessageLocked judges the length of a message before it gets memory.
func (c *Conn) beginMessageLocked(s *Stream, here int) bool {
	b := &s.body
	length := binary.BigEndian.Uint32(b.prefix[1:])
	if s.Whole && len(b.inbox) > 0 {
		c.stopLocked(s, wire.Unimplemented, "the method takes one request, and more were sent")
		return false
	}
	if length > s.MaxMessage {
		c.stopLocked(s, wire.ResourceExhausted, fmt.Sprintf("message of %d bytes exceeds max_message %d", length, s.MaxMessage))
		return false
	}
	if c.promised+int64(length) > c.config.Promised {
		c.stopLocked(s, wire.ResourceExhausted, fmt.Sprintf(
			"message of %d bytes: those being received on this connection exceed their limit of %d", length, c.config.Promised))
		return false
	}
	b.promised = int64(length)
	c.promised += b.promised
	b.want = int(length)
	if b.head == len(b.inbox) {
		c.makeWayLocked(s, b.promised)
	}
	room := min(b.want, max(here, min(4*here, firstRoom), leastRoom))
	if b.head < len(b.inbox) {
		return c.roomLocked(s, &transport.Buffer{B: make([]byte, 0, room)}) // in a queue, just what it needs
	}
	return c.roomLocked(s, transport.GetBuffer(room))
}

// roomLocked puts the message together in buffer from now on, with what has come of it. If memory
// is full, the request ends.
func (c *Conn) roomLocked(s *Stream, buffer *transport.Buffer) bool {
	b := &s.body
	more := int64(cap(buffer.B)) - b.room
	if !c.affordsLocked(s, int(more)+messageCost) {
		buffer.Free()
		c.stopForLocked(s, c.noRoom())
		return false
	}
	c.beginsToHoldLocked(s)
	if b.current != nil {
		buffer.B = append(buffer.B, b.current.B...)
		b.current.Free()
	}
	b.current = buffer
	b.room += more
	c.assembling += more
	return true
}

// assembledLocked ends the accounting of a message that was being put together.
func (c *Conn) assembledLocked(b *inbound) {
	c.promised -= b.promised
	c.assembling -= b.room
	b.current, b.promised, b.room = nil, 0, 0
}

// growLocked makes the buffer larger for n more bytes of the message: at most four times what has
// come, so that a false length costs little.
func (c *Conn) growLocked(s *Stream, n int) bool {
	b := &s.body
	have := b.current.B
	return len(have)+n <= cap(have) || c.roomLocked(s, transport.GetBuffer(min(len(have)+b.want, 4*cap(have))))
}

// arrivedLocked puts a message where Receive finds it.
func (c *Conn) arrivedLocked(s *Stream, m Message) {
	b := &s.body
	if b.inbox == nil {
		b.inbox = b.one[:0]
	}
	b.inbox = append(b.inbox, m)
	c.holdLocked(s, m.size())
	s.receiver.wakeLocked()
}

// TakeOnly takes the first message of a request that has come whole, and says
// how many there are; the error is io.ErrUnexpectedEOF if the body ends within a
// message.
func (s *Stream) TakeOnly() (m Message, n int, err error) {
	s.conn.mu.Lock()
	defer s.conn.mu.Unlock()
	b := &s.body
	if b.cut() {
		err = io.ErrUnexpectedEOF
	}
	if n = len(b.inbox); n > 0 {
		m, b.inbox[0] = b.inbox[0], Message{}
		s.conn.holdLocked(s, -m.size())
		s.conn.giveBackLocked()
	}
	return m, n, err
}

// takeMessageLocked takes the oldest message out and gives its credit back.
func (c *Conn) takeMessageLocked(s *Stream) Message {
	b := &s.body
	m := b.inbox[b.head]
	b.inbox[b.head] = Message{}
	c.holdLocked(s, -m.size())
	c.giveBackLocked()
	if b.head++; b.head == len(b.inbox) {
		b.inbox, b.head = b.inbox[:0], 0
		b.owed += b.cost
		b.cost = 0
	}
	b.owed += m.cost
	c.returnCreditLocked(s)
	return m
}

// dropInboxLocked lets go of what nobody will take.
func (s *Stream) dropInboxLocked() {
	b := &s.body
	for i := range b.inbox {
		s.conn.holdLocked(s, -b.inbox[i].size())
		b.inbox[i].Free()
	}
	b.inbox, b.head = b.inbox[:0], 0
	if b.current != nil {
		b.current.Free()
		b.want = 0
		s.conn.assembledLocked(b)
	}
}
