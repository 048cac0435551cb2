package transport

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/trunkcall/trunkcall/go/wire"
)

// Reading. An idle connection holds no buffer: the reader waits for the socket
// to become readable first, where the socket can say so.

const (
	// readAhead is how much is parsed at most before calls are started, when
	// more input than one read takes has piled up (section 10).
	readAhead = 1 << 20
)

// readLocked waits for input and takes it in. It holds the lock on entry and
// on return, not in between; c.reading is the caller's to set.
func (c *Conn) readLocked() {
	for total := 0; !c.closed; {
		if !c.prefixed {
			c.mu.Unlock()
			more, err := c.fill(total > 0)
			c.mu.Lock()
			if err != nil {
				if c.interrupted && errors.Is(err, os.ErrDeadlineExceeded) {
					return
				}
				c.inputEndedLocked(err)
				return
			}
			if c.closed || !more {
				break
			}
		}
		c.prefixed = false
		full := c.inEnd == len(c.in.B)
		c.bulk = full
		total += c.inEnd - c.inStart
		n, err := c.session.Receive(c.in.B[c.inStart:c.inEnd], clock())
		c.inStart += n
		c.compactLocked()
		if err != nil {
			c.violateLocked(err)
			return
		}
		if !full || total >= readAhead {
			break
		}
	}
	if c.closed {
		return
	}
	c.armLocked(c.session.NextDeadline())
	c.closeIfDrainedLocked()
}

// compactLocked moves what is left of the input to the front, or lets go of
// the buffer.
func (c *Conn) compactLocked() {
	switch {
	case c.inStart == c.inEnd:
		c.inStart, c.inEnd = 0, 0
		if c.in == nil || c.raw == nil && len(c.in.B) == readSize {
			return // a socket that cannot be asked needs one to wait with
		}
		c.freeInput()
	case c.inStart > 0:
		c.inEnd = copy(c.in.B, c.in.B[c.inStart:c.inEnd])
		c.inStart = 0
	}
}

func (c *Conn) freeInput() {
	switch len(c.in.B) {
	case readSize:
		readBuffers.Put(c.in)
	case bulkSize:
		bulkBuffers.Put(c.in)
	}
	c.in = nil
}

// fill reads once, after what is left in c.in. With poll it returns at once
// when nothing is readable, where it can tell.
func (c *Conn) fill(poll bool) (more bool, err error) {
	if c.raw == nil {
		if poll {
			return false, nil
		}
		return c.fillBlocking()
	}
	c.readN = 0
	if poll {
		c.readN = -1
	}
	if err := c.raw.Read(c.readFD); err != nil {
		return false, err
	}
	if c.readErr != nil {
		return false, c.readErr
	}
	c.inEnd += c.readN
	return c.readN > 0, nil
}

// readOnce is the body of RawConn.Read; false has it called again once the
// socket is readable. A c.readN of -1 asks not to wait.
func (c *Conn) readOnce(fd uintptr) bool {
	poll := c.readN < 0
	c.readErr = nil
	c.growInput()
	for {
		n, err := rawRead(fd, c.in.B[c.inEnd:])
		switch {
		case n > 0:
			c.readN = n
			return true
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			c.readN = 0
			c.compactLocked() // only the reader touches the input
			return poll
		case err != nil:
			c.readErr = err
		default:
			c.readErr = io.EOF
		}
		c.readN = 0
		return true
	}
}

// growInput makes sure that there is a buffer, one with room for the rest of
// the largest frame if part of a frame is there or the last read was full.
func (c *Conn) growInput() {
	if c.in == nil && !c.bulk {
		c.in = take(&readBuffers)
		return
	}
	size := max(bulkSize, int(c.config.Local.FrameBody)+64)
	if c.in != nil && (len(c.in.B) >= size || c.inputFits()) {
		return
	}
	grown := &Buffer{}
	if size == bulkSize {
		grown = take(&bulkBuffers)
	} else {
		grown.B = make([]byte, size)
	}
	if c.in != nil {
		copy(grown.B, c.in.B[:c.inEnd])
		c.freeInput()
	}
	c.in = grown
}

// inputFits reports whether the frame that has arrived in part fits the buffer.
func (c *Conn) inputFits() bool {
	if c.inEnd < wire.HeaderSize {
		return true
	}
	h := wire.ParseHeader(c.in.B)
	return wire.HeaderSize+int(h.Length) <= len(c.in.B) && c.inEnd < len(c.in.B)
}

func (c *Conn) fillBlocking() (bool, error) {
	c.growInput()
	n, err := c.socket.Read(c.in.B[c.inEnd:])
	c.inEnd += n
	if n > 0 {
		return true, nil
	}
	return false, err
}

// inputEndedLocked is called at the end of the stream and on a read error.
// After the peer said that it opens no more calls, the end of the stream is a
// half-close: calls that it sent whole are still answered (section 11.7).
func (c *Conn) inputEndedLocked(err error) {
	if c.goodbye != nil {
		err = c.goodbye
	}
	switch {
	case c.closed:
	case c.closing:
		c.failLocked(errDrained)
	case errors.Is(err, io.EOF) && c.session.PeerDrained() && c.session.OpenServed() > 0:
		c.inputEnded = true
		c.session.EndInput(c.passedLocked(), c.lostText(err))
	default:
		c.failLocked(err)
	}
}
