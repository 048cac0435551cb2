package transport

import (
	"io"

	"github.com/trunkcall/trunkcall/go/wire"
)

// Message is one message as it came off the wire.
type Message struct {
	Payload     []byte
	Compression uint8
	cost        uint32
	buffer      *Buffer // that Payload lies in, if it is to be given back
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

	// Owner is the object of the floor above that embeds the stream.
	Owner any
	// Whole says that the handler is to start only once the caller has sent
	// all it has to send. Handler.Accept sets it.
	Whole bool

	// The rest is guarded by the connection's lock.
	oneWay     bool
	started    bool
	halfClosed bool      // the caller sends no more messages
	stopped    wire.Code // why the call ended without its handler
	arrived    int64     // when the CALL was read
	first      Message   // the oldest message that nobody has received
	hasFirst   bool
	more       []Message // those after it
	queued     bool      // a message waits in the session to be appended
	receiving  bool      // somebody waits on receiver
	sending    bool      // somebody waits on sender
	receiver   chan struct{}
	sender     chan struct{}
}

// Init makes st ready to be returned by Handler.Accept.
func (st *Stream) Init(owner any) {
	st.Owner = owner
	st.Stream.Owner = st
}

// Conn is the connection that the call runs on.
func (st *Stream) Conn() *Conn { return st.conn }

// push adds a message that arrived; payload is copied unless it is owned.
func (st *Stream) push(payload []byte, compression uint8, cost uint32, owned bool) {
	m := Message{Payload: payload, Compression: compression, cost: cost}
	if !owned {
		m.buffer = GetBuffer(len(payload))
		m.buffer.B = append(m.buffer.B, payload...)
		m.Payload = m.buffer.B
	}
	if !st.hasFirst {
		st.first, st.hasFirst = m, true
		return
	}
	st.more = append(st.more, m)
}

func (st *Stream) pop() Message {
	m := st.first
	if len(st.more) == 0 {
		st.first, st.hasFirst = Message{}, false
		return m
	}
	st.first = st.more[0]
	st.more[0] = Message{}
	if st.more = st.more[1:]; len(st.more) == 0 {
		st.more = nil
	}
	return m
}

func (st *Stream) dropInbox() {
	for st.hasFirst {
		m := st.pop()
		m.Free()
	}
}

// TakeFirst returns the one message of a call that is Whole, and how many
// more the caller sent although it should not have. The call has ended
// receiving, so no credit is due and no lock needed: nobody else looks.
func (st *Stream) TakeFirst() (m Message, ok bool, surplus int) {
	if !st.hasFirst {
		return Message{}, false, 0
	}
	m = st.first
	st.first, st.hasFirst = Message{}, false
	return m, true, len(st.more)
}

func (st *Stream) wakeReceiver() {
	if st.receiving {
		st.receiving = false
		st.receiver <- struct{}{}
	}
}

func (st *Stream) wakeSender() {
	if st.sending {
		st.sending = false
		st.sender <- struct{}{}
	}
}

// over reports that nothing more can be sent.
func (st *Stream) over() bool { return !st.Open() || st.conn.closed }

// Receive waits for the next message. It returns io.EOF when there will be
// none: for a caller, its Ending then says how the call ended; for a callee,
// either the caller has sent all or the call was stopped.
func (st *Stream) Receive() (Message, error) {
	c := st.conn
	c.mu.Lock()
	for !st.hasFirst {
		if st.halfClosed || st.over() {
			c.unlock()
			return Message{}, io.EOF
		}
		st.waitLocked(&st.receiving, &st.receiver)
	}
	m := st.pop()
	c.session.Consumed(&st.Stream, m.cost)
	c.leave()
	return m, nil
}

// leave releases the lock when more is likely to be appended by the same
// goroutine at once: what there is gets written when it waits, when enough has
// gathered, or by a helper, whichever comes first.
func (c *Conn) leave() {
	if c.session.Unsent() > fullFlush {
		c.settle()
		return
	}
	help := c.session.HasOutput() && !c.flushing && !c.scheduled && c.wantHelperLocked()
	c.unlock()
	if help {
		c.config.Pool.run(c)
	}
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
	c.settle()
	<-ch
	c.mu.Lock()
}

// Send sends a message and waits until it has its place among the outgoing
// bytes, which it gets as the peer's credit allows; payload may be used anew
// when it returns. end makes it a caller's last. It returns io.EOF when the
// call is over.
func (st *Stream) Send(payload []byte, compression uint8, end bool) error {
	c := st.conn
	c.mu.Lock()
	if st.over() {
		c.unlock()
		return io.EOF
	}
	if !c.session.Send(&st.Stream, payload, compression, end) {
		st.queued = true
		return st.awaitSentLocked()
	}
	c.leave()
	return nil
}

// awaitSentLocked waits for the message that is queued, and releases the lock.
func (st *Stream) awaitSentLocked() error {
	c := st.conn
	for st.queued && !st.over() {
		st.waitLocked(&st.sending, &st.sender)
	}
	ended := st.queued
	st.queued = false
	c.unlock()
	if ended {
		return io.EOF
	}
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
	c.settle()
}

// CloseSend says that the caller sends no more messages.
func (st *Stream) CloseSend() {
	c := st.conn
	c.mu.Lock()
	if !c.closed {
		c.session.CloseSend(&st.Stream)
	}
	c.settle()
}
