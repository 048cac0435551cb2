package transport

import "slices"

// Waiting for a call slot, in order. A slot that becomes free is promised to
// the first in line, who then opens its call; newcomers queue behind.

// slotFreeLocked reports whether a call may be opened now by one who has no
// promise.
func (c *Conn) slotFreeLocked() bool {
	return c.session.HasSlots(c.granted+1) && len(c.waiters) == 0
}

// Turn is a place in line. Task is run when it has come, by the connection's
// pool; Promised then says whether a slot is promised, for an Open at once.
type Turn struct {
	Task     Task
	Promised bool

	come chan struct{} // in place of Task
}

// QueueForSlot puts turn into the line. It reports false when there is no need
// to wait: Open may succeed, or will say why not.
func (c *Conn) QueueForSlot(turn *Turn) bool {
	c.mu.Lock()
	defer c.unlock()
	if c.closed || !c.session.AcceptsCalls() || c.slotFreeLocked() || c.drainBy != 0 && c.session.OpenServed() == 0 {
		return false
	}
	turn.Promised = false
	c.waiters = append(c.waiters, turn)
	return true
}

// LeaveQueue takes turn out of the line. It reports false when its turn has come
// already.
func (c *Conn) LeaveQueue(turn *Turn) bool {
	c.mu.Lock()
	defer c.unlock()
	i := slices.Index(c.waiters, turn)
	if i < 0 {
		return false
	}
	c.waiters = slices.Delete(c.waiters, i, i+1)
	return true
}

// AwaitSlot waits until a slot is promised to the caller, who must call Open
// at once, or until it is worth trying without. It reports false when done is
// closed first.
func (c *Conn) AwaitSlot(done <-chan struct{}) (promised, ok bool) {
	turn := &Turn{come: make(chan struct{}, 1)}
	if !c.QueueForSlot(turn) {
		return false, true
	}
	select {
	case <-turn.come:
		return turn.Promised, true
	case <-done:
	}
	if !c.LeaveQueue(turn) {
		if <-turn.come; turn.Promised { // meanwhile: pass it on
			c.Decline()
		}
	}
	return false, false
}

// Decline gives back a slot that was promised.
func (c *Conn) Decline() {
	c.mu.Lock()
	c.granted--
	c.unlock()
}

// admitLocked promises free slots to those who wait; all of them are let go
// when the connection takes no more calls.
func (c *Conn) admitLocked() {
	for len(c.waiters) > 0 {
		promise := !c.closed && c.session.AcceptsCalls()
		if promise {
			if !c.session.HasSlots(c.granted + 1) {
				return
			}
			c.granted++
		}
		turn := c.waiters[0]
		c.waiters[0] = nil
		c.waiters = c.waiters[1:]
		turn.Promised = promise
		if turn.Task != nil {
			c.config.Pool.Do(turn.Task)
		} else {
			turn.come <- struct{}{}
		}
	}
	c.waiters = nil
}
