package wire

import "slices"

// Times that end waiting, in nanoseconds (spec/limits.md 3).
const (
	// handshakePatience is how long the peer's preface may take.
	handshakePatience = 10e9
	// cancelPatience is how long the RESULT may take after a CANCEL.
	cancelPatience = 30e9
	// drainPatience is how long the peer may go on opening calls after GOAWAY.
	drainPatience = 10e9
	// standstill is how long a stream may lack credit for what it has to send,
	// or a piece of a message that its sender has credit for.
	standstill = 60e9
	// watchInterval is how often streams that may stand still are looked at.
	watchInterval = 5e9
)

// Tick acts on the time: it ends served calls past their deadline and streams
// that stand still, sends PINGs, and fails when the peer has been silent for
// too long. It returns when it wants to be called next, 0 for never.
func (s *Session) Tick(now int64) (next int64, err *Error) {
	s.now = now
	if !s.ready && now >= max(s.handshakeBy, s.graceBy) {
		return 0, violation(ErrSilence, "the preface did not arrive within %d ms", int64(handshakePatience/1e6))
	}
	if s.wakeAt != 0 && now >= s.wakeAt {
		s.look()
	}
	next = s.wakeAt
	if interval := s.options.KeepaliveInterval; interval > 0 && s.greeted {
		due := s.lastReceived + interval
		if s.lastPing != 0 {
			due = max(due, s.lastPing+int64(s.remote.MinPingInterval)*1e6)
		}
		if s.pingSent == 0 && now >= due {
			s.pingSent, s.lastPing = now, now
			s.control(Header{Type: Ping, Word: uint32(now >> 10)})
		}
		if s.pingSent != 0 {
			if due = max(s.pingSent+s.options.KeepaliveTimeout, s.graceBy); now >= due {
				return 0, violation(ErrSilence, "the peer has been silent for %d ms", (now-s.lastReceived)/1e6)
			}
		}
		if next == 0 || due < next {
			next = due
		}
	}
	return next, nil
}

// delayGrace is how long silence is not judged after this side itself was away,
// in nanoseconds.
const delayGrace = 1e9

// GreetBy sets when the peer's preface is overdue, where the connection began before
// the session did.
func (s *Session) GreetBy(by int64) { s.handshakeBy, s.wakeAt = by, by }

// Delayed says that this side did not run when it should have, as a process that
// was stopped: what the peer has sent meanwhile may lie unread, and what was to
// be sent may not have left. The peer's silence is judged a second later, or
// after the keepalive's answer time if that is shorter.
func (s *Session) Delayed(now int64) {
	grace := int64(delayGrace)
	if s.options.KeepaliveTimeout > 0 {
		grace = min(grace, s.options.KeepaliveTimeout)
	}
	s.graceBy = now + grace
}

// NextDeadline is when Tick has something to do, keepalive apart, or earlier;
// 0: never. It is to be asked whenever anything was done with the session.
func (s *Session) NextDeadline() int64 { return s.wakeAt }

// wakeBy has Tick look at all streams at the given time or before.
func (s *Session) wakeBy(at int64) {
	if s.wakeAt == 0 || at < s.wakeAt {
		s.wakeAt = at
	}
}

// look ends what has waited for too long, and finds out when to look again.
func (s *Session) look() {
	s.wakeAt = 0
	if !s.ready {
		s.wakeBy(max(s.handshakeBy, s.graceBy))
	}
	for i := range s.served {
		st := s.served[i].stream
		switch {
		case st == nil:
		case st.deadline != 0 && st.deadline <= s.now:
			s.stop(st, DeadlineExceeded, lateText, 0)
			s.events.Stopped(st, DeadlineExceeded)
		case s.standsStill(st):
			s.stop(st, ResourceExhausted, standstillText, budgetRetry)
			s.events.Stopped(st, ResourceExhausted)
		case st.deadline != 0:
			s.wakeBy(st.deadline)
		}
	}
	for i := range s.calls {
		entry := &s.calls[i]
		switch {
		case entry.stream == nil:
		case entry.stream != abandoned:
			if s.standsStill(entry.stream) {
				s.giveUp(entry.stream, 0, ResourceExhausted, standstillText)
			}
		case max(entry.resultBy, s.graceBy) <= s.now:
			s.overdue = true
		default:
			s.wakeBy(max(entry.resultBy, s.graceBy))
		}
	}
}

const standstillText = "the stream has stood still for 60 s"

// standsStill reports whether a stream waits for what its peer withholds, and
// has done so for too long. The time counts from the first look that finds it
// waiting; what the peer sends begins it anew.
func (s *Session) standsStill(st *Stream) bool {
	f := st.flow
	if f == nil {
		return false
	}
	starved := f.hasPending && !st.has(streamInRing)
	owing := f.assembling && st.recvWindow >= MinPiece+frameCost
	if !starved {
		f.starvedSince = 0
	} else if f.starvedSince == 0 {
		f.starvedSince = s.now
	}
	if !owing {
		f.owingSince = 0
	} else if f.owingSince == 0 {
		f.owingSince = s.now
	}
	if starved && s.now-f.starvedSince >= standstill || owing && s.now-f.owingSince >= standstill {
		if s.now >= s.graceBy {
			return true
		}
		s.wakeBy(s.graceBy)
	}
	if f.assembling || starved {
		s.wakeBy(s.now + watchInterval)
	}
	return false
}

// Spent reports that the connection is of no use: a RESULT is overdue after a
// CANCEL, so it takes no calls, and no other call is open.
func (s *Session) Spent() bool {
	return s.overdue && s.openServed == 0 && !slices.ContainsFunc(s.calls, func(c calling) bool {
		return c.stream != nil && c.stream != abandoned
	})
}
