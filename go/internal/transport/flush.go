package transport

import (
	"cmp"
	"errors"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Writing. Whoever appended frames writes them, or knows who will, in one system call for as many
// frames as possible: a lone caller writes at once; one of many lets the others append first.
// Nobody waits for a peer that does not read: what the socket does not take goes to a goroutine of
// its own.

const (
	// maxPiece is how many bytes a blocking write is given at a time.
	maxPiece = 64 << 10
	// flushRetry is the pause before a write is tried again where nothing tells that the socket is
	// writable.
	flushRetry = 5 * time.Millisecond
)

// outgoing is what was taken from the session at once: bytes that gathered, and pieces of large
// messages, which are written from where they lie.
type outgoing struct {
	first  []byte
	more   [][]byte  // what follows, nil as a rule
	buffer *Buffer   // holds all that gathered
	spent  []*Buffer // messages that end with this take
}

func (o *outgoing) empty() bool { return len(o.first) == 0 && len(o.more) == 0 }

// size is the number of bytes that are left.
func (o *outgoing) size() int {
	n := len(o.first)
	for _, part := range o.more {
		n += len(part)
	}
	return n
}

// skip takes off n bytes that were written.
func (o *outgoing) skip(n int) {
	for ; n >= len(o.first) && len(o.more) > 0; o.first, o.more = o.more[0], o.more[1:] {
		n -= len(o.first)
	}
	o.first = o.first[n:]
}

// free gives the memory back, once all was written.
func (o *outgoing) free() {
	if o.buffer != nil {
		freeOut(o.buffer)
	}
	for _, b := range o.spent {
		b.Free()
	}
	*o = outgoing{}
}

// takeLocked takes what there is to write; nothing, if that waits for credit.
func (c *Conn) takeLocked() {
	taken, splices := c.session.TakeSpliced()
	o := &c.writing
	o.first, o.buffer = taken, c.gathered
	c.gathered = nil
	if o.buffer != nil {
		o.buffer.B = taken // it may have grown out of what it lay in
	}
	if len(splices) > 0 {
		o.first = taken[:splices[0].At]
		o.more = make([][]byte, 0, 2*len(splices))
		for i, splice := range splices {
			end := len(taken)
			if i+1 < len(splices) {
				end = splices[i+1].At
			}
			o.more = append(o.more, splice.Payload, taken[splice.At:end])
		}
	}
	o.spent, c.spent = c.spent, nil
	c.armLocked(c.session.NextDeadline()) // a message may wait for credit, a CANCEL for its RESULT
}

// hasOutputLocked reports whether there is something to write.
func (c *Conn) hasOutputLocked() bool { return c.session.HasOutput() || c.secure.hasOutput() }

// WriteLocked takes what there is and writes it, as far as the socket takes it at once
// (roles.Conn).
func (h *roleConn) WriteLocked() bool {
	c := (*Conn)(h)
	if c.raw == nil {
		h.WriteOnLocked()
		return false
	}
	c.takeLocked()
	if c.writing.empty() && !c.secure.unwritten() {
		return false // what there is waits for credit
	}
	c.roles.Flushing = true
	return c.writeLocked()
}

// WriteOnLocked has another goroutine write what there is (roles.Conn).
func (h *roleConn) WriteOnLocked() {
	c := (*Conn)(h)
	if c.polled != nil {
		c.roles.Scheduled = true
		go c.flushOn()
		return
	}
	c.roles.Flushing = true
	go c.flushBlocking()
}

// writeLocked writes what was taken as far as the socket takes it at once, with
// the lock released in between. It reports whether that was all: if not, the
// rest is another's, or the connection is at its end.
func (c *Conn) writeLocked() (all bool) {
	p := c.polled
	p.useLocked()
	c.mu.Unlock()
	c.wroteN, c.wroteSome, c.wroteAll, c.wroteErr = 0, false, false, nil // a socket that is closed does not call writeOnce
	c.secure.sealAhead(&c.writing)
	var err error
	if p != nil {
		c.writeOnce(uintptr(p.fd))
	} else {
		err = c.raw.Write(c.writeFD)
	}
	if err == nil {
		err = c.wroteErr
	}
	c.mu.Lock()
	p.doneLocked()
	c.passed += uint64(c.wroteN)
	if err == nil && !c.wroteAll {
		if c.unpollLocked() == nil {
			go c.flushBlocking()
		} else {
			if c.wroteSome || c.wroteAt.Load() == 0 {
				c.wroteAt.Store(roles.Clock())
				c.armLocked(c.wroteAt.Load() + c.stall())
			}
			time.AfterFunc(flushRetry, c.flushAgain)
		}
		return false
	}
	if err == nil {
		c.writing.free()
		c.session.Written()
	}
	c.flushedLocked()
	if err != nil {
		c.writeFailedLocked(err)
	}
	return err == nil
}

// writeFailedLocked ends the connection because its socket takes no more.
func (c *Conn) writeFailedLocked(err error) {
	if !c.closed && c.failing == nil {
		c.writeFault = err
	}
	c.failLocked(err)
}

// flushAgain goes on with what a polled socket did not take, when there was no
// descriptor free to wait with.
func (c *Conn) flushAgain() {
	c.mu.Lock()
	switch {
	case c.closed || c.failing != nil:
		c.flushedLocked()
	case c.writeLocked():
		c.wroteAt.Store(0)
		c.roles.FlushLocked()
		c.closeIfDrainedLocked()
	}
	c.unlock()
}

// flushOn writes what more has gathered.
func (c *Conn) flushOn() {
	c.mu.Lock()
	c.roles.Scheduled = false
	c.roles.FlushLocked()
	c.closeIfDrainedLocked()
	c.unlock()
}

// writeOnce is the body of RawConn.Write: it writes what the socket takes at once, and never waits.
func (c *Conn) writeOnce(fd uintptr) bool {
	for {
		passed, wrote, err := c.secure.tryWrite(fd, &c.writing)
		c.wroteN += passed
		c.wroteSome = c.wroteSome || wrote > 0
		c.wroteErr = err
		c.wroteAll = c.writing.empty() && !c.secure.unwritten()
		if err != nil || c.wroteAll || !c.secure.sent() {
			return true
		}
	}
}

// flushBlocking writes until nothing is left, in a goroutine of its own that
// may wait for the peer. c.roles.Flushing is set; c.writing may hold what a first
// attempt has left over.
func (c *Conn) flushBlocking() {
	c.mu.Lock()
	for !c.closed && c.failing == nil {
		o := &c.writing
		if o.empty() && !c.secure.unwritten() {
			if c.takeLocked(); o.empty() && !c.secure.unwritten() {
				break
			}
		}
		if c.raw == nil {
			c.passed += uint64(o.size()) // how far it gets cannot be known
		}
		c.wroteAt.Store(roles.Clock())
		c.armLocked(c.wroteAt.Load() + c.stall())
		c.mu.Unlock()
		n, err := c.write(o)
		c.mu.Lock()
		c.wroteAt.Store(0)
		if c.raw != nil {
			c.passed += uint64(n)
		}
		if err != nil {
			c.roles.Flushing = false // c.passed is exact again
			c.writeFailedLocked(err)
			break
		}
		o.free()
		c.session.Written()
	}
	c.flushedLocked()
	c.closeIfDrainedLocked()
	c.unlock()
}

// write writes all of o, and notes when the peer has taken something of it.
func (c *Conn) write(o *outgoing) (n int, err error) {
	if c.raw == nil { // and so there is nothing but first
		for err == nil && len(o.first) > 0 {
			var wrote int
			wrote, err = c.socket.Write(o.first[:min(len(o.first), maxPiece)])
			o.first = o.first[wrote:]
			n += wrote
			c.wroteAt.Store(roles.Clock())
		}
		return n, err
	}
	failed := c.raw.Write(func(fd uintptr) bool {
		for err == nil && (!o.empty() || c.secure.unwritten()) {
			var passed, wrote int
			passed, wrote, err = c.secure.tryWrite(fd, o)
			n += passed
			if wrote == 0 {
				return err != nil // else it is to be called when the socket takes more
			}
			c.wroteAt.Store(roles.Clock())
		}
		return true
	})
	if err == nil {
		err = failed
	}
	return n, err
}

// errStalled is why a connection ends whose peer does not read.
var errStalled = errors.New("the peer has read nothing for too long")

// defaultStall is how long a peer may read nothing of what is there for it.
const defaultStall = time.Minute

func (c *Conn) stall() int64 { return int64(cmp.Or(c.config.Stall, defaultStall)) }

// checkStallLocked ends the connection if its peer has not read for too long.
func (c *Conn) checkStallLocked(now int64) {
	since := c.wroteAt.Load()
	switch {
	case since == 0:
	case now-since >= c.stall():
		c.failLocked(errStalled)
	default:
		c.armLocked(since + c.stall())
	}
}
