package transport

import (
	"errors"
	"io"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Message is one message as it came off the wire. Its payload may be used until
// Free, or until the next Receive.
type Message struct {
	Payload     []byte
	Compression uint8
	cost        wire.Cost
	buffer      *Buffer // that Payload has for itself, if it is to be given back
}

// Free gives the message's memory back; its payload must not be used any more.
func (m *Message) Free() {
	if m.buffer != nil {
		m.buffer.Free()
	}
	*m = Message{}
}

// Stream is one call on a connection, at either end. One goroutine may send
// while another receives.
type Stream struct {
	wire.Stream
	conn *Conn

	// Guarded by the connection's lock.
	oneWay     bool
	halfClosed bool // the caller sends no more messages
	sendClosed bool // this side, a caller, has sent all
	// Whole says that the handler is to start only once the caller has sent
	// all it has to send. Handler.Accept sets it.
	Whole   bool
	several *several
	inbox   []Message // that nobody has received, the oldest first
	arrived int64     // when the CALL was read

	// Pace is that of the method called; nil if nothing is known of it.
	// Handler.Accept sets it.
	Pace *roles.Pace
	// Owner is the object of the layer above that embeds the stream.
	Owner any

	one [1]Message // where inbox begins
}

// several is what only a call needs that may have more than one message each way. Most calls do
// without, which makes them lighter.
type several struct {
	shared    []*Buffer // that payloads in inbox lie in together
	queued    *Buffer   // a message that waits in the session to be appended
	receiving bool      // somebody waits on receiver
	sending   bool      // somebody waits on sender
	receiver  chan struct{}
	sender    chan struct{}
	sent      int64 // bytes of messages
	received  int64

	// What the receiving goroutine took over from inbox at once, and has not
	// used up; it alone touches these.
	batch       []Message
	batchHead   int
	consumed    int       // of batch, their credit not yet returned
	batchShared []*Buffer // that payloads in batch lie in together
}

// Init makes st ready to be returned by Handler.Accept. The handler of a unary call
// neither Receives nor Sends.
func (st *Stream) Init(owner any, unary bool) {
	st.Owner = owner
	st.Stream.Owner = st
	if !unary {
		st.several = &several{}
	}
}

// Conn is the connection that the call runs on.
func (st *Stream) Conn() *Conn { return st.conn }

// OneWay reports whether the caller wants to know only that the call was
// accepted (section 7.5).
func (st *Stream) OneWay() bool { return st.oneWay }

// AcceptOneWay tells the caller of a one-way call that it will be run: from then on
// nothing but its handler ends it. It reports false if it was ended before.
func (st *Stream) AcceptOneWay() bool {
	c := st.conn
	c.mu.Lock()
	if c.closed || !st.Open() {
		c.unlock()
		return false
	}
	c.session.Finish(&st.Stream, &wire.Ending{})
	c.roles.FlushLaterUnlock()
	return true
}

// Messages that queue up share buffers of sharedSize, those of up to sharedMax
// bytes: a window holds thousands of small ones, and each in a buffer of a round
// size would take several times its own.
const (
	sharedSize = 8 << 10
	sharedMax  = sharedSize / 2
)

// push adds a message that arrived; payload is copied unless it is owned.
func (st *Stream) push(payload []byte, compression uint8, cost wire.Cost, owned bool) {
	m := Message{Compression: compression, cost: cost}
	if st.several != nil {
		st.several.received += int64(len(payload))
	}
	switch {
	case owned:
		m.buffer = &Buffer{B: payload}
		m.Payload = payload
	case len(st.inbox) > 0 && len(payload) <= sharedMax && st.several != nil:
		m.Payload = st.several.share(payload)
	default:
		m.buffer = GetBuffer(len(payload))
		m.buffer.B = append(m.buffer.B, payload...)
		m.Payload = m.buffer.B
	}
	if st.inbox == nil && (st.several == nil || st.several.batch == nil) {
		st.inbox = st.one[:0]
	}
	st.inbox = append(st.inbox, m)
}

// share copies payload behind others.
func (s *several) share(payload []byte) []byte {
	last := len(s.shared) - 1
	if last < 0 || cap(s.shared[last].B)-len(s.shared[last].B) < len(payload) {
		s.shared = append(s.shared, GetBuffer(sharedSize))
		last++
	}
	b := s.shared[last]
	start := len(b.B)
	b.B = append(b.B, payload...)
	return b.B[start:len(b.B):len(b.B)]
}

// freeAll gives buffers back, and returns the empty list of them.
func freeAll(buffers []*Buffer) []*Buffer {
	for i, b := range buffers {
		b.Free()
		buffers[i] = nil
	}
	return buffers[:0]
}

// dropInbox throws away what nobody will receive.
func (st *Stream) dropInbox() {
	for i := range st.inbox {
		st.inbox[i].Free()
	}
	st.inbox = nil
	if s := st.several; s != nil {
		s.shared = freeAll(s.shared)
	}
}

// TakeFirst returns the one message of a call that is Whole. No more messages come, so no credit is
// due, and nobody else looks, so no lock is needed.
func (st *Stream) TakeFirst() (m Message, ok bool) {
	if len(st.inbox) == 0 {
		return Message{}, false
	}
	m = st.inbox[0]
	st.inbox = st.inbox[1:]
	return m, true
}

func (st *Stream) wakeReceiver() {
	if s := st.several; s != nil && s.receiving {
		s.receiving = false
		s.receiver <- struct{}{}
	}
}

func (st *Stream) wakeSender() {
	if s := st.several; s != nil && s.sending {
		s.sending = false
		s.sender <- struct{}{}
	}
}

// over reports that nothing more can be sent.
func (st *Stream) over() bool { return !st.Open() || st.conn.closed }

// Receive waits for the next message. It returns io.EOF when there will be
// none: for a caller, its Ending then says how the call ended; for a callee,
// either the caller has sent all or the call was stopped.
func (st *Stream) Receive() (Message, error) {
	s := st.several
	if s.batchHead == len(s.batch) || s.consumed == creditBatch {
		if err := st.refill(); err != nil {
			return Message{}, err
		}
	}
	m := s.batch[s.batchHead]
	s.batchHead++
	s.consumed++
	return m, nil
}

// creditBatch is how many messages are consumed before their credit is
// returned, unless the receiver has to wait earlier.
const creditBatch = 32

// refill returns the credit of what was consumed, and waits for messages if
// none is left.
func (st *Stream) refill() error {
	c, s := st.conn, st.several
	c.mu.Lock()
	for ; s.consumed > 0; s.consumed-- {
		m := &s.batch[s.batchHead-s.consumed]
		c.session.Consumed(&st.Stream, m.cost)
		*m = Message{}
	}
	if s.batchHead < len(s.batch) {
		c.roles.FlushLaterUnlock()
		return nil
	}
	for len(st.inbox) == 0 {
		switch {
		case st.halfClosed || st.over():
			c.unlock()
			return io.EOF
		case s.receiving:
			c.unlock()
			return ErrReceiving
		}
		st.waitLocked(&s.receiving, &s.receiver)
	}
	s.batch, st.inbox = st.inbox, s.batch[:0]
	s.batchShared, s.shared = s.shared, freeAll(s.batchShared)
	s.batchHead = 0
	c.roles.FlushLaterUnlock()
	return nil
}

// waitLocked writes what this goroutine may have left to be written, then
// waits to be woken. The lock is held on entry and on return.
func (st *Stream) waitLocked(waiting *bool, wake *chan struct{}) {
	c := st.conn
	if *wake == nil {
		*wake = make(chan struct{}, 1)
	}
	*waiting = true
	ch := *wake
	c.roles.FlushUnlock()
	<-ch
	c.mu.Lock()
}

// Misuse of a stream.
var (
	ErrSendClosed = errors.New("a message is sent after CloseSend")
	ErrReceiving  = errors.New("several goroutines receive from one stream: one may at a time")
	ErrSending    = errors.New("several goroutines send on one stream: one may at a time")
)

// Misused reports whether err is one of those that leave the stream as it was.
func Misused(err error) bool { return errors.Is(err, ErrReceiving) || errors.Is(err, ErrSending) }

// Send sends the message in buffer, which belongs to Send from then on. It waits until the stream's
// earlier message has its place among the outgoing bytes, which depends on the peer's credit. So at
// most one message waits in memory. end makes it a caller's last. It returns io.EOF when the call
// is over.
func (st *Stream) Send(buffer *Buffer, compression uint8, end bool) error {
	c, s := st.conn, st.several
	c.mu.Lock()
	for s.queued != nil && !st.over() {
		if s.sending {
			c.unlock()
			return ErrSending
		}
		st.waitLocked(&s.sending, &s.sender)
	}
	switch {
	case st.over():
		s.queued = nil
		c.unlock()
		return io.EOF
	case st.sendClosed:
		c.unlock()
		return ErrSendClosed
	}
	s.sent += int64(len(buffer.B))
	if !c.session.Send(&st.Stream, buffer.B, compression, end) {
		s.queued = buffer
		c.roles.FlushUnlock()
		return nil
	}
	c.roles.FlushLaterUnlock()
	buffer.Free()
	return nil
}

// SendMetadata sends a callee's early metadata; it must come first. It does
// nothing when the call is over.
func (st *Stream) SendMetadata(m wire.Metadata) {
	c := st.conn
	c.mu.Lock()
	if !st.over() {
		c.session.SendMetadata(&st.Stream, m)
	}
	c.roles.FlushUnlock()
}

// CloseSend says that the caller sends no more messages.
func (st *Stream) CloseSend() {
	c := st.conn
	c.mu.Lock()
	st.sendClosed = true
	if !c.closed {
		c.session.CloseSend(&st.Stream)
	}
	c.roles.FlushUnlock()
}
