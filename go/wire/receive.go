package wire

// Receive takes in the whole frames at the start of b and returns how many
// bytes they were; the rest is to be offered again with what follows it. An
// error ends the connection.
func (s *Session) Receive(b []byte, now int64) (n int, err *Error) {
	s.now = now
	if len(b) > 0 {
		s.lastReceived, s.pingSent = now, 0
	}
	if !s.ready {
		if n, err = s.receivePreface(b); n == 0 || err != nil {
			return 0, err
		}
	}
	for len(b)-n >= HeaderSize {
		h := ParseHeader(b[n:])
		if err := h.Check(s.options.Local.FrameBody, !s.options.Acceptor); err != nil {
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

func (s *Session) receivePreface(b []byte) (n int, err *Error) {
	p, n, err := ParsePreface(b)
	if s.options.Acceptor && (n > 0 || err != nil && err.Class == ErrVersion) {
		s.appendPreface()
	}
	if n == 0 || err != nil {
		return 0, err
	}
	s.ready = true
	// What was sent so far counted on the smallest window there is.
	grown := int64(p.Settings.Window) - int64(s.remote.Window)
	s.remote = p.Settings
	for i := range s.calls {
		if st := s.calls[i].stream; st != nil && st != abandoned {
			st.sendWindow += grown
			s.credited(st)
		}
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
		if st := s.servedStream(h.Stream); st != nil {
			code := Canceled
			if h.Word == 1 {
				code = DeadlineExceeded
			}
			s.cut(st, code, "the caller gave the call up")
			s.events.Stopped(st, code)
		}
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

// receiveCall tracks or refuses a call that the peer opens.
func (s *Session) receiveCall(h *Header, body []byte) *Error {
	slot := h.Stream.Slot()
	if slot > s.options.Local.Calls {
		return s.refuseUntracked(h.Stream)
	}
	for int(slot) > len(s.served) {
		s.served = append(s.served, serving{})
	}
	entry := &s.served[slot-1]
	if entry.stream != nil || entry.freeAt > s.moved {
		return violation(ErrState, "CALL on slot %d, which is taken", slot)
	}
	if next := entry.last%maxGeneration + 1; h.Stream.Generation() != next {
		return violation(ErrState, "CALL on slot %d with generation %d instead of %d", slot, h.Stream.Generation(), next)
	}
	entry.last = h.Stream.Generation()

	var binding *Binding
	if h.Code != 0 {
		if int(h.Code) >= len(s.bindings) || s.bindings[h.Code] == nil {
			return violation(ErrMethod, "CALL to method id %d, which is not defined", h.Code)
		}
		binding = s.bindings[h.Code]
	}
	b, err := ParseBody(h, body, h.Flags&FlagMore != 0)
	if err != nil {
		return s.callError(h.Stream, err)
	}
	if h.Flags&FlagMore != 0 {
		if err := checkPieces(b.Total, len(b.Payload), true); err != nil {
			return err
		}
		if b.Total > s.options.Local.Message {
			s.refuse(h.Stream, &Refusal{Code: ResourceExhausted, Message: s.tooLarge(b.Total)})
			return nil
		}
	}
	if int64(len(b.Payload)+frameCost) > int64(s.options.Local.Window) {
		return violation(ErrCredit, "CALL overspends the window")
	}
	if uint32(len(b.Payload)) > s.options.Local.Message { //nolint:gosec // one frame
		s.refuse(h.Stream, &Refusal{Code: ResourceExhausted, Message: s.tooLarge(uint32(len(b.Payload)))}) //nolint:gosec // one frame
		return nil
	}
	if s.peerDrained {
		s.refuse(h.Stream, &Refusal{Code: Unavailable, Message: "the caller said that it opens no more calls", RetryAfter: 1})
		return nil
	}
	in := &s.incoming
	*in = Incoming{
		Method: binding, End: h.Flags&FlagEnd != 0, OneWay: h.Flags&FlagOneWay != 0,
		Codec: h.Codec, Compression: h.Compression, Cost: uint32(len(b.Payload) + frameCost), //nolint:gosec // one frame
	}
	if b.Metadata != nil {
		if in.Metadata, err = ParseMetadata(b.Metadata, &s.options.Local); err != nil {
			return s.callError(h.Stream, err)
		}
	}
	if binding == nil {
		in.Method = &Binding{Name: string(b.Name)}
	}
	if h.Flags&(FlagMsg|FlagMore) == FlagMsg {
		in.HasMessage, in.Payload = true, b.Payload
	}
	if h.Word != 0 && h.Word != maxRemaining {
		in.Deadline = s.now + int64(h.Word)*1000
	}
	st, refusal := s.events.Accept(in)
	if refusal != nil {
		s.refuse(h.Stream, refusal)
		return nil
	}
	s.track(st, entry, h, in)
	if h.Flags&FlagMsg != 0 {
		st.recvWindow -= int64(in.Cost)
		if h.Flags&FlagMore != 0 {
			if s.begin(st, h, b.Total) {
				s.assemble(st, b.Payload)
			}
		} else if !in.End {
			st.needFlow().unconsumed = 1
		}
	}
	return nil
}

func (s *Session) track(st *Stream, entry *serving, h *Header, in *Incoming) {
	entry.stream = st
	s.openServed++
	st.id = h.Stream
	st.state = streamOpen
	if in.End {
		st.state |= streamRemoteEnd
	}
	st.codec = h.Codec
	st.sendWindow = int64(s.remote.Window)
	st.recvWindow = int64(s.options.Local.Window)
	st.deadline = in.Deadline
	if in.Deadline != 0 && (s.nextDeadline == 0 || in.Deadline < s.nextDeadline) {
		s.nextDeadline = in.Deadline
	}
}

func (s *Session) refuseUntracked(id StreamID) *Error {
	if err := s.owe(); err != nil {
		return err
	}
	s.refuse(id, &Refusal{
		Code: ResourceExhausted, Message: "max_calls " + utoa(s.options.Local.Calls) + " is exceeded", RetryAfter: 10,
	})
	return nil
}

// owe counts an answer that the peer can make us queue without holding a slot.
func (s *Session) owe() *Error {
	if s.owed++; s.owed > maxOwed {
		return violation(ErrFlood, "more than %d refusals and PING answers are unsent", maxOwed)
	}
	return nil
}

// callError refuses a CALL whose body is at fault, or passes on an error that
// ends the connection.
func (s *Session) callError(id StreamID, err *Error) *Error {
	r := Refusal{Code: InvalidArgument, Message: err.Text}
	switch err.Class {
	case ErrMetadata, ErrName:
	case ErrMetadataLimit:
		r.Code = ResourceExhausted
	default:
		return err
	}
	s.refuse(id, &r)
	return nil
}

func (s *Session) tooLarge(total uint32) string {
	return "message of " + utoa(total) + " bytes exceeds max_message " + utoa(s.options.Local.Message)
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

func (s *Session) receiveResult(h *Header, body []byte) *Error {
	st := s.calledStream(h.Stream)
	if st == nil {
		return violation(ErrState, "RESULT for slot %d, generation %d, which is not open", h.Stream.Slot(), h.Stream.Generation())
	}
	if h.Flags&FlagRefused != 0 && st.has(streamAnswered) {
		return violation(ErrState, "RESULT refuses a call that was answered already")
	}
	if st == abandoned {
		s.vacate(h.Stream.Slot())
		return nil
	}
	b, err := ParseBody(h, body, false)
	if err != nil && err.Class != ErrMetadata {
		return err
	}
	if h.Flags&FlagMsg != 0 {
		if st.assembling() {
			return violation(ErrPiece, "RESULT carries a message while another is in progress")
		}
		if st.recvWindow < int64(len(b.Payload)+frameCost) {
			return violation(ErrCredit, "RESULT overspends the window")
		}
		if h.Codec != st.codec {
			return violation(ErrState, "RESULT in codec %d of a call in codec %d", h.Codec, st.codec)
		}
	}
	assembling := st.assembling()
	s.vacate(h.Stream.Slot())
	s.close(st)
	e := &s.ending
	*e = Ending{Code: Code(h.Code), ServerTime: h.Word}
	switch {
	case h.Flags&FlagRefused != 0:
		e.Delivery, e.RetryAfter, e.ServerTime = Refused, h.Word, 0
	case h.Flags&FlagCut != 0:
		e.Delivery = DeliveryUnknown
	}
	if err == nil && b.Metadata != nil {
		e.Metadata, err = ParseMetadata(b.Metadata, &s.options.Local)
	}
	switch {
	case err != nil:
		e.Code, e.Message = answerFault(err)
	case h.Code != 0:
		e.Message, e.Details, _ = ParseStatus(b.Payload)
	case uint64(len(b.Payload)) > uint64(s.options.Local.Message):
		e.Code, e.Message = ResourceExhausted, s.tooLarge(uint32(len(b.Payload))) //nolint:gosec // one frame
	case assembling:
		e.Code, e.Message = Internal, "the answer ended inside a message"
	case h.Flags&FlagMsg != 0:
		e.HasMessage, e.Payload, e.Compression = true, b.Payload, h.Compression
	}
	s.events.Ended(st, e)
	return nil
}

// answerFault is the status of a call whose answer breaks a rule.
func answerFault(err *Error) (Code, string) {
	if err.Class == ErrMetadataLimit {
		return ResourceExhausted, "the answer's metadata: " + err.Text
	}
	return Internal, "the answer's metadata: " + err.Text
}

func (s *Session) receiveData(h *Header, body []byte) *Error {
	st := s.stream(h.Stream)
	if st == nil || st == abandoned {
		return nil // ended, given up or never tracked: what it says no longer matters
	}
	fromCaller := !st.has(streamCaller)
	if fromCaller && st.has(streamRemoteEnd) {
		return violation(ErrState, "DATA after END")
	}
	assembling := st.assembling()
	if assembling && h.Flags&FlagMsg == 0 {
		return violation(ErrPiece, "DATA without a message while one is in progress")
	}
	b, err := ParseBody(h, body, h.Flags&FlagMore != 0 && !assembling)
	if err != nil && err.Class != ErrMetadata {
		return err
	}
	if !fromCaller {
		if h.Flags&FlagMeta != 0 {
			if st.has(streamAnswered) {
				return violation(ErrState, "metadata on a DATA that is not the first")
			}
			if !s.earlyMetadata(st, b.Metadata, err) {
				return nil
			}
		}
		st.state |= streamAnswered
	}
	if h.Flags&FlagMsg != 0 {
		if h.Codec != st.codec {
			return violation(ErrState, "DATA in codec %d of a call in codec %d", h.Codec, st.codec)
		}
		if err := s.receiveMessage(st, h, &b); err != nil || !st.Open() {
			return err
		}
	}
	if h.Flags&FlagEnd != 0 {
		st.state |= streamRemoteEnd
		if !st.has(streamReturned) {
			s.events.HalfClosed(st)
		}
	}
	return nil
}

// earlyMetadata hands up the answer's first metadata; when it is malformed the
// call ends and it reports false.
func (s *Session) earlyMetadata(st *Stream, block []byte, err *Error) bool {
	var m Metadata
	if err == nil {
		m, err = ParseMetadata(block, &s.options.Local)
	}
	if err != nil {
		code, message := answerFault(err)
		s.giveUp(st, code, message)
		return false
	}
	s.events.EarlyMetadata(st, m)
	return true
}

// giveUp ends a call of this side whose answer cannot be taken.
func (s *Session) giveUp(st *Stream, code Code, message string) {
	s.Cancel(st, 2)
	s.ending = Ending{Code: code, Message: message, Delivery: DeliveryUnknown}
	s.events.Ended(st, &s.ending)
}

// receiveMessage takes in the message, or the piece of one, that a DATA
// carries.
func (s *Session) receiveMessage(st *Stream, h *Header, b *Body) *Error {
	cost := uint32(len(b.Payload) + frameCost) //nolint:gosec // one frame
	if st.recvWindow -= int64(cost); st.recvWindow < 0 {
		return violation(ErrCredit, "DATA on slot %d overspends the window by %d bytes", st.id.Slot(), -st.recvWindow)
	}
	f := st.needFlow()
	more := h.Flags&FlagMore != 0
	if !more && !f.assembling {
		if cost-frameCost > s.options.Local.Message {
			s.exceed(st, s.tooLarge(cost-frameCost))
			return nil
		}
		s.deliver(st, b.Payload, h.Compression, cost, false)
		return nil
	}
	if !f.assembling {
		if err := checkPieces(b.Total, len(b.Payload), true); err != nil {
			return err
		}
		if !s.begin(st, h, b.Total) {
			return nil
		}
	} else {
		if f.packed != h.Compression {
			return violation(ErrPiece, "pieces of one message in compressions %d and %d", f.packed, h.Compression)
		}
		if err := checkPieces(f.total, int(f.got)+len(b.Payload), more); err != nil {
			return err
		}
	}
	s.assemble(st, b.Payload)
	if !more {
		message := f.message
		s.endMessage(st)
		s.deliver(st, message, h.Compression, cost, true)
	}
	return nil
}

// deliver hands up a whole message, or drops it when the handler returned.
func (s *Session) deliver(st *Stream, message []byte, compression uint8, cost uint32, owned bool) {
	if st.has(streamReturned) {
		s.credit(st, cost)
		return
	}
	st.flow.unconsumed++
	s.events.Message(st, message, compression, cost, owned)
}

func checkPieces(total uint32, sum int, more bool) *Error {
	if more && uint64(sum) >= uint64(total) || !more && uint64(sum) != uint64(total) { //nolint:gosec // not negative
		return violation(ErrPiece, "pieces of %d bytes so far for a message of %d", sum, total)
	}
	return nil
}

// begin accounts for a cut message by its total, which allocates nothing. A
// total beyond the limits ends the call, and begin reports false.
func (s *Session) begin(st *Stream, h *Header, total uint32) bool {
	over := ""
	switch {
	case total > s.options.Local.Message:
		over = s.tooLarge(total)
	case s.promised+uint64(total) > maxPromised:
		over = "messages in progress exceed " + utoa(maxPromised) + " bytes on this connection"
	}
	if over != "" {
		s.exceed(st, over)
		return false
	}
	f := st.needFlow()
	f.assembling, f.total, f.got, f.packed, f.message = true, total, 0, h.Compression, nil
	s.promised += uint64(total)
	return true
}

// exceed ends a call whose message is over a limit.
func (s *Session) exceed(st *Stream, text string) {
	if st.has(streamCaller) {
		s.giveUp(st, ResourceExhausted, text)
		return
	}
	s.cut(st, ResourceExhausted, text)
	s.events.Stopped(st, ResourceExhausted)
}

// assemble adds a piece. The buffer never grows to more than twice what has
// arrived, whatever total the peer promised.
func (s *Session) assemble(st *Stream, piece []byte) {
	f := st.flow
	f.got += uint32(len(piece)) //nolint:gosec // one frame
	if !st.has(streamReturned) {
		if need := len(f.message) + len(piece); need > cap(f.message) {
			grown := make([]byte, len(f.message), min(int(f.total), max(2*need, 2*MinPiece)))
			copy(grown, f.message)
			f.message = grown
		}
		f.message = append(f.message, piece...)
	}
	if f.got == f.total {
		return // the last piece is credited when the message is consumed
	}
	cost := uint32(len(piece) + frameCost) //nolint:gosec // one frame
	if f.unconsumed > 0 {
		f.withheld += cost
	} else {
		s.credit(st, cost)
	}
}

// endMessage ends the accounting of a cut message.
func (s *Session) endMessage(st *Stream) {
	if f := st.flow; f != nil && f.assembling {
		s.promised -= uint64(f.total)
		f.assembling, f.message = false, nil
	}
}

// Consumed returns the credit of a whole message, by the cost that came with
// it, now that the application has it.
func (s *Session) Consumed(st *Stream, cost uint32) {
	if !st.Open() || st.flow == nil {
		return
	}
	if f := st.flow; f.unconsumed > 1 {
		f.unconsumed--
	} else {
		f.unconsumed = 0
		cost += f.withheld
		f.withheld = 0
	}
	s.credit(st, cost)
}

// credit returns n bytes of the window once at least half of it is owed.
func (s *Session) credit(st *Stream, n uint32) {
	f := st.needFlow()
	f.owed += n
	if f.owed < s.options.Local.Window/2 || st.has(streamRemoteEnd) {
		return
	}
	st.recvWindow += int64(f.owed)
	s.control(Header{Type: Credit, Stream: st.id, Word: f.owed})
	f.owed = 0
}

func (s *Session) receiveCredit(h *Header) *Error {
	st := s.stream(h.Stream)
	if st == nil || st == abandoned {
		return nil
	}
	if st.sendWindow += int64(h.Word); st.sendWindow > MaxWindow {
		return violation(ErrCredit, "CREDIT raises the window of slot %d above 2^31-1", h.Stream.Slot())
	}
	s.credited(st)
	return nil
}

// credited lets a message that waits go on.
func (s *Session) credited(st *Stream) {
	if st.flow != nil && st.flow.hasPending {
		s.enter(st)
	}
}

func (s *Session) receiveDefine(h *Header, body []byte) *Error {
	if h.Code == 0 || uint32(h.Code) > s.options.Local.Methods {
		return violation(ErrMethod, "DEFINE of id %d; max_methods is %d", h.Code, s.options.Local.Methods)
	}
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
		return nil // any byte is a sign of life; which one does not matter
	}
	if err := s.owe(); err != nil {
		return err
	}
	s.control(Header{Type: Ping, Flags: FlagAck, Word: h.Word})
	return nil
}

func (s *Session) receiveGoAway(h *Header, body []byte) {
	if h.Flags&FlagAck != 0 {
		s.peerDrained = true
		return
	}
	if !s.peerGoAway || h.Word != 0 {
		s.peerGoAway = true
		s.sayDrained()
		s.events.PeerGoesAway(h.Word, string(body[:min(len(body), MaxGoAwayText)]))
	}
}
