package wire

// receiveResult ends a call that this side opened.
func (s *Session) receiveResult(h *Header, body []byte) *Error {
	st := s.calledStream(h.Stream)
	if st == nil {
		return violation(ErrState, "RESULT for slot %d, generation %d, which is not open", h.Stream.Slot(), h.Stream.Generation())
	}
	if st == abandoned {
		s.vacate(h.Stream.Slot())
		return nil
	}
	if h.Flags&FlagRefused != 0 && st.has(streamAnswered) {
		return violation(ErrState, "RESULT refuses a call that was answered already")
	}
	if h.Flags&FlagMsg != 0 && st.has(streamOneWay) {
		return violation(ErrState, "RESULT of a one-way call carries a message")
	}
	if h.Code == 0 && st.assembling() {
		return violation(ErrPiece, "RESULT says OK inside a message of slot %d", st.id.Slot())
	}
	b, err := ParseBody(h, body, false, &s.options.Local)
	if err == nil && h.Code == 0 {
		err = s.checkLastMessage(st, h, len(b.Payload))
	}
	if err != nil && !err.Class.EndsCall() {
		return err
	}
	s.vacate(h.Stream.Slot())
	s.close(st)
	e := &s.ending
	*e = Ending{Code: Code(h.Code), ServerTime: h.Word, Metadata: b.Metadata, Own: b.Own}
	switch {
	case h.Flags&FlagRefused != 0:
		e.Delivery, e.RetryAfter, e.ServerTime = Refused, h.Word, 0
	case h.Flags&FlagCut == 0:
		e.Delivery = Executed
	}
	switch {
	case err != nil:
		e.Code, e.Message, e.Local = err.Class.answerCode(), "the answer: "+err.Text, true
	case h.Code != 0:
		e.Message, e.Details, _ = ParseStatus(b.Payload)
		e.Stripped = h.Flags&FlagStripped != 0
	case h.Flags&FlagMsg != 0:
		e.HasMessage, e.Payload, e.Compression = true, b.Payload, h.Compression
	}
	s.events.Ended(st, e)
	return nil
}

// checkLastMessage judges a RESULT with status 0 and the message of size bytes
// that it may carry.
func (s *Session) checkLastMessage(st *Stream, h *Header, size int) *Error {
	if h.Flags&FlagMsg == 0 {
		return nil
	}
	if st.recvWindow < int64(size+frameCost) {
		return violation(ErrCredit, "RESULT overspends the window of slot %d", st.id.Slot())
	}
	return s.checkMessage(st, h, uint32(size))
}

// checkMessage judges what ends a call only: the size of a whole message and
// the codec and compression of its first frame.
func (s *Session) checkMessage(st *Stream, h *Header, size uint32) *Error {
	switch {
	case size > s.options.Local.Message:
		return s.tooLarge(size)
	case h.Codec != st.codec:
		return violation(ErrCodec, "%v in codec %d, which is not that of the call", h.Type, h.Codec)
	case h.Compression != 0 && !s.accepts(h.Compression):
		return s.unknownCompression(h.Compression)
	}
	return nil
}

// receiveData takes in a message, or what else DATA can carry, at either end
// of a call.
func (s *Session) receiveData(h *Header, body []byte) *Error {
	st := s.stream(h.Stream)
	if h.Flags&FlagPool != 0 {
		cost := h.Length + frameCost
		if err := s.charge(cost); err != nil {
			return err
		}
		if st == nil || st == abandoned {
			s.owePool(int64(cost))
		} else {
			st.needFlow().charged += cost
		}
	}
	if st == nil || st == abandoned {
		return nil // ended, given up or never tracked: what it says no longer matters
	}
	assembling := st.assembling()
	if err := s.checkDataState(st, h, assembling); err != nil {
		return err
	}
	b, err := ParseBody(h, body, h.Flags&FlagMore != 0 && !assembling, &s.options.Local)
	if st.has(streamCaller) {
		if err == nil && h.Flags&FlagMeta != 0 {
			s.events.EarlyMetadata(st, b.Metadata)
		}
		st.state |= streamAnswered
	}
	if err == nil && h.Flags&FlagMsg != 0 {
		err = s.receiveMessage(st, h, &b)
	}
	if err != nil {
		if !err.Class.EndsCall() {
			return err
		}
		s.fault(st, err)
	}
	if h.Flags&FlagEnd != 0 && st.Open() && st.has(streamSingle) && !st.has(streamBegun) {
		s.fault(st, errNoRequest)
	}
	if h.Flags&FlagEnd != 0 && st.Open() {
		st.state |= streamRemoteEnd
		if !st.has(streamReturned) {
			s.events.HalfClosed(st)
		}
	}
	return nil
}

// checkDataState judges a DATA by the state of its stream (section 7).
func (s *Session) checkDataState(st *Stream, h *Header, assembling bool) *Error {
	end := h.Flags&FlagEnd != 0
	if st.has(streamCaller) {
		switch {
		case st.has(streamOneWay):
			return violation(ErrState, "DATA answers the one-way call of slot %d", st.id.Slot())
		case h.Flags&FlagMeta != 0 && st.has(streamAnswered):
			return violation(ErrState, "metadata on a DATA of slot %d that is not the first", st.id.Slot())
		}
		return nil
	}
	switch {
	case st.has(streamRemoteEnd):
		return violation(ErrState, "DATA on slot %d after END", st.id.Slot())
	case st.has(streamOneWay) && !end && h.Flags&(FlagMsg|FlagMore) == FlagMsg:
		return violation(ErrState, "the message of the one-way call of slot %d is whole and yet not the last", st.id.Slot())
	case end && assembling && h.Flags&FlagMsg == 0:
		return violation(ErrPiece, "END on slot %d inside a message", st.id.Slot())
	}
	return nil
}

// fault ends a call because of what its other side sent in DATA.
func (s *Session) fault(st *Stream, err *Error) {
	retryAfter := uint32(0)
	if s.forWantOfRoom(err) {
		retryAfter = RoomRetry
	}
	if st.has(streamCaller) {
		s.giveUp(st, CancelUnusable, err.Class.answerCode(), "the answer: "+err.Text)
		return
	}
	code := err.Class.requestCode()
	s.stop(st, code, err.Text, retryAfter)
	s.events.Stopped(st, code)
}
