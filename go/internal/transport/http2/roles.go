package http2

import (
	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// roleConn is a Conn as its Roles see it (roles.Conn).
type roleConn Conn

func (h *roleConn) Unlock() { h.mu.Unlock() }

func (h *roleConn) ClosedLocked() bool { return h.closed }

func (h *roleConn) ReadLocked() { (*Conn)(h).readLocked() }

func (h *roleConn) ReadDoneLocked() { (*Conn)(h).lingerIfFreeLocked() }

func (h *roleConn) AwaitedLocked() bool { return h.parked != nil }

func (h *roleConn) LeaveLocked() bool {
	return h.closed || h.parked != nil || (*Conn)(h).parkLocked()
}

func (h *roleConn) HasOutputLocked() bool { return len(h.out) > 0 && !h.closed }

func (h *roleConn) UnsentLocked() int { return len(h.out) }

func (h *roleConn) CallersLocked() bool { return len(h.streams) > 1 }

func (h *roleConn) ServesLocked() bool { return len(h.streams)+h.orphans > 0 }

func (h *roleConn) CloseIfDrainedLocked() { (*Conn)(h).closeIfDrainedLocked() }

// roleCall is a Stream that was accepted, as the Roles of its Conn see it
// (roles.Call).
type roleCall Stream

func (h *roleCall) Timing() (pace *roles.Pace, arrived int64) { return h.Pace, h.arrived }

func (h *roleCall) Run(w *roles.Worker) { (*Stream)(h).run(w) }

// StartLocked marks a request as started, unless it ended or its time ran out meanwhile.
func (h *roleCall) StartLocked() bool {
	s, c := (*Stream)(h), h.conn
	if !s.gone && !s.finishing && s.deadline != 0 && s.deadline <= roles.Clock() {
		c.stopLocked(s, wire.DeadlineExceeded, "the deadline passed before the handler started")
	}
	if s.gone || s.finishing {
		c.config.Handler.Dropped(s)
		s.dropInboxLocked()
		return false
	}
	s.started = true
	return true
}

// FinishLocked notes that a handler has returned.
func (h *roleCall) FinishLocked(*roles.Worker, int64) {
	s, c := (*Stream)(h), h.conn
	s.returned = true
	if s.gone {
		c.orphans--
	} else if !s.finishing {
		c.resetLocked(s, h2.ErrCodeInternal)
	}
	s.dropInboxLocked()
	c.armIdleLocked()
}
