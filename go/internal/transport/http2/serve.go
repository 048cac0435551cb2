package http2

import (
	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

const (
	// staleFlush is how long answers may wait, in nanoseconds, for a goroutine
	// that runs one handler after the other; fullFlush how many bytes are worth
	// a system call of their own.
	staleFlush = 100e3
	fullFlush  = 64 << 10
	// keptScratch bounds what an idle goroutine holds on to.
	keptScratch = 128 << 10
)

// serve does what there is to do on a connection: run the requests that were
// read, write their answers, read the next. Before a handler runs, another
// goroutine is on its way if anything but that handler is left to do; for a
// method that has been quick so far, only if the handler turns out not to be
// (monitor.go). Compare transport.Worker.
func (w *Worker) serve(c *Conn) {
	w.finished = transport.Clock()
	c.mu.Lock()
	c.helperPending = false
	for !c.closed {
		if s := c.nextLocked(); s != nil {
			w.handleLocked(c, s)
			continue
		}
		if len(c.out) > 0 && !c.flushing && !c.scheduled {
			if c.flushLocked(); c.queueHead < len(c.queue) {
				continue
			}
		}
		c.closeIfDrainedLocked()
		if c.reading || c.parked != nil || c.closed || c.parkLocked() {
			break
		}
		c.reading = true
		c.readLocked()
		c.reading = false
		c.partIfFreeLocked()
	}
	c.mu.Unlock()
}

// handleLocked runs a handler. It holds the lock on entry and on return, not in
// between.
func (w *Worker) handleLocked(c *Conn, s *Stream) {
	watching := !c.helperPending && s.Pace.Quick()
	help := !watching && c.wantHelperLocked()
	c.mu.Unlock()
	if watching {
		w.watchOver(c)
	} else if help {
		c.config.Pool.run(c)
	}
	w.serving = s
	w.run(s)
	w.serving = nil
	w.watchOff()
	if cap(w.Scratch) > keptScratch {
		w.Scratch = nil
	}
	began := max(w.finished, s.arrived)
	w.finished = transport.Clock()
	s.Pace.Note(w.finished - began)
	c.mu.Lock()
	c.handledLocked(s)
	if len(c.out) > fullFlush || len(c.out) > 0 && w.finished-c.since > staleFlush {
		c.flushLocked()
	}
}

// handledLocked notes that a handler has returned.
func (c *Conn) handledLocked(s *Stream) {
	s.returned = true
	if s.gone {
		c.lingering--
	} else if !s.finishing {
		c.resetLocked(s, h2.ErrCodeInternal)
	}
	s.dropInboxLocked()
	c.armIdleLocked()
}

// nextLocked takes the next request to run; those that ended while they waited
// are not started.
func (c *Conn) nextLocked() *Stream {
	for c.queueHead < len(c.queue) {
		s := c.queue[c.queueHead]
		c.queue[c.queueHead] = nil
		if c.queueHead++; c.queueHead == len(c.queue) {
			c.queue, c.queueHead = c.queue[:0], 0
		}
		if !s.gone && !s.finishing && s.deadline != 0 && s.deadline <= transport.Clock() {
			c.stopLocked(s, wire.DeadlineExceeded, "the deadline passed before the handler started")
		}
		if s.gone || s.finishing {
			c.config.Handler.Dropped(s)
			s.dropInboxLocked()
			continue
		}
		s.started = true
		return s
	}
	return nil
}

// enqueueLocked has a request run.
func (c *Conn) enqueueLocked(s *Stream) {
	s.queued = true
	c.queue = append(c.queue, s)
}

// wantHelperLocked decides whether another goroutine is needed while the
// current one runs a handler.
func (c *Conn) wantHelperLocked() bool {
	if c.helperPending || c.closed {
		return false
	}
	c.helperPending = !c.reading && c.parked == nil || c.queueHead < len(c.queue) || len(c.out) > 0 && !c.flushing
	return c.helperPending
}

// sendHelper has another goroutine look after the connection, if one is needed.
func (c *Conn) sendHelper() {
	c.mu.Lock()
	help := c.wantHelperLocked()
	c.mu.Unlock()
	if help {
		c.config.Pool.run(c)
	}
}
