package transport

import "runtime"

// Gathering. A write costs about the same for one frame as for fifty. Whoever is about to
// write therefore yields first where others are likely to append soon: a caller among
// several, and a goroutine of the pool that has run its queue dry while handlers that take
// their time still run, which end one by one.
//
// What has gathered must not wait for the scheduler to come round to the one that yielded.
// Answers are written by whoever ends a handler once they have waited for staleGathered, and
// by a goroutine that the monitor sends if nobody does. Both need a processor themselves: so
// nobody yields while computations hold those (ProcessorsHeld, monitor.go).

const (
	// yieldRounds is how often one lets others append, as long as they do.
	yieldRounds = 4
	// maxYielding is how many callers of one client do so at a time. The
	// scheduler takes up those that yielded only now and then while others can
	// run, so that of very many each would wait for long.
	maxYielding = 16
	// staleGathered is how long answers may wait, in nanoseconds, for one that lets
	// others append.
	staleGathered = 1e6
)

// settle is called with the lock held after frames were appended; it releases
// the lock.
func (c *Conn) settle() {
	if c.flushing || c.scheduled && !c.left.Load() || !c.hasOutputLocked() {
		c.unlock()
		return
	}
	c.scheduled = true
	c.left.Store(false)
	if (c.session.OpenCalls() > 1 || c.resuming.Load() > 0) && !ProcessorsHeld() {
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

// gatherLocked lets handlers that are about to end append their answers to what w is
// about to write. It releases the lock in between.
func (w *Worker) gatherLocked(c *Conn) {
	if c.session.OpenServed() == 0 || ProcessorsHeld() {
		return
	}
	c.scheduled = true
	for range yieldRounds {
		n := c.session.Unsent()
		c.unlock()
		w.watchOver(c)
		runtime.Gosched()
		w.watchOff()
		c.mu.Lock()
		if c.session.Unsent() <= n {
			break
		}
	}
	c.scheduled = false
}

// staleLocked reports whether the answers that have gathered have waited for long.
func (c *Conn) staleLocked(now int64) bool {
	if c.scheduled {
		return now-c.since > staleGathered
	}
	return now-c.since > staleFlush
}
