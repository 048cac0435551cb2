package transport

import (
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// roleConn is a Conn as its Roles see it (roles.Conn).
type roleConn Conn

func (h *roleConn) Unlock() { (*Conn)(h).unlock() }

func (h *roleConn) ClosedLocked() bool { return h.closed }

func (h *roleConn) ReadLocked() { (*Conn)(h).readLocked() }

func (h *roleConn) ReadDoneLocked() {
	c := (*Conn)(h)
	c.lingerIfFreeLocked()
	c.passOnLocked()
}

func (h *roleConn) AwaitedLocked() bool { return (*Conn)(h).awaitedLocked() }

func (h *roleConn) LeaveLocked() bool {
	c := (*Conn)(h)
	return c.closed || c.failing != nil || c.leaveUnreadLocked() || c.awaitedLocked() || c.pollLocked()
}

func (h *roleConn) HasOutputLocked() bool {
	return !h.closed && h.failing == nil && (*Conn)(h).hasOutputLocked()
}

func (h *roleConn) UnsentLocked() int { return h.session.Unsent() }

func (h *roleConn) CallersLocked() bool { return h.session.OpenCalls() > 1 }

func (h *roleConn) ServesLocked() bool { return h.session.OpenServed() > 0 }

func (h *roleConn) CloseIfDrainedLocked() { (*Conn)(h).closeIfDrainedLocked() }

// roleCall is a Stream that was accepted, as the Roles of its Conn see it
// (roles.Call).
type roleCall Stream

func (h *roleCall) Timing() (pace *roles.Pace, arrived int64) { return h.Pace, h.arrived }

func (h *roleCall) Run(w *roles.Worker) { h.conn.config.Handler.Serve(w, (*Stream)(h)) }

// StartLocked marks a call as started, unless it ended or its time ran out
// meanwhile.
func (h *roleCall) StartLocked() bool {
	st, c := (*Stream)(h), h.conn
	now := int64(0)
	if st.Deadline() != 0 {
		now = roles.Clock()
	}
	if c.session.Start(&st.Stream, now) {
		return true
	}
	st.dropInbox()
	c.config.Handler.Dropped(st)
	return false
}

// FinishLocked sends the answer of a call.
func (h *roleCall) FinishLocked(w *roles.Worker, now int64) {
	st, c := (*Stream)(h), h.conn
	st.dropInbox()
	if c.closed || !st.Open() {
		return
	}
	w.Ending.ServerTime = wire.Remaining(now - st.arrived)
	c.roles.AnsweringLocked(now)
	if c.session.Finish(&st.Stream, &w.Ending) {
		w.Scratch = nil // it is the session's now
	}
	st.wakeReceiver() // goroutines that the handler has left behind
	st.wakeSender()
}
