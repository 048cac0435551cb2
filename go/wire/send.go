package wire

import "slices"

// maxRemaining stands for a remaining time of that many microseconds or more
// (section 7.1).
const maxRemaining = 1<<32 - 1

// Remaining turns the time left, in nanoseconds, into what a CALL carries.
// Time that has run out is not representable: such a call is not sent.
func Remaining(nanoseconds int64) uint32 {
	return uint32(min(max(nanoseconds/1000, 1), maxRemaining)) //nolint:gosec // bounded here
}

// Outgoing is a call to open.
type Outgoing struct {
	Method      Method
	Codec       uint8
	Remaining   uint32 // microseconds, 0: no deadline
	Metadata    Metadata
	Payload     []byte // kept until the message was appended when it does not fit one frame
	HasMessage  bool
	Compression uint8
	End         bool
}

// HasSlots reports whether n more calls can be opened now.
func (s *Session) HasSlots(n int) bool { return s.openCalls+n <= int(s.remote.Calls) }

// Open opens a call on st, which must not be open. The caller made sure that
// AcceptsCalls and HasSlots hold and that the metadata passes Check. queued
// reports that the message waits for its turn, with Events.Sent to come.
func (s *Session) Open(st *Stream, c *Outgoing) (queued bool) {
	slot := s.taken.grab(s.remote.Calls)
	for int(slot) > len(s.calls) {
		s.calls = append(s.calls, calling{})
	}
	entry := &s.calls[slot-1]
	entry.last = entry.last%maxGeneration + 1
	entry.stream = st
	s.openCalls++

	id := s.methodID(c.Method)
	st.id = MakeStreamID(slot, entry.last, s.options.Acceptor)
	st.state = streamOpen | streamCaller
	st.codec = c.Codec
	st.sendWindow = int64(s.remote.Window)
	st.recvWindow = int64(s.options.Local.Window)
	st.sentAt = s.appended
	st.flow = nil

	h := Header{Type: Call, Stream: st.id, Code: id, Codec: c.Codec, Word: c.Remaining}
	length := 0
	if len(c.Metadata) > 0 {
		h.Flags |= FlagMeta
		size := c.Metadata.size()
		length += varintSize(uint32(size)) + size //nolint:gosec // passed Check
	}
	if id == 0 {
		length += varintSize(uint32(len(c.Method.Name))) + len(c.Method.Name) //nolint:gosec // at most MaxMethodName
	}
	whole := c.HasMessage && length+len(c.Payload) <= MinPiece
	if whole {
		h.Flags |= FlagMsg
		h.Compression = c.Compression
		length += len(c.Payload)
		st.sendWindow -= int64(len(c.Payload) + frameCost)
	}
	if c.End && (whole || !c.HasMessage) {
		h.Flags |= FlagEnd
		st.state |= streamLocalEnd
	}
	h.Length = uint32(length) //nolint:gosec // at most MinPiece
	s.frame(h)
	if h.Flags&FlagMeta != 0 {
		s.out = AppendMetadata(s.out, c.Metadata)
	}
	if id == 0 {
		s.out = AppendVarint(s.out, uint32(len(c.Method.Name))) //nolint:gosec // as above
		s.out = append(s.out, c.Method.Name...)
	}
	if whole {
		s.out = append(s.out, c.Payload...)
	}
	s.appended += uint64(HeaderSize + length) //nolint:gosec // positive
	if c.HasMessage && !whole {
		return !s.Send(st, c.Payload, c.Compression, c.End)
	}
	return false
}

// methodID returns the id of a name, defining it at first use; 0 asks for the
// name inline, once the peer's table is full.
func (s *Session) methodID(m Method) uint16 {
	if m.Index < 0 {
		return 0
	}
	if m.Index < len(s.ids) {
		if id := s.ids[m.Index]; id != 0 {
			return id
		}
	}
	if uint32(s.lastID) >= s.remote.Methods {
		return 0
	}
	for m.Index >= len(s.ids) {
		s.ids = append(s.ids, 0)
	}
	s.lastID++
	s.ids[m.Index] = s.lastID
	s.gather()
	n := len(s.out)
	s.out = AppendDefine(s.out, s.lastID, m.Name)
	s.appended += uint64(len(s.out) - n) //nolint:gosec // it grew
	return s.lastID
}

// Send appends a message to an open stream. It reports false when the message
// has to wait for credit or for its turn: payload then belongs to the session
// until Events.Sent, or until the call ends, and nothing else may be sent on
// the stream meanwhile. end makes it the caller's last.
func (s *Session) Send(st *Stream, payload []byte, compression uint8, end bool) (done bool) {
	cost := int64(len(payload) + frameCost)
	if len(payload) <= MinPiece && cost <= st.sendWindow && len(s.out) < ordinaryUnsent {
		s.data(st, payload, compression, end)
		return true
	}
	f := st.needFlow()
	f.pending, f.hasPending, f.compression, f.begun, f.end = payload, true, compression, false, end
	s.enter(st)
	return false
}

// data appends one whole message as a DATA frame.
func (s *Session) data(st *Stream, payload []byte, compression uint8, end bool) {
	h := Header{
		Length: uint32(len(payload)), Type: Data, Stream: st.id, //nolint:gosec // at most MinPiece
		Flags: FlagMsg, Codec: st.codec, Compression: compression,
	}
	if end {
		h.Flags |= FlagEnd
		st.state |= streamLocalEnd
	}
	st.sendWindow -= int64(len(payload) + frameCost)
	s.frame(h)
	s.out = append(s.out, payload...)
	s.appended += uint64(HeaderSize + len(payload)) //nolint:gosec // positive
}

// SendMetadata appends the callee's early metadata, which must come before any
// of its messages.
func (s *Session) SendMetadata(st *Stream, m Metadata) {
	size := m.size()
	length := varintSize(uint32(size)) + size                                           //nolint:gosec // passed Check
	s.frame(Header{Length: uint32(length), Type: Data, Stream: st.id, Flags: FlagMeta}) //nolint:gosec // passed Check
	s.out = AppendMetadata(s.out, m)
	s.appended += uint64(HeaderSize + length) //nolint:gosec // positive
}

// CloseSend appends the caller's END, after the message that waits if any.
func (s *Session) CloseSend(st *Stream) {
	if !st.Open() || st.has(streamLocalEnd) {
		return
	}
	if f := st.flow; f != nil && f.hasPending {
		f.end = true
		return
	}
	st.state |= streamLocalEnd
	s.control(Header{Type: Data, Stream: st.id, Flags: FlagEnd})
}

// enter puts a stream with a waiting message into the ring.
func (s *Session) enter(st *Stream) {
	if !st.has(streamInRing) {
		st.state |= streamInRing
		s.ring = append(s.ring, st)
	}
}

// fill appends waiting messages, a piece of each stream in turn, while little
// is unsent and at least one piece.
func (s *Session) fill() {
	first := true
	for len(s.ring) > 0 && (first || len(s.out) < largeUnsent) {
		st := s.ring[0]
		s.ring = s.ring[1:]
		st.state &^= streamInRing
		if st.flow == nil || !st.flow.hasPending || !st.Open() {
			continue
		}
		switch sent, finished := s.piece(st); {
		case !sent: // waits for credit; CREDIT brings it back
		case finished:
			first = false
			s.finished(st)
		default:
			first = false
			s.enter(st)
		}
	}
	if len(s.ring) == 0 {
		s.ring = nil
	}
}

// piece appends the next piece of the message that waits on st, or nothing
// when the window does not hold it.
func (s *Session) piece(st *Stream) (sent, finished bool) {
	f := st.flow
	h := Header{Type: Data, Stream: st.id, Flags: FlagMsg, Codec: st.codec, Compression: f.compression}
	prefix := 0
	payload := f.pending
	if f.begun || len(payload) > MinPiece {
		if !f.begun {
			prefix = varintSize(uint32(len(payload))) //nolint:gosec // at most max_message
		}
		if len(payload) > MinPiece-prefix {
			payload = payload[:MinPiece-prefix]
			h.Flags |= FlagMore
		}
	}
	cost := int64(len(payload) + frameCost)
	if cost > st.sendWindow {
		return false, false
	}
	if finished = h.Flags&FlagMore == 0; finished && f.end {
		h.Flags |= FlagEnd
		st.state |= streamLocalEnd
	}
	st.sendWindow -= cost
	h.Length = uint32(prefix + len(payload)) //nolint:gosec // at most MinPiece
	s.frame(h)
	if prefix > 0 {
		s.out = AppendVarint(s.out, uint32(len(f.pending))) //nolint:gosec // at most max_message
	}
	s.out = append(s.out, payload...)
	s.appended += uint64(HeaderSize) + uint64(h.Length)
	f.begun = true
	f.pending = f.pending[len(payload):]
	return true, finished
}

func (s *Session) finished(st *Stream) {
	result := st.flow.result
	st.dropOutgoing()
	if result != nil {
		s.result(st, result)
		return
	}
	s.events.Sent(st)
}

// Cancel gives up a call that this side opened: st is free at once, and
// Events.Ended is not called. The slot stays taken until the callee's RESULT.
func (s *Session) Cancel(st *Stream, reason uint32) {
	if !st.Open() {
		return
	}
	entry := &s.calls[st.id.Slot()-1]
	entry.stream = abandoned
	entry.resultBy = s.now + cancelPatience
	if s.resultBy == 0 {
		s.resultBy = entry.resultBy
	}
	s.close(st)
	s.control(Header{Type: Cancel, Stream: st.id, Word: reason})
}

// Finish ends a call that the peer opened with what its handler answered. A
// message that does not fit into RESULT goes ahead of it as DATA; its bytes may
// then belong to the session until the call is over (queued). Finishing a call that was ended
// otherwise does nothing.
func (s *Session) Finish(st *Stream, e *Ending) (queued bool) {
	if !st.Open() {
		return false
	}
	if !e.HasMessage {
		st.dropOutgoing()
		s.result(st, e)
		return false
	}
	room := MinPiece
	if len(e.Metadata) > 0 {
		room -= e.Metadata.size() + maxVarint
	}
	if len(e.Payload) <= room && int64(len(e.Payload)+frameCost) <= st.sendWindow {
		s.result(st, e)
		return false
	}
	st.state |= streamReturned
	payload := e.Payload
	e.Payload, e.HasMessage = nil, false
	if s.Send(st, payload, e.Compression, false) {
		s.result(st, e)
		return false
	}
	later := *e
	st.flow.result = &later
	return true
}

// result appends the RESULT of a served call and frees its slot as soon as
// the RESULT has moved to the writer.
func (s *Session) result(st *Stream, e *Ending) {
	h := Header{Type: Result, Stream: st.id, Code: uint16(e.Code), Word: e.ServerTime}
	switch e.Delivery {
	case Refused:
		h.Flags |= FlagRefused
		h.Word = e.RetryAfter
	case DeliveryUnknown:
		h.Flags |= FlagCut
	case Executed, NotSent:
	}
	start := len(s.out)
	s.frame(h)
	if len(e.Metadata) > 0 {
		h.Flags |= FlagMeta
		s.out = AppendMetadata(s.out, e.Metadata)
	}
	switch {
	case e.HasMessage:
		h.Flags |= FlagMsg
		h.Codec, h.Compression = st.codec, e.Compression
		s.out = append(s.out, e.Payload...)
	case e.Code != OK:
		var stripped bool
		s.out, stripped = AppendStatus(s.out, e.Message, e.Details, MinPiece-(len(s.out)-start-HeaderSize))
		if stripped {
			h.Flags |= FlagStripped
		}
	}
	h.Length = uint32(len(s.out) - start - HeaderSize) //nolint:gosec // at most MinPiece
	AppendHeader(s.out[:start], h)
	s.appended += uint64(len(s.out) - start) //nolint:gosec // it grew
	s.detach(st)
}

// cut ends a started call without its handler.
func (s *Session) cut(st *Stream, code Code, message string) {
	st.dropOutgoing()
	s.result(st, &Ending{Code: code, Message: message, Delivery: DeliveryUnknown})
}

// Cut ends a started call without its handler, because of a limit.
func (s *Session) Cut(st *Stream, code Code, message string) {
	if st.Open() {
		s.cut(st, code, message)
	}
}

// refuse answers a CALL that was never started.
func (s *Session) refuse(id StreamID, r *Refusal) {
	st := Stream{id: id, state: streamOpen}
	s.result(&st, &Ending{Code: r.Code, Message: r.Message, Delivery: Refused, RetryAfter: r.RetryAfter})
}

// detach takes a served call out of its slot.
func (s *Session) detach(st *Stream) {
	if slot := int(st.id.Slot()); slot <= len(s.served) {
		entry := &s.served[slot-1]
		entry.freeAt = s.appended
		if entry.stream == st {
			entry.stream = nil
			s.openServed--
		}
	}
	s.close(st)
}

// vacate frees the slot of a call of this side.
func (s *Session) vacate(slot uint32) {
	s.calls[slot-1].stream = nil
	s.taken.release(slot)
	s.openCalls--
}

// close forgets what the session holds for a stream.
func (s *Session) close(st *Stream) {
	st.state &^= streamOpen
	if st.flow == nil {
		return
	}
	st.dropOutgoing()
	s.endMessage(st)
	if st.has(streamInRing) {
		st.state &^= streamInRing
		s.ring = slices.DeleteFunc(s.ring, func(other *Stream) bool { return other == st })
	}
}
