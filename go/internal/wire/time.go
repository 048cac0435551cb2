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
	// messagePatience is how long a message may be under way, and longPatience how
	// much longer for each MinPiece of it that has passed (section 9.6).
	messagePatience = 60e9
	longPatience    = 1e9
	// watchInterval is how often messages under way are looked at.
	watchInterval = 5e9
)

// Tick acts on the time: it ends calls past their deadline and those with a
// message that takes too long, sends PINGs, and fails when the peer has been silent for
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
			s.pingSent = now
			s.ping()
		}
		if s.pingSent != 0 {
			if due = max(s.pingSent+s.options.KeepaliveTimeout, s.graceBy); now >= due {
				return 0, violation(ErrSilence, "the peer has been silent for %d ms", (now-s.lastReceived)/1e6)
			}
			due = min(due, now+interval) // its answer calls nobody, and the next PING is due sooner
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

// Delayed says that this side did not run when it should have, for instance because the process was
// stopped. Meanwhile what the peer sent may have stayed unread, and output may not have left. The
// peer's silence is judged a second later, or after the keepalive's answer time if that is shorter.
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
	switch p := &s.pool; {
	case p.lookAt == 0:
	case p.lookAt <= s.now:
		s.lookAtPool()
	default:
		s.wakeBy(p.lookAt)
	}
	for i := range s.served {
		st := s.served[i].stream
		switch {
		case st == nil:
		case st.deadline != 0 && st.deadline <= s.now:
			s.stop(st, DeadlineExceeded, lateText, 0)
			s.events.Stopped(st, DeadlineExceeded)
		case s.sendsTooLong(st) || s.receivesTooLong(st):
			s.stop(st, ResourceExhausted, tooLongText, RoomRetry)
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
			s.lookAtCall(entry.stream)
		case max(entry.resultBy, s.graceBy) <= s.now:
			s.overdue = true
		default:
			s.wakeBy(max(entry.resultBy, s.graceBy))
		}
	}
	s.lookedAt = s.now
}

// lookAtCall ends a call of this side that has waited for too long.
func (s *Session) lookAtCall(st *Stream) {
	switch {
	case st.deadline != 0 && st.deadline <= s.now:
		s.giveUp(st, CancelDeadline, DeadlineExceeded, overdueText)
	case s.sendsTooLong(st):
		s.giveUp(st, CancelGivenUp, ResourceExhausted, tooLongText)
	case s.receivesTooLong(st):
		s.giveUp(st, CancelUnusable, ResourceExhausted, tooLongText)
	case st.deadline != 0:
		s.wakeBy(st.deadline)
	}
}

// EndOverdue is that part of Tick which ends calls of this side past their deadline, for a connection that is about to end
// and does nothing else any more. It returns when the next is due, 0: none is.
func (s *Session) EndOverdue(now int64) (next int64) {
	s.now = now
	for i := range s.calls {
		switch st := s.calls[i].stream; {
		case st == nil || st == abandoned || st.deadline == 0:
		case st.deadline <= now:
			s.giveUp(st, CancelDeadline, DeadlineExceeded, overdueText)
		case next == 0 || st.deadline < next:
			next = st.deadline
		}
	}
	return next
}

const overdueText = "the deadline passed"

const tooLongText = "a message of the call was under way for more than 60 s and a second for each 64 KiB of it"

// sendsTooLong reports whether the message that waits on a stream has done so for
// longer than it may. The time counts from the first look that finds it waiting.
func (s *Session) sendsTooLong(st *Stream) bool {
	f := st.flow
	if f == nil || !f.hasPending {
		return false
	}
	if f.waitingSince == 0 {
		f.waitingSince = s.now
	}
	return s.tooLong(f.waitingSince, f.passed)
}

// receivesTooLong reports the same of a message that arrives. The time in which its
// sender could send nothing does not count.
func (s *Session) receivesTooLong(st *Stream) bool {
	f := st.flow
	if f == nil || !f.assembling {
		return false
	}
	if st.recvWindow < wholePiece && s.pool.left < wholePiece {
		f.since += s.now - max(s.lookedAt, f.since)
	}
	return s.tooLong(f.since, int(f.got))
}

// tooLong judges a message that began at since and of which so much has passed. If it
// goes on, it is looked at again.
func (s *Session) tooLong(since int64, passed int) bool {
	late := s.now-since >= messagePatience+int64(passed/MinPiece)*longPatience
	if late && s.now >= s.graceBy {
		return true
	}
	s.wakeBy(s.now + watchInterval)
	if late {
		s.wakeBy(s.graceBy)
	}
	return false
}

// Spent reports that the connection is of no use any more: it takes no calls because a RESULT is
// overdue after a CANCEL, and no other call is open.
func (s *Session) Spent() bool {
	return s.overdue && s.openServed == 0 && !slices.ContainsFunc(s.calls, func(c calling) bool {
		return c.stream != nil && c.stream != abandoned
	})
}
