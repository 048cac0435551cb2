package wire

// GoAway asks the peer to open no more calls and says that this side opens none either. A reason
// other than 0 announces the end of the connection. An acceptor can say nothing before its own
// preface: reason 0 then waits for the preface, any other is not sent.
func (s *Session) GoAway(reason uint32, text string) {
	if !s.sentGoAway {
		s.goAwayAt = s.now
	}
	again := s.sentGoAway
	s.sentGoAway = true
	switch {
	case !s.greeted:
		s.farewell = text
	case !again || reason != GoAwayDraining:
		s.appendGoAway(reason, text)
	}
	s.sayDrained()
}

// Drain asks the peer to open no more calls. This side may still open some, as
// its handlers that are to finish may need, until Conclude.
func (s *Session) Drain(text string) {
	if !s.greeted {
		s.GoAway(GoAwayDraining, text) // the peer has no call here yet
		return
	}
	if !s.sentGoAway {
		s.sentGoAway, s.goAwayAt = true, s.now
		s.appendGoAway(GoAwayDraining, text)
	}
}

// Conclude says that this side opens no more calls (section 11.4). It does so once this side
// drains, the peer has said the same, and no call is open. It reports whether something was
// appended.
func (s *Session) Conclude() bool {
	if !s.sentGoAway || s.sentDrained || !s.peerDrained || s.openCalls > 0 || s.openServed > 0 {
		return false
	}
	s.sayDrained()
	return true
}

func (s *Session) appendGoAway(reason uint32, text string) {
	s.room(HeaderSize + len(text))
	n := len(s.out)
	s.out = AppendGoAway(s.out, reason, text)
	s.appended += uint64(len(s.out) - n)
}

func (s *Session) sayDrained() {
	if s.greeted && !s.sentDrained {
		s.control(Header{Type: GoAway, Flags: FlagAck})
	}
	s.sentDrained = true
}

// sayFarewell appends the GOAWAY that waited for this side's preface.
func (s *Session) sayFarewell() {
	if s.sentGoAway {
		s.appendGoAway(GoAwayDraining, s.farewell)
		s.control(Header{Type: GoAway, Flags: FlagAck})
	}
}

// Abort appends what the peer is to be told about an error of Receive or Tick
// (section 11.6). After some errors that is nothing.
func (s *Session) Abort(err *Error) {
	if !s.greeted {
		return
	}
	reason := GoAwayProtocolError
	switch err.Class {
	case ErrPreface, ErrVersion:
		return
	case ErrFlood:
		reason = GoAwayResourceLimit
	case ErrInternal:
		reason = GoAwayInternalError
	case ErrSilence:
		if s.options.Acceptor && !s.ready {
			return
		}
		reason = GoAwayPeerSilent
	}
	s.appendGoAway(reason, err.Error())
	s.sentGoAway, s.sentDrained = true, true
}

// AcceptsCalls reports whether Open can succeed, a free slot apart.
func (s *Session) AcceptsCalls() bool { return s.greeted && !s.sentDrained && !s.overdue }

// Drained reports whether both sides said that they open no more calls and no
// call is open: the connection can be closed with nothing lost (section 11.5).
func (s *Session) Drained() bool {
	return s.sentDrained && s.peerDrained && s.openCalls == 0 && s.openServed == 0
}

// refusesAll is the refusal of each CALL that comes after the peer said that it opens no more, or
// had its time to say so (section 11.4). It is nil before.
func (s *Session) refusesAll() *Refusal {
	switch {
	case s.peerDrained:
		return &Refusal{Code: Unavailable, Message: "the caller said that it opens no more calls", RetryAfter: 1}
	case s.sentGoAway && s.now-s.goAwayAt >= drainPatience:
		return &Refusal{Code: Unavailable, Message: "the callee is draining", RetryAfter: 1}
	}
	return nil
}

// Close ends every open call after the connection was lost. passed is how many outgoing bytes may
// have reached the peer: calls whose bytes all come after those are not_sent, the others unknown.
func (s *Session) Close(passed uint64, reason string) {
	s.endCalls(passed, reason)
	s.endServed()
	s.share.GiveBack(0) // what is unsent goes with the connection
}

func (s *Session) endCalls(passed uint64, reason string) {
	for i := range s.calls {
		st := s.calls[i].stream
		if st == nil {
			continue
		}
		s.vacate(uint32(i) + 1)
		if st == abandoned {
			continue
		}
		delivery := DeliveryUnknown
		switch {
		case s.unspoken:
			delivery = Refused
		case st.sentAt >= passed:
			delivery = NotSent
		}
		s.close(st)
		s.ending = Ending{Code: Unavailable, Message: reason, Delivery: delivery, Local: true}
		s.events.Ended(st, &s.ending)
	}
}

func (s *Session) endServed() {
	for i := range s.served {
		if st := s.served[i].stream; st != nil {
			s.detach(st)
			s.events.Stopped(st, Canceled)
		}
	}
}

// CutAll ends every call that the peer has open: it is refused if its handler
// has not started.
func (s *Session) CutAll(reason string) {
	for i := range s.served {
		if st := s.served[i].stream; st != nil {
			s.stop(st, Unavailable, reason, 1)
			s.events.Stopped(st, Unavailable)
		}
	}
}

// CancelAll gives up every call that this side has open, as an orderly end of
// the connection that does not wait for them.
func (s *Session) CancelAll(code Code, reason string) {
	for i := range s.calls {
		if st := s.calls[i].stream; st != nil && st != abandoned {
			s.giveUp(st, 0, code, reason)
		}
	}
}
