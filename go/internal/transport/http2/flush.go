package http2

import (
	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Writing. Frames gather in c.out; one goroutine at a time writes all that
// gathered. Nobody waits for a peer that does not read: what the socket does not
// take goes to a goroutine of its own.

const (
	outSize = 16 << 10
	// maxPiece is how many bytes a single write that may wait is given.
	maxPiece = 64 << 10
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

// WriteLocked writes what gathered as far as the socket takes it at once (roles.Conn).
func (h *roleConn) WriteLocked() bool {
	c := (*Conn)(h)
	if c.raw == nil {
		h.WriteOnLocked()
		return false
	}
	c.roles.Flushing = true
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
		return false
	}
	c.wroteAllLocked()
	c.roles.Flushing = false
	if err != nil {
		c.writeFailedLocked(err)
	}
	c.closeIfDrainedLocked()
	c.lingerIfFreeLocked()
	return err == nil
}

// WriteOnLocked has another goroutine write what gathered (roles.Conn).
func (h *roleConn) WriteOnLocked() {
	h.roles.Flushing = true
	go (*Conn)(h).flushBlocking()
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
// wait for the peer. c.roles.Flushing is set; c.writing may hold what a first attempt
// has left over.
func (c *Conn) flushBlocking() {
	c.mu.Lock()
	c.wroteAt = roles.Clock()
	c.armLocked(c.wroteAt + int64(c.config.Stall))
	for !c.closed || c.lingering && len(c.writing) > 0 {
		if len(c.writing) == 0 {
			if c.takeLocked(); len(c.writing) == 0 {
				break
			}
		}
		piece := c.writing[:min(len(c.writing), maxPiece)]
		c.mu.Unlock()
		n, err := c.socket.Write(piece)
		c.mu.Lock()
		c.wroteAt = roles.Clock()
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
	c.roles.Flushing = false
	c.closeIfDrainedLocked()
	c.lingerIfFreeLocked()
	c.mu.Unlock()
}
