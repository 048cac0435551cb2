package wire

import "strconv"

// receiveCall tracks or refuses a call that the peer opens.
func (s *Session) receiveCall(h *Header, body []byte) *Error {
	var binding *Binding
	if h.Code != 0 {
		if int(h.Code) >= len(s.bindings) || s.bindings[h.Code] == nil {
			return violation(ErrMethod, "CALL to method id %d, which is not defined", h.Code)
		}
		binding = s.bindings[h.Code]
	}
	slot := h.Stream.Slot()
	if slot > s.options.Local.Calls {
		return s.refuseUntracked(h.Stream, binding)
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

	b, err := ParseBody(h, body, h.Flags&FlagMore != 0, &s.options.Local)
	if err == nil && int64(len(b.Payload)+frameCost) > int64(s.options.Local.Window) {
		err = violation(ErrCredit, "CALL overspends the window")
	}
	size := max(b.Total, uint32(len(b.Payload)))
	if err == nil && size > s.options.Local.Message {
		err = s.tooLarge(size)
	}
	if err == nil && h.Compression != 0 && !s.accepts(h.Compression) {
		err = s.unknownCompression(h.Compression)
	}
	if err == nil && h.Codec >= firstNamedCodec && !s.names(h.Codec) {
		err = s.unknownCodec(h.Codec)
	}
	if err != nil {
		return s.refuseFault(h.Stream, binding, err)
	}
	refusal := s.refusesNow(b.Total)
	in := &s.incoming
	*in = Incoming{
		Method: binding, Metadata: b.Metadata, Own: b.Own,
		End: h.Flags&FlagEnd != 0, OneWay: h.Flags&FlagOneWay != 0,
		Codec: h.Codec, Compression: h.Compression, Cost: Cost{Window: uint32(len(b.Payload) + frameCost)}, Refused: refusal != nil,
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
	st, fault := s.events.Accept(in)
	if fault != nil {
		refusal = fault
	}
	if refusal != nil {
		s.refuse(h.Stream, in.Method, refusal)
		return nil
	}
	s.track(st, entry, h, in)
	switch {
	case h.Flags&FlagMsg == 0:
		if in.End && st.has(streamSingle) {
			s.fault(st, errNoRequest)
		}
	case !in.End:
		st.state |= streamBegun
		st.recvWindow -= int64(in.Cost.Window)
		f := st.needFlow()
		if h.Flags&FlagMore != 0 {
			s.begin(st, h, b.Total)
			if err := s.assemble(st, b.Payload, in.Cost, true); err != nil {
				s.fault(st, err)
			}
			break
		}
		weighs := weight(len(b.Payload))
		if !s.affords(st, int(weighs)) {
			s.fault(st, s.options.Budget.full)
			break
		}
		s.keep(f, weighs)
		if st.has(streamSingle) {
			s.credit(st, in.Cost.Window)
		} else {
			f.unconsumed, f.due = 1, in.Cost.Window
		}
	}
	return nil
}

func (s *Session) track(st *Stream, entry *serving, h *Header, in *Incoming) {
	entry.stream = st
	s.openServed++
	st.id = h.Stream
	st.state = streamOpen | st.state&(streamHeld|streamSingle)
	if in.End {
		st.state |= streamRemoteEnd
	}
	if in.OneWay {
		st.state |= streamOneWay
	}
	st.codec = in.Codec
	st.sendWindow = int64(s.remote.Window)
	st.recvWindow = int64(s.options.Local.Window)
	st.flow = nil
	st.deadline = in.Deadline
	if in.Deadline != 0 {
		s.wakeBy(in.Deadline)
	}
}

// refusesNow is the refusal of a CALL that is not at fault, nil if it may be
// accepted.
func (s *Session) refusesNow(total uint32) *Refusal {
	if s.peerDrained || s.sentGoAway {
		if refusal := s.refusesAll(); refusal != nil {
			return refusal
		}
	}
	if s.promised+s.held+uint64(total) > maxPromised {
		return &Refusal{Code: ResourceExhausted, Message: promisedText, RetryAfter: RoomRetry}
	}
	if total > 0 && !s.affords(nil, min(int(total), 2*MinPiece)) {
		return &Refusal{Code: ResourceExhausted, Message: s.options.Budget.full.Text, RetryAfter: RoomRetry}
	}
	return nil
}

func (s *Session) refuseUntracked(id StreamID, binding *Binding) *Error {
	if err := s.owe(); err != nil {
		return err
	}
	s.refuse(id, binding, &Refusal{
		Code: ResourceExhausted, Message: "max_calls " + utoa(s.options.Local.Calls) + " is exceeded", RetryAfter: RoomRetry,
	})
	return nil
}

// refuseFault refuses a CALL that is at fault, or passes on an error that ends
// the connection.
func (s *Session) refuseFault(id StreamID, binding *Binding, err *Error) *Error {
	if !err.Class.EndsCall() {
		return err
	}
	s.refuse(id, binding, &Refusal{Code: err.Class.requestCode(), Message: err.Text})
	return nil
}

// Codec numbers from firstNamedCodec up are users' own: each side's settings name
// those that it has (section 3.8).
const firstNamedCodec = 8

// names reports whether both sides mean the same by a number of users' own.
func (s *Session) names(codec uint8) bool {
	name := s.options.Local.Codecs[codec]
	return name != "" && name == s.remote.Codecs[codec]
}

func (s *Session) unknownCodec(codec uint8) *Error {
	text := "codec " + utoa(uint32(codec)) + " (" + strconv.Quote(s.remote.Codecs[codec]) + ") is not known here"
	if s.options.Codecs != "" {
		text += ", only " + s.options.Codecs
	}
	return &Error{Class: ErrCodec, Text: text}
}

func (s *Session) accepts(compression uint8) bool {
	return s.options.Local.Compressions&(1<<compression) != 0
}

func (s *Session) unknownCompression(n uint8) *Error {
	accepted := "none"
	switch s.options.Local.Compressions {
	case 1 << Gzip:
		accepted = "gzip"
	case 1 << Zstd:
		accepted = "zstd"
	case 1<<Gzip | 1<<Zstd:
		accepted = "gzip and zstd"
	}
	return violation(ErrCompression, "compression %d is not accepted here, only %s", n, accepted)
}

func (s *Session) tooLarge(size uint32) *Error {
	return violation(ErrMessageSize, "message of %d bytes exceeds max_message %d", size, s.options.Local.Message)
}
