package wire

// Receive takes in the whole frames at the start of b and returns how many
// bytes they were; the rest is to be offered again with what follows it. An
// error ends the connection: see Abort.
func (s *Session) Receive(b []byte, now int64) (n int, err *Error) {
	s.now = now
	if len(b) > 0 {
		s.Heard(now)
	}
	if !s.ready {
		if n, err = s.receivePreface(b); n == 0 || err != nil {
			return 0, err
		}
	}
	for len(b)-n >= HeaderSize {
		h := ParseHeader(b[n:])
		if err := h.Check(&s.options.Local, !s.options.Acceptor); err != nil {
			return n, err
		}
		end := n + HeaderSize + int(h.Length)
		if len(b) < end {
			break
		}
		if err := s.receiveFrame(&h, b[n+HeaderSize:end:end]); err != nil {
			return n, err
		}
		n = end
	}
	return n, nil
}

// Heard says that the peer is alive, by bytes that Receive is not given yet.
func (s *Session) Heard(now int64) { s.lastReceived, s.pingSent = now, 0 }

// Place returns the memory that the body of a frame belongs in: the message that it is a piece of.
// b is what Receive has left over and begins with that frame. The caller may read the body into
// that memory and call ReceivePlaced once it is whole, instead of Receive. For any other frame
// Place returns nil.
func (s *Session) Place(b []byte) []byte {
	if !s.ready || len(b) < HeaderSize {
		return nil
	}
	h := ParseHeader(b)
	if h.Type != Data || h.Flags&(FlagMsg|FlagMeta) != FlagMsg || h.Check(&s.options.Local, !s.options.Acceptor) != nil {
		return nil
	}
	st := s.stream(h.Stream)
	if st == nil || st == abandoned || !st.assembling() || st.has(streamReturned) {
		return nil
	}
	f := st.flow
	if uint64(f.got)+uint64(h.Length) > uint64(f.total) {
		return nil // it will be found to be wrong
	}
	if !s.makeRoom(st, int(h.Length)) {
		return nil // it will be found that there is no room
	}
	n := len(f.message)
	return f.message[n : n+int(h.Length) : n+int(h.Length)]
}

// ReceivePlaced is Receive for one frame whose body lies where Place said.
func (s *Session) ReceivePlaced(header, body []byte, now int64) *Error {
	s.now = now
	s.Heard(now)
	h := ParseHeader(header)
	return s.receiveFrame(&h, body)
}

// receivePreface takes in the peer's preface once it is whole. An acceptor
// answers it with its own as soon as the fixed part is there.
func (s *Session) receivePreface(b []byte) (n int, err *Error) {
	p, n, err := ParsePreface(b)
	if !s.greeted && len(b) >= PrefaceSize && (err == nil || err.Class != ErrPreface) {
		s.appendPreface()
		if err == nil {
			s.sayFarewell()
		}
	}
	if err != nil {
		s.unspoken = err.Class == ErrVersion
		return 0, err
	}
	if n == 0 {
		return 0, nil
	}
	s.ready = true
	// What was sent so far counted on the smallest window there is.
	grown := int64(p.Settings.Window) - int64(s.remote.Window)
	s.remote = p.Settings
	s.poolRoom = int64(p.Settings.Pool)
	for i := range s.calls {
		if st := s.calls[i].stream; st != nil && st != abandoned {
			st.sendWindow += grown
			s.credited(st)
		}
	}
	if s.wakeAt == s.handshakeBy {
		s.look() // what else is waited for, and for longer
	}
	s.events.PeerReady(&p)
	return n, nil
}

func (s *Session) receiveFrame(h *Header, body []byte) *Error {
	switch h.Type {
	case Call:
		return s.receiveCall(h, body)
	case Result:
		return s.receiveResult(h, body)
	case Data:
		return s.receiveData(h, body)
	case Credit:
		return s.receiveCredit(h)
	case Cancel:
		s.receiveCancel(h)
		return nil
	case Define:
		return s.receiveDefine(h, body)
	case Ping:
		return s.receivePing(h)
	case GoAway:
		s.receiveGoAway(h, body)
		return nil
	default:
		return nil // a later version's frame that may be skipped
	}
}

// servedStream finds an open call that the peer opened.
func (s *Session) servedStream(id StreamID) *Stream {
	if slot := id.Slot(); int(slot) <= len(s.served) {
		if st := s.served[slot-1].stream; st != nil && st.id == id {
			return st
		}
	}
	return nil
}

// calledStream finds an open call that this side opened.
func (s *Session) calledStream(id StreamID) *Stream {
	if slot := id.Slot(); int(slot) <= len(s.calls) {
		if entry := &s.calls[slot-1]; entry.stream != nil && entry.last == id.Generation() {
			return entry.stream
		}
	}
	return nil
}

func (s *Session) stream(id StreamID) *Stream {
	if id.ByAcceptor() == s.options.Acceptor {
		return s.calledStream(id)
	}
	return s.servedStream(id)
}

func (s *Session) receiveCancel(h *Header) {
	st := s.servedStream(h.Stream)
	if st == nil {
		return
	}
	s.stop(st, Canceled, "the caller gave the call up", 0)
	code := Canceled
	if h.Word == CancelDeadline {
		code = DeadlineExceeded
	}
	s.events.Stopped(st, code)
}

func (s *Session) receiveDefine(h *Header, body []byte) *Error {
	name, err := ParseDefine(body)
	if err != nil {
		return err
	}
	for int(h.Code) >= len(s.bindings) {
		s.bindings = append(s.bindings, nil)
	}
	if s.bindings[h.Code] != nil {
		return violation(ErrMethod, "DEFINE of id %d, which is %q already", h.Code, s.bindings[h.Code].Name)
	}
	s.bindings[h.Code] = &Binding{Name: string(name)}
	return nil
}

func (s *Session) receivePing(h *Header) *Error {
	if h.Flags&FlagAck != 0 {
		s.pingAnswered(h.Word) // as a sign of life any byte will do
		return nil
	}
	if err := s.owe(); err != nil {
		return err
	}
	s.control(Header{Type: Ping, Flags: FlagAck, Word: h.Word})
	return nil
}

// owe counts an answer that the peer can make us queue without holding a slot.
func (s *Session) owe() *Error {
	if s.owed++; s.owed > maxOwed {
		return violation(ErrFlood, "more than %d refusals and PING answers are unsent", maxOwed)
	}
	return nil
}

func (s *Session) receiveGoAway(h *Header, body []byte) {
	if h.Flags&FlagAck != 0 {
		s.peerDrained = true
		return
	}
	reason, text := ParseGoAway(h, body)
	// The first, and the first that says that the connection ends: not as many as
	// the peer cares to send.
	if s.peerEnds || s.peerGoAway && reason == GoAwayDraining {
		return
	}
	s.peerGoAway = true
	s.peerEnds = reason != GoAwayDraining
	s.sayDrained()
	why := s.events.PeerGoesAway(reason, text)
	if reason == GoAwayNotServed {
		s.unspoken = true
		s.endCalls(s.moved, why)
	}
}
