package transport

import (
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// SlotQueue is the calls that wait for a slot, in order. Several connections may share it; the
// first with a free slot serves the first in the queue. That slot is promised to the call, which
// then opens. Newcomers queue behind.
type SlotQueue struct {
	length atomic.Int32

	mu    sync.Mutex
	turns Turns
}

// Turn is a place in a queue.
type Turn struct {
	// Only is the connection that the call is to be made on, nil for any.
	Only *Conn
	// Group is that of the connections that the call may be made on, nil for any.
	Group any
	// Task is run when the turn has come, by the connection's pool. Without one, Come
	// is to be waited for.
	Task roles.Task
	// Conn is then where a slot is promised, for an Open at once; nil if it is only
	// worth trying again.
	Conn *Conn

	come       chan struct{}
	in         *Turns // that it stands in, nil: none
	prev, next *Turn
}

// Turns stand in line, linked: whoever leaves need not be looked for, however many there are. Whose they
// are guards them by a lock.
type Turns struct {
	first, last *Turn
	count       int
}

// Add puts turn, which stands nowhere, behind the others.
func (q *Turns) Add(turn *Turn) {
	turn.in, turn.prev, turn.next = q, q.last, nil
	if q.last == nil {
		q.first = turn
	} else {
		q.last.next = turn
	}
	q.last = turn
	q.count++
}

// Remove takes turn out. It reports false if turn is not among them.
func (q *Turns) Remove(turn *Turn) bool {
	if turn.in != q {
		return false
	}
	if turn.prev == nil {
		q.first = turn.next
	} else {
		turn.prev.next = turn.next
	}
	if turn.next == nil {
		q.last = turn.prev
	} else {
		turn.next.prev = turn.prev
	}
	turn.in, turn.prev, turn.next = nil, nil, nil
	q.count--
	return true
}

// Len is how many there are.
func (q *Turns) Len() int { return q.count }

// WakeAll says to each in turn that its turn has come. None is left then.
func (q *Turns) WakeAll(pool *roles.Pool) {
	for turn := q.first; turn != nil; turn = q.first {
		q.Remove(turn)
		turn.Wake(pool)
	}
}

// Come is what is received from once the turn has come. It is to be called before the
// turn is queued.
func (t *Turn) Come() <-chan struct{} {
	if t.come == nil {
		t.come = make(chan struct{}, 1)
	}
	return t.come
}

// Wake says that the turn has come.
func (t *Turn) Wake(pool *roles.Pool) {
	if t.Task != nil {
		pool.Do(t.Task)
	} else {
		t.come <- struct{}{}
	}
}

// serves reports whether c may serve the turn: others is whether those count that are for
// any connection.
func (t *Turn) serves(c *Conn, others bool) bool {
	if t.Only != nil {
		return t.Only == c
	}
	return others && (t.Group == nil || t.Group == c.Group)
}

// Queue puts turn behind those that wait. Conn.Admit is to be called then for the
// connections that it may get a slot of: one may have become free just before.
func (q *SlotQueue) Queue(turn *Turn) {
	turn.Conn = nil
	q.mu.Lock()
	q.turns.Add(turn)
	q.mu.Unlock()
	q.length.Add(1)
}

// Leave takes turn out of the queue. It reports false when its turn has come
// already.
func (q *SlotQueue) Leave(turn *Turn) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.turns.Remove(turn) {
		return false
	}
	q.length.Add(-1)
	return true
}

// take returns the first turn that c may serve, nil if there is none: others is whether
// those count that are for any connection.
func (q *SlotQueue) take(c *Conn, others bool) *Turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	for turn := q.turns.first; turn != nil; turn = turn.next {
		if turn.serves(c, others) {
			q.turns.Remove(turn)
			q.length.Add(-1)
			return turn
		}
	}
	return nil
}

// Slots is the queue in which calls wait for a slot of the connection.
func (c *Conn) Slots() *SlotQueue { return c.slots }

// SlotFree reports whether a call may be opened now by one who has no promise.
func (c *Conn) SlotFree() bool {
	c.mu.Lock()
	defer c.unlock()
	return !c.closed && c.greeted && c.session.AcceptsCalls() && c.slotFreeLocked()
}

func (c *Conn) slotFreeLocked() bool {
	return c.session.HasSlots(c.granted+1) && c.slots.length.Load() == 0
}

// Admit promises free slots to those who wait. It reports whether the connection is one
// to wait for.
func (c *Conn) Admit() bool {
	c.mu.Lock()
	defer c.unlock()
	return c.takesCallsLocked()
}

// takesCallsLocked reports whether calls may be opened, a free slot apart.
func (c *Conn) takesCallsLocked() bool {
	return !c.closed && c.session.AcceptsCalls() && (c.drainBy == 0 || c.session.OpenServed() > 0)
}

// Decline gives back a slot that was promised.
func (c *Conn) Decline() {
	c.mu.Lock()
	c.granted--
	c.unlock()
}

// admitLocked promises free slots to those who wait. When the connection takes no
// more calls, those that waited are let go, to look for another.
func (c *Conn) admitLocked() {
	takes := c.takesCallsLocked()
	for !takes || c.session.HasSlots(c.granted+1) {
		turn := c.slots.take(c, takes && c.greeted || !takes && !c.letGo)
		if turn == nil {
			break
		}
		if takes {
			turn.Conn = c
			c.granted++
		}
		turn.Wake(c.config.Pool)
	}
	c.letGo = c.letGo || !takes
}
