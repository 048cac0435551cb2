package transport

import (
	"errors"
	"runtime"
	"syscall"
)

// Writing. Whoever appended frames sees to it that they are written, in one
// system call for as many frames as possible: a lone caller writes at once;
// one of many lets the others append first. Nobody waits for a peer that does
// not read: what the socket does not take goes to a goroutine of its own.

const (
	// flushRounds is how often one goroutine writes what others appended
	// meanwhile before it hands over, so that no caller works for all others
	// for long.
	flushRounds = 3
	// staleFlush is how long answers may wait, in nanoseconds, for a goroutine
	// that runs one handler after the other.
	staleFlush = 100e3
	// yieldRounds is how often a caller lets others append, as long as they do.
	yieldRounds = 4
	// maxYielding is how many callers of one client do so at a time. The
	// scheduler takes up those that yielded only now and then while others can
	// run, so that of very many each would wait for long.
	maxYielding = 16
	// fullFlush is how many bytes are worth a system call of their own.
	fullFlush = 64 << 10
)

// settle is called with the lock held after frames were appended; it releases
// the lock.
func (c *Conn) settle() {
	if c.flushing || c.scheduled && !c.left.Load() || !c.session.HasOutput() {
		c.unlock()
		return
	}
	c.scheduled = true
	c.left.Store(false)
	if c.session.OpenCalls() > 1 || c.resuming.Load() > 0 {
		if !c.yieldLocked() {
			c.unlock()
			return
		}
	}
	c.scheduled = false
	c.flushLocked()
	c.unlock()
}

// yieldLocked lets other callers that can run append their frames, so that one
// system call writes them all. It releases the lock in between. It reports
// false when the writing is left to callers that were woken and do not run yet:
// the first of them that makes its next call, or the last of them to run, if
// none does.
func (c *Conn) yieldLocked() bool {
	yielding := &c.config.Pool.yielding
	if yielding.Load() >= maxYielding {
		return true
	}
	yielding.Add(1)
	defer yielding.Add(-1)
	for range yieldRounds {
		n := c.session.Unsent()
		c.unlock()
		runtime.Gosched()
		c.mu.Lock()
		if c.session.Unsent() > n {
			continue
		}
		if c.resuming.Load() > 0 {
			c.left.Store(true)
			if c.resuming.Load() > 0 {
				return false
			}
			c.left.Store(false)
		}
		break
	}
	return true
}

// resumed is called by each caller that was woken, once it runs.
func (c *Conn) resumed() {
	if c.resuming.Add(-1) > 0 || !c.left.Load() {
		return
	}
	c.mu.Lock()
	if c.left.Load() && c.resuming.Load() == 0 {
		c.left.Store(false)
		c.scheduled = false
		c.flushLocked()
	}
	c.unlock()
}

// flushLocked writes what gathered, unless somebody else does. It holds the
// lock on entry and on return, not in between.
func (c *Conn) flushLocked() {
	if c.flushing {
		return
	}
	for round := 0; c.session.HasOutput() && !c.closed && c.failing == nil; round++ {
		if c.raw == nil || round == flushRounds {
			c.flushing = true
			go c.flushBlocking(nil)
			return
		}
		taken, buffer := c.takeLocked()
		if len(taken) == 0 {
			return // what there is waits for credit
		}
		c.flushing = true
		c.mu.Unlock()
		c.writing = taken
		err := c.raw.Write(c.writeFD)
		n := c.wroteN
		if err == nil {
			err = c.wroteErr
		}
		c.writing = nil
		c.mu.Lock()
		c.passed += uint64(n)
		if err == nil && n < len(taken) {
			buffer.B = taken
			go c.flushBlocking(buffer)
			return
		}
		c.flushedLocked()
		if err != nil {
			c.failLocked(err)
			return
		}
		recycle(buffer, taken)
	}
}

// takeLocked takes what gathered, with the buffer that it lies in.
func (c *Conn) takeLocked() ([]byte, *Buffer) {
	taken := c.session.Take()
	buffer := c.gathered
	c.gathered = nil
	return taken, buffer
}

func recycle(buffer *Buffer, taken []byte) {
	if buffer != nil && cap(taken) <= outKept {
		buffer.B = taken[:0]
		outBuffers.Put(buffer)
	}
}

// writeOnce is the body of RawConn.Write: one attempt that never waits.
func (c *Conn) writeOnce(fd uintptr) bool {
	c.wroteN, c.wroteErr = 0, nil
	for {
		n, err := rawWrite(fd, c.writing)
		switch {
		case n > 0:
			c.wroteN = n
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil && !errors.Is(err, syscall.EAGAIN):
			c.wroteErr = err
		}
		return true
	}
}

// flushBlocking writes until nothing is left, in a goroutine of its own that
// may wait for the peer. c.flushing is set. rest, if any, was passed to the
// socket in part.
func (c *Conn) flushBlocking(rest *Buffer) {
	c.mu.Lock()
	for !c.closed && c.failing == nil {
		var taken []byte
		buffer := rest
		if rest != nil {
			taken = rest.B[len(rest.B)-int(c.session.Moved()-c.passed):]
			rest = nil
		} else if taken, buffer = c.takeLocked(); len(taken) == 0 {
			break
		}
		if c.raw == nil {
			c.passed += uint64(len(taken)) // how far it gets cannot be known
		}
		c.mu.Unlock()
		n, err := c.socket.Write(taken)
		c.mu.Lock()
		if c.raw != nil {
			c.passed += uint64(n)
		}
		if err != nil {
			c.flushing = false // c.passed is exact again
			c.failLocked(err)
			break
		}
		if buffer != nil {
			recycle(buffer, taken[:0:cap(taken)])
		}
	}
	c.flushedLocked()
	c.closeIfDrainedLocked()
	c.unlock()
}
