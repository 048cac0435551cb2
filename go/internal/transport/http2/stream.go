package http2

import (
	"errors"
	"io"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Stream is one request. One goroutine may send while another receives.
type Stream struct {
	// Owner is the object of the layer above that embeds the stream.
	Owner any
	// Whole says that the handler is to start only once the whole request has
	// come. Handler.Accept sets it, and what follows.
	Whole bool
	// Framed says that the body is messages, each behind a byte of flags and
	// four of length.
	Framed bool
	// MaxMessage is the longest message taken, if Framed, and otherwise the longest
	// body, if Whole: that is then one message, if it is not empty.
	MaxMessage uint32
	// Pace is that of the method called; nil if nothing is known of it.
	Pace *roles.Pace
	// Deadline is when the request is stopped, as roles.Clock has it; 0: never.
	Deadline int64

	conn *Conn
	id   uint32

	// The rest is guarded by the connection's lock.
	arrived  int64 // when the header was read
	deadline int64
	started  bool // the handler runs or has run
	queued   bool // it is to
	returned bool // the handler has returned
	stopped  bool // the handler was told that the request is over
	gone     bool // the stream is closed
	ended    bool // the peer sends no more
	expects  bool // it waits for leave to send the body

	earned   int // of the allowance, by its DATA; forfeited if the peer has the stream reset
	body     inbound
	receiver waiter

	sendWindow int64
	headerSent bool
	finishing  bool   // what is left of the answer is all there
	rest       []byte // of the body that has no place yet
	restRoom   int64  // memory of rest
	restBuffer *transport.Buffer
	tail       *Answer            // whose end follows rest
	inTurn     bool               // in Conn.sending
	underWay   transport.UnderWay // what is in rest
	sender     waiter

	held      int64  // bytes of messages that nobody has taken, and memory of the answer, without a place
	heldSince uint64 // which of the connection's holdings it is, while something is held
}

// Init prepares a new stream, of which owner is the object that embeds it.
func (s *Stream) Init(owner any) { s.Owner = owner }

// Conn is the stream's connection.
func (s *Stream) Conn() *Conn { return s.conn }

// Started reports whether the handler was started. It is for Handler.Stopped.
func (s *Stream) Started() bool { return s.started }

// Lost reports whether the stream ends with its connection. It is for
// Handler.Stopped.
func (s *Stream) Lost() bool { return s.conn.closed }

// Held reports whether something of the body was sent that is not on its way yet, so that nothing
// can follow. It is for Handler.Stopped.
func (s *Stream) Held() bool { return len(s.rest) > 0 }

// ErrGone is returned by the methods of a stream that is over.
var ErrGone = errors.New("http2: the stream is closed")

// waiter wakes one goroutine that waits for something under the connection's
// lock.
type waiter struct {
	waiting bool
	channel chan struct{}
}

// waitLocked writes what this goroutine may have left to be written, then waits for
// wakeLocked with the lock released.
func (w *waiter) waitLocked(c *Conn) {
	if w.channel == nil {
		w.channel = make(chan struct{}, 1)
	}
	w.waiting = true
	c.roles.FlushUnlock()
	<-w.channel
	c.mu.Lock()
}

func (w *waiter) wakeLocked() {
	if w.waiting {
		w.waiting = false
		w.channel <- struct{}{}
	}
}

// openLocked takes a request whose header is complete.
func (c *Conn) openLocked() error {
	b := &c.block
	switch {
	case b.stream > c.acceptUpTo:
		return c.spendLocked(1, "requests after GOAWAY") // it has been told
	case b.fault != "":
		c.resetIDLocked(b.stream, h2.ErrCodeProtocol, b.ended)
		return c.spendLocked(1, "malformed requests")
	case len(c.streams)+c.orphans >= int(c.config.Streams):
		c.resetIDLocked(b.stream, h2.ErrCodeRefusedStream, b.ended)
		return c.spendLocked(1, "requests above the limit")
	}
	now := c.lastRead
	s, answer := c.config.Handler.Accept(c, &b.request)
	if s == nil {
		s = &Stream{}
	}
	s.conn, s.id, s.ended, s.arrived = c, b.stream, b.ended, now
	s.sendWindow = c.peer.window
	s.body.kept, s.body.window = c.path.told, c.path.told
	s.body.declared = b.request.Length
	c.streams[s.id] = s
	if len(c.streams) > c.path.streams {
		c.path.streams = len(c.streams)
		c.tellLocked()
	}
	if answer != nil {
		s.started = true // and over
		s.returned = true
		s.stopped = true
		c.finishLocked(s, answer)
		return c.spendLocked(1+b.size>>10, "requests that are refused")
	}
	if s.deadline = s.Deadline; s.deadline != 0 && (c.nextTimeout == 0 || s.deadline < c.nextTimeout) {
		c.nextTimeout = s.deadline
		c.armLocked(s.deadline)
	}
	s.expects = b.expects && !s.ended
	if !s.Framed && !s.ended {
		c.makeWayLocked(s, max(s.body.declared, 0))
		c.returnCreditLocked(s)
	}
	if s.ended || !s.Whole {
		c.enqueueLocked(s)
	} else {
		c.continueLocked(s)
	}
	if s.Whole && !s.ended {
		s.body.underWay.Begin(now)
		c.armLocked(s.body.underWay.By(c.config.Stall))
	}
	return nil
}

var continueHead = NewBlock(Field{":status", "100"})

// continueLocked gives leave to send the body to a peer that waits for it (RFC 9110 10.1.1).
func (c *Conn) continueLocked(s *Stream) {
	if s.expects && !s.headerSent && !s.finishing {
		c.encodeLocked(continueHead, nil)
		c.writeFieldsLocked(s.id, false)
	}
	s.expects = false
}

// trailersLocked takes the fields that end a request's body; nobody reads them.
func (c *Conn) trailersLocked() error {
	b := &c.block
	s := c.streams[b.stream]
	switch {
	case s == nil && b.ended && c.lateEndedLocked(b.stream):
		return nil
	case s == nil:
		return c.spendLocked(1, "trailers of closed streams")
	case !b.ended || b.fault != "":
		return c.streamErrorLocked(s.id, h2.ErrCodeProtocol)
	}
	return c.requestEndedLocked(s)
}

// requestEndedLocked takes END_STREAM.
func (c *Conn) requestEndedLocked(s *Stream) error {
	if s.body.declared >= 0 && s.body.received != s.body.declared {
		return c.streamErrorLocked(s.id, h2.ErrCodeProtocol)
	}
	s.ended = true
	c.settleLentLocked(&s.body)
	c.countLocked(&s.body)
	c.gatheredLocked(s)
	if s.Whole && !s.queued && !s.finishing {
		c.enqueueLocked(s)
	}
	s.receiver.wakeLocked()
	return nil
}

// enqueueLocked has a request run.
func (c *Conn) enqueueLocked(s *Stream) {
	s.queued = true
	c.roles.EnqueueLocked((*roleCall)(s))
}

// stopLocked ends a request without its handler, with an answer if one can
// still be given.
func (c *Conn) stopLocked(s *Stream, code wire.Code, text string) {
	c.stopForLocked(s, &wire.Refusal{Code: code, Message: text})
}

// stopForLocked is stopLocked for a reason that may pass.
func (c *Conn) stopForLocked(s *Stream, why *wire.Refusal) {
	if s.gone || s.stopped {
		return
	}
	s.stopped = true
	answer := c.config.Handler.Stopped(s, why)
	switch {
	case s.gone || s.finishing: // the handler has answered, and the peer does not take it
	case answer == nil:
		c.resetLocked(s, h2.ErrCodeCancel)
	default:
		s.dropRestLocked()
		c.finishLocked(s, answer)
	}
}

// lostLocked ends a request that the peer wants no more, or can no longer be
// told of.
func (c *Conn) lostLocked(s *Stream, text string) {
	if !s.stopped && !s.returned {
		s.stopped = true
		c.config.Handler.Stopped(s, &wire.Refusal{Code: wire.Canceled, Message: text})
	}
	c.goneLocked(s)
}

// resetLocked ends a stream with RST_STREAM.
func (c *Conn) resetLocked(s *Stream, code h2.ErrCode) {
	if s.gone {
		return
	}
	c.resetIDLocked(s.id, code, s.ended)
	c.lostLocked(s, "the stream was reset: "+code.String())
}

func (c *Conn) resetIDLocked(id uint32, code h2.ErrCode, ended bool) {
	c.controlLocked()
	_ = c.framer.WriteRSTStream(id, code)
	if !ended {
		c.recentlyShut.add(id)
	}
}

// goneLocked takes a closed stream out of the connection.
func (c *Conn) goneLocked(s *Stream) {
	if s.gone {
		return
	}
	s.gone = true
	delete(c.streams, s.id)
	s.dropRestLocked()
	c.promised -= s.body.promised
	c.settleLentLocked(&s.body)
	c.uncountLocked(&s.body)
	c.assembling -= s.body.room // the buffer goes with the handler
	s.body.promised, s.body.room = 0, 0
	switch {
	case s.started && !s.returned:
		c.orphans++ // until the handler returns
	case !s.started && !s.queued:
		s.dropInboxLocked()
		c.config.Handler.Dropped(s)
	}
	s.receiver.wakeLocked()
	s.sender.wakeLocked()
	c.armIdleLocked()
	c.giveBackLocked()
}

// Reset ends the stream without an answer, or without the rest of it.
func (s *Stream) Reset(code h2.ErrCode) {
	c := s.conn
	c.mu.Lock()
	c.resetLocked(s, code)
	c.roles.FlushUnlock()
}

// SetReadDeadline has the request stopped if somebody waits in Receive at that time, as
// roles.Clock has it; 0: never. It is for bodies that are not Framed.
func (s *Stream) SetReadDeadline(by int64) {
	c := s.conn
	c.mu.Lock()
	s.body.readBy = by
	c.armLocked(by)
	c.mu.Unlock()
}

// Receive waits for the next message of a body that is Framed, or the next
// piece of any other. It returns io.EOF after the last one, and ErrGone when the
// stream is over. The caller frees the message.
func (s *Stream) Receive() (Message, error) {
	c := s.conn
	c.mu.Lock()
	defer c.roles.FlushLaterUnlock() // what is taken may return credit
	for {
		b := &s.body
		switch {
		case s.gone:
			return Message{}, ErrGone
		case b.head < len(b.inbox):
			return c.takeMessageLocked(s), nil
		case s.stopped:
			return Message{}, ErrGone
		case s.ended && b.cut():
			return Message{}, io.ErrUnexpectedEOF
		case s.ended:
			return Message{}, io.EOF
		case s.expects:
			c.continueLocked(s)
			continue
		case s.receiver.waiting:
			return Message{}, transport.ErrReceiving
		}
		s.receiver.waitLocked(c)
	}
}
