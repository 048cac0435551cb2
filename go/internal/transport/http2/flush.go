package http2

import (
	"runtime"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// Writing. Frames gather in c.out; one goroutine at a time writes all that
// gathered. Nobody waits for a peer that does not read: what the socket does not
// take goes to a goroutine of its own.

const (
	// flushRounds is how often one goroutine writes what others appended
	// meanwhile before it hands over.
	flushRounds = 3
	outSize     = 16 << 10
)

// output is a Conn as what its framer writes to.
type output Conn

func (o *output) Write(b []byte) (int, error) {
	c := (*Conn)(o)
	if c.outBuffer == nil {
		c.outBuffer = transport.GetBuffer(outSize)
		c.out = c.outBuffer.B
	}
	c.out = append(c.out, b...)
	return len(b), nil
}

// settle is called with the lock held after a goroutine that does not serve the
// connection appended something; it releases the lock. Others that can run
// append first.
func (c *Conn) settle() {
	if c.flushing || c.scheduled || c.closed || len(c.out) == 0 {
		c.mu.Unlock()
		return
	}
	if len(c.streams) > 1 && len(c.out) < fullFlush && !transport.ProcessorsHeld() {
		c.scheduled = true
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
		c.scheduled = false
	}
	c.flushLocked()
	c.closeIfDrainedLocked()
	c.mu.Unlock()
}

// takeLocked takes what gathered to write it.
func (c *Conn) takeLocked() {
	c.writing, c.taken = c.out, c.outBuffer
	if c.taken != nil {
		c.taken.B = c.out // it may have grown out of what it lay in
	}
	c.out, c.outBuffer = nil, nil
	c.answersOut = 0
	c.fillLocked()
}

func (c *Conn) wroteAllLocked() {
	if c.taken != nil {
		c.taken.Free()
	}
	c.writing, c.taken = nil, nil
	c.giveBackLocked()
}

// flushLocked writes what gathered, unless somebody else does. It holds the lock
// on entry and on return, not in between.
func (c *Conn) flushLocked() {
	if c.flushing {
		return
	}
	for round := 0; len(c.out) > 0 && !c.closed; round++ {
		c.flushing = true
		if c.raw == nil || round == flushRounds {
			go c.flushBlocking()
			return
		}
		c.takeLocked()
		c.mu.Unlock()
		c.wroteN, c.wroteErr = 0, nil // a socket that is closed does not call writeOnce
		err := c.raw.Write(c.writeFD)
		c.mu.Lock()
		if err == nil {
			err = c.wroteErr
		}
		if err == nil && c.wroteN < len(c.writing) {
			c.writing = c.writing[c.wroteN:]
			go c.flushBlocking()
			return
		}
		c.wroteAllLocked()
		c.flushing = false
		if err != nil {
			c.writeFailedLocked(err)
		}
		c.partIfFreeLocked()
	}
}

// writeOnce is the body of RawConn.Write: one attempt that never waits.
func (c *Conn) writeOnce(fd uintptr) bool {
	c.wroteN, c.wroteErr = transport.TryWrite(fd, c.writing)
	return true
}

func (c *Conn) writeFailedLocked(err error) {
	if !c.closed {
		c.writeFault = err
	}
	c.failLocked(err)
}

// flushBlocking writes until nothing is left, in a goroutine of its own that may
// wait for the peer. c.flushing is set; c.writing may hold what a first attempt
// has left over.
func (c *Conn) flushBlocking() {
	c.mu.Lock()
	c.wroteAt = transport.Clock()
	c.armLocked(c.wroteAt + int64(c.config.Stall))
	for !c.closed || c.parting && len(c.writing) > 0 {
		if len(c.writing) == 0 {
			if c.takeLocked(); len(c.writing) == 0 {
				break
			}
		}
		piece := c.writing[:min(len(c.writing), fullFlush)]
		c.mu.Unlock()
		n, err := c.socket.Write(piece)
		c.mu.Lock()
		c.wroteAt = transport.Clock()
		c.writing = c.writing[n:]
		if err != nil {
			c.writeFailedLocked(err)
			break
		}
		if len(c.writing) == 0 {
			c.wroteAllLocked()
		}
	}
	c.wroteAllLocked()
	c.flushing = false
	c.closeIfDrainedLocked()
	c.partIfFreeLocked()
	c.mu.Unlock()
}
