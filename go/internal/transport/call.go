package transport

import (
	"context"
	"errors"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Call is the caller's end of one call. A unary Call can be used again once it
// has ended.
//
// By the time that its answer comes, a call that waited lies in no cache. So what every unary call
// needs then stands together, here and in Stream.
type Call struct {
	Stream

	answered bool // Header is known
	ended    bool
	unary    bool
	keeps    bool          // the session took Buf for a message that had to wait
	reads    bool          // unary: the caller itself reads the connection
	woken    bool          // unary: wake was or is about to be sent to
	wake     chan struct{} // unary: the call ended
	next     *Call         // unary: whose caller is to be woken after this one's
	task     roles.Task    // unary: run then, by the connection's pool; nobody waits

	// Buf is memory for the request before Open and for the answer afterwards.
	Buf []byte
	// Ending is how the call ended, valid once it has. Its payload lies in Buf.
	Ending wire.Ending
	// Header is the metadata that came ahead of the answer.
	Header wire.Metadata
	// AtEnd, if set, is run by the connection's pool once the call has ended. Unary calls do
	// without.
	AtEnd roles.Task

	header chan struct{} // closed when Header is known, nil unless somebody waits for that
}

// wakeList is the unary calls whose callers are to be woken, in the order in which the calls ended.
// It is a linked list, so that it allocates nothing.
type wakeList struct {
	first, last *Call
	count       int32
}

func (w *wakeList) add(call *Call) {
	if w.last == nil {
		w.first = call
	} else {
		w.last.next = call
	}
	w.last = call
	w.count++
}

// wakeAll wakes them. A caller that is awake may use its call again at once.
func (w *wakeList) wakeAll() {
	for call := w.first; call != nil; {
		next := call.next
		call.next = nil
		call.wake <- struct{}{}
		call = next
	}
}

// NewCall returns a call to use with Conn.Open. A unary one expects one answer.
func NewCall(unary bool) *Call {
	call := &Call{}
	if unary {
		call.InitUnary()
		return call
	}
	call.Stream.Stream.Owner = call
	call.several = &several{}
	return call
}

// InitUnary makes a call that lies in another object what NewCall makes of a unary one.
func (call *Call) InitUnary() {
	call.unary = true
	call.Stream.Stream.Owner = call
	call.wake = make(chan struct{}, 1)
	call.ExpectOne()
}

// NewAsyncCall returns a unary call that nobody waits for. When it has ended, the connection's pool
// runs task, once.
func NewAsyncCall(task roles.Task) *Call {
	call := &Call{unary: true, task: task}
	call.Stream.Stream.Owner = call
	call.ExpectOne()
	return call
}

// Reset makes an ended unary call ready for its next use.
func (call *Call) Reset() {
	call.dropInbox()
	call.Header, call.Ending = nil, wire.Ending{}
	call.answered, call.ended, call.halfClosed, call.reads, call.woken = false, false, false, false, false
	if cap(call.Buf) > 64<<10 || call.keeps {
		call.Buf = nil // in the latter case it may still be being written
	}
	call.keeps = false
	call.conn = nil
}

// Reasons that a call was not opened on a connection: nothing of it was sent.
var (
	ErrNoSlot   = errors.New("all call slots of the connection are taken")
	ErrDraining = errors.New("the connection is draining")
)

// Open opens a call and sees to it that it is written. The metadata has passed
// Metadata.Check. On an error nothing was sent; the error is ErrNoSlot,
// ErrDraining or why the connection is over. promised says that a Turn
// promised a slot for the call.
func (c *Conn) Open(call *Call, out *wire.Outgoing, promised bool) error {
	c.mu.Lock()
	if promised {
		c.granted--
	}
	switch {
	case c.closed:
		err := c.cause
		c.unlock()
		return err
	case c.failing != nil:
		err := c.failing
		c.unlock()
		return err
	case c.closing || !c.session.AcceptsCalls(),
		c.drainBy != 0 && c.session.OpenServed() == 0: // handlers that are to finish may call, nobody else
		c.unlock()
		return ErrDraining
	case !promised && !c.slotFreeLocked(), !c.session.HasSlots(1):
		c.unlock()
		return ErrNoSlot
	}
	call.conn = c
	c.calls++
	call.keeps = c.session.Open(&call.Stream.Stream, out)
	if out.Deadline != 0 {
		c.armLocked(out.Deadline)
	}
	help := false
	if call.task != nil {
		c.openedAsync()
		return nil
	}
	if !call.unary {
		c.roles.Solo = false
		help = c.roles.WantReaderLocked()
	} else if call.reads = c.takeReadingLocked(); !call.reads && c.session.OpenServed() > 0 {
		help = c.roles.WantReaderLocked() // a handler may be calling that nobody reads beside
	}
	c.roles.FlushUnlock()
	if help {
		c.roles.Help()
	}
	return nil
}

// Keeps reports whether the session kept the message that Open was given. The call must have been
// opened.
func (call *Call) Keeps() bool { return call.keeps }

// openedAsync writes a call whose opener does not wait for it. The opener is likely to open more
// calls at once, so another goroutine writes what has gathered, unless this call is the only one.
// It releases the lock.
func (c *Conn) openedAsync() {
	c.roles.Solo = false
	help := c.roles.WantReaderLocked()
	if c.session.OpenCalls() > 1 {
		c.roles.FlushLaterUnlock()
	} else {
		c.roles.FlushUnlock()
	}
	if help {
		c.roles.Help()
	}
}

// Cut is GiveUp for a call with a task. It reports whether this has ended the
// call, whose task is not run then; else it was or will be.
func (call *Call) Cut(reason uint32, ending *wire.Ending) bool {
	c := call.conn
	c.mu.Lock()
	if call.ended || call.woken {
		c.unlock()
		return false
	}
	c.session.Advance(roles.Clock())
	c.session.Cancel(&call.Stream.Stream, reason)
	call.woken = true
	call.end(ending)
	c.roles.FlushUnlock()
	return true
}

// Wait waits until the call, which is unary, has ended. It reports false when
// ctx ends first; the call then goes on until GiveUp.
func (call *Call) Wait(ctx context.Context) bool {
	done := ctx.Done()
	if call.reads && !call.readAnswer(ctx) {
		return false
	}
	if done == nil {
		<-call.wake
		call.conn.roles.Resumed()
		return true
	}
	select {
	case <-call.wake:
		call.conn.roles.Resumed()
		return true
	case <-done:
		return false
	}
}

// GiveUp ends the call now, as ending says, and tells the callee. If the call has ended already it
// does nothing and reports false, since a call has one outcome. Either way Ending is valid when it
// returns, and nobody touches the call any more.
func (call *Call) GiveUp(reason uint32, ending *wire.Ending) (ended bool) {
	c := call.conn
	c.mu.Lock()
	if call.ended {
		c.unlock()
		if call.unary {
			<-call.wake // sent, or about to be
			c.roles.Resumed()
		}
		return false
	}
	c.session.Advance(roles.Clock())
	c.session.Cancel(&call.Stream.Stream, reason)
	call.end(ending)
	call.wakeReceiver()
	call.wakeSender()
	woken := call.woken
	c.roles.FlushUnlock()
	if woken {
		<-call.wake // so that the next use does not find it
		c.roles.Resumed()
	}
	return true
}

// end notes how the call ended; the lock is held.
func (call *Call) end(e *wire.Ending) {
	call.ended, call.halfClosed = true, true
	call.answer()
	call.Ending = *e
	if call.AtEnd != nil {
		call.conn.config.Pool.Do(call.AtEnd)
	}
	if e.HasMessage {
		if call.unary {
			call.Buf = append(call.Buf[:0], e.Payload...)
			call.Ending.Payload = call.Buf
		} else {
			call.push(e.Payload, e.Compression, wire.Cost{}, false)
		}
	}
}

// AwaitHeader waits for the metadata that comes ahead of the answer. It is
// empty when there is none, which is known with the first message or the end.
func (call *Call) AwaitHeader() wire.Metadata {
	c := call.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for !call.answered && !call.over() {
		if call.header == nil {
			call.header = make(chan struct{})
		}
		known := call.header
		c.roles.FlushUnlock()
		<-known
		c.mu.Lock()
	}
	return call.Header
}

// answer notes that Header is known, be it empty; the lock is held.
func (call *Call) answer() {
	call.answered = true
	if call.header != nil {
		close(call.header)
		call.header = nil
	}
}

// Unary reports whether the call is of one message each way.
func (call *Call) Unary() bool { return call.unary }

// Answer returns the message that a unary call was answered with, and how many there were: one may
// have come ahead of the end, and one with it. It is valid until Reset. The call must have ended.
func (call *Call) Answer() (payload []byte, compression uint8, count int) {
	e := &call.Ending
	payload, compression, count = e.Payload, e.Compression, len(call.inbox)
	if e.HasMessage {
		count++
	} else if count > 0 {
		payload, compression = call.inbox[0].Payload, call.inbox[0].Compression
	}
	return payload, compression, count
}

// Bytes returns the sizes, on the wire, of the messages sent after Open and of those received. A unary call must have ended:
// nobody else touches it then.
func (call *Call) Bytes() (sent, received int64) {
	if s := call.several; s != nil {
		c := call.conn
		c.mu.Lock()
		defer c.mu.Unlock()
		return s.sent, s.received
	}
	for i := range call.inbox {
		received += int64(len(call.inbox[i].Payload))
	}
	return 0, received + int64(len(call.Ending.Payload))
}

// Result returns how the call ended; it is to be called after Receive returned
// io.EOF.
func (call *Call) Result() *wire.Ending {
	c := call.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	return &call.Ending
}
