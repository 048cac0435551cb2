package transport

import "slices"

// Waiting for a call slot, in order. A slot that becomes free is promised to
// the first in line, who then opens its call; newcomers queue behind.

// slotFreeLocked reports whether a call may be opened now by one who has no
// promise.
func (c *Conn) slotFreeLocked() bool {
	return c.session.HasSlots(c.granted+1) && len(c.waiters) == 0
}

// AwaitSlot waits until a slot is promised to the caller, who must call Open
// at once, or until it is worth trying without. It reports false when done is
// closed first.
func (c *Conn) AwaitSlot(done <-chan struct{}) (promised, ok bool) {
	c.mu.Lock()
	if c.closed || !c.session.AcceptsCalls() || c.slotFreeLocked() || c.drainBy != 0 && c.session.OpenServed() == 0 {
		c.unlock()
		return false, true
	}
	turn := make(chan bool, 1)
	c.waiters = append(c.waiters, turn)
	c.unlock()
	select {
	case promised = <-turn:
		return promised, true
	case <-done:
	}
	c.mu.Lock()
	defer c.unlock()
	if i := slices.Index(c.waiters, turn); i >= 0 {
		c.waiters = slices.Delete(c.waiters, i, i+1)
	} else if <-turn { // promised meanwhile: pass it on
		c.granted--
		c.admitLocked()
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
		c.waiters = c.waiters[1:]
		turn <- promise
	}
	c.waiters = nil
}
