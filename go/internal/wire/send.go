package wire

import "slices"

// Send appends a message to an open stream. It reports false when the message
// has to wait for credit or for its turn: payload then belongs to the session
// until Events.Sent, or until the call ends, and nothing else may be sent on
// the stream meanwhile. end makes it the caller's last. It does nothing on a
// call that is over, after that last message, after Finish, on the callee's
// side of a one-way call, and while another message waits.
func (s *Session) Send(st *Stream, payload []byte, compression uint8, end bool) (done bool) {
	if st.has(streamLocalEnd|streamReturned|streamOneWay) || !st.Open() || st.flow != nil && st.flow.hasPending {
		return true
	}
	if !st.has(streamCaller) && !s.affords(st, cap(payload)) {
		s.stop(st, ResourceExhausted, s.options.Budget.full.Text, RoomRetry)
		s.events.Stopped(st, ResourceExhausted)
		return true
	}
	return s.send(st, payload, compression, end)
}

func (s *Session) send(st *Stream, payload []byte, compression uint8, end bool) (done bool) {
	if len(payload) <= MinPiece && s.Unsent() < ordinaryUnsent {
		if flag, ok := s.spend(st, len(payload), len(payload)); ok {
			s.data(st, payload, flag, compression, end)
			return true
		}
	}
	f := st.needFlow()
	f.pending, f.hasPending, f.compression, f.begun, f.end = payload, true, compression, false, end
	f.passed, f.waitingSince = 0, 0
	if !st.has(streamCaller) { // a caller's are its own affair
		s.beginsToHold(f)
		f.queued = cap(payload) // which is there until the last piece has left
		s.queued += f.queued
	}
	s.enter(st)
	return false
}

// data appends one whole message as a DATA frame, which has been paid for.
func (s *Session) data(st *Stream, payload []byte, flag Flags, compression uint8, end bool) {
	h := Header{
		Length: uint32(len(payload)), Type: Data, Stream: st.id,
		Flags: FlagMsg | flag, Codec: st.codec, Compression: compression,
	}
	if end {
		h.Flags |= FlagEnd
		st.state |= streamLocalEnd
	}
	st.state |= streamSpoken
	s.frame(h, len(payload))
	s.out = append(s.out, payload...)
	s.appended += uint64(HeaderSize + len(payload))
}

// SendMetadata appends the callee's early metadata. It does nothing once a
// message was sent, since only the first DATA may carry it, and on a one-way
// call.
func (s *Session) SendMetadata(st *Stream, m Metadata) {
	if !st.Open() || st.has(streamSpoken|streamReturned|streamOneWay|streamCaller) || st.flow != nil && st.flow.hasPending {
		return
	}
	st.state |= streamSpoken
	length := blockSize(m, nil)
	s.frame(Header{Length: uint32(length), Type: Data, Stream: st.id, Flags: FlagMeta}, length)
	s.out = AppendMetadata(s.out, m, nil)
	s.appended += uint64(HeaderSize + length)
}

// CloseSend appends the caller's END, after the message that waits if any.
func (s *Session) CloseSend(st *Stream) {
	if !st.Open() || !st.has(streamCaller) || st.has(streamLocalEnd) {
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
	most := largeUnsent
	if s.openCalls+s.openServed == 1 && s.options.Splice {
		most = aloneUnsent
	}
	for first := true; first || s.Unsent() < most; {
		if s.queueMoves() {
			s.nextInQueue()
		}
		if len(s.ring) == 0 {
			break
		}
		st := s.ring[0]
		s.ring = s.ring[1:]
		st.state &^= streamInRing
		if st.flow == nil || !st.flow.hasPending || !st.Open() {
			continue
		}
		switch sent, finished := s.piece(st); {
		case !sent:
			s.waitForPool(st)
		case finished:
			first = false
			s.finished(st)
		case len(s.queue) > 0 && st.nextBody() > st.sendWindow-frameCost:
			first = false
			s.waitForPool(st) // behind those that wait for the pool
		default:
			first = false
			s.enter(st)
		}
	}
	if len(s.ring) == 0 {
		s.ring = nil
	}
	if len(s.ring)+len(s.queue) > 0 {
		s.wakeBy(s.now + watchInterval)
	}
}

// piece appends the next piece of the message that waits on st, or nothing
// when neither the window nor the pool holds it.
func (s *Session) piece(st *Stream) (sent, finished bool) {
	f := st.flow
	h := Header{Type: Data, Stream: st.id, Flags: FlagMsg, Codec: st.codec, Compression: f.compression}
	prefix := 0
	payload := f.pending
	if f.begun || len(payload) > MinPiece {
		if !f.begun {
			prefix = varintSize(uint32(len(payload)))
		}
		if len(payload) > MinPiece-prefix {
			payload = payload[:MinPiece-prefix]
			h.Flags |= FlagMore
		}
	}
	flag, ok := s.spend(st, len(payload), prefix+len(payload))
	if !ok {
		return false, false
	}
	h.Flags |= flag
	if finished = h.Flags&FlagMore == 0; finished && f.end {
		h.Flags |= FlagEnd
		st.state |= streamLocalEnd
	}
	st.state |= streamSpoken
	h.Length = uint32(prefix + len(payload))
	splice := s.options.Splice && len(payload) >= leastSplice
	here := int(h.Length)
	if splice {
		here = prefix
	}
	s.frame(h, here)
	if prefix > 0 {
		s.out = AppendVarint(s.out, uint32(len(f.pending)))
	}
	if splice {
		s.splices = append(s.splices, Splice{At: len(s.out), Payload: payload})
		s.spliced += len(payload)
	} else {
		s.out = append(s.out, payload...)
	}
	s.appended += uint64(HeaderSize) + uint64(h.Length)
	f.begun = true
	f.pending = f.pending[len(payload):]
	f.passed += len(payload)
	return true, finished
}

func (s *Session) finished(st *Stream) {
	result := st.flow.result
	s.dropOutgoing(st)
	s.events.Sent(st)
	if result != nil {
		s.end(st, result)
	}
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
	s.wakeBy(entry.resultBy)
	s.close(st)
	s.control(Header{Type: Cancel, Stream: st.id, Word: reason})
}

// giveUp ends a call of this side that cannot go on.
func (s *Session) giveUp(st *Stream, reason uint32, code Code, message string) {
	s.Cancel(st, reason)
	s.ending = Ending{Code: code, Message: message, Local: true}
	s.events.Ended(st, &s.ending)
}

// Finish ends a call that the peer opened with what its handler answered. A
// message that does not fit into RESULT goes ahead of it as DATA; its bytes may
// then belong to the session until the call is over (queued). Finishing a call
// that was ended otherwise, or finished already, does nothing.
func (s *Session) Finish(st *Stream, e *Ending) (queued bool) {
	if !st.Open() || st.has(streamReturned) {
		return false
	}
	return s.end(st, e)
}

func (s *Session) end(st *Stream, e *Ending) (queued bool) {
	if st.flow != nil && st.flow.hasPending {
		s.endLater(st, e)
		return true // RESULT follows the messages
	}
	if !e.HasMessage || e.Code != OK || st.has(streamOneWay) {
		s.result(st, e)
		return false
	}
	room := MinPiece
	if len(e.Metadata) > 0 || e.Own != nil {
		room -= blockSize(e.Metadata, e.Own)
	}
	fits := len(e.Payload) <= room && int64(len(e.Payload)+frameCost) <= st.sendWindow
	held := cap(e.Payload) // which is there until the last piece has left
	if fits {
		held = len(e.Payload) // its buffer goes back at once
	}
	if !s.affords(st, held) {
		s.result(st, s.lacksRoom())
		return false
	}
	if fits {
		s.result(st, e)
		return false
	}
	payload := e.Payload
	e.Payload, e.HasMessage = nil, false
	if s.send(st, payload, e.Compression, false) {
		s.result(st, e)
		return false
	}
	s.endLater(st, e)
	return true
}

// endLater keeps an ending until the message that waits was appended. The
// handler has returned: requests that nobody consumes any more are credited.
func (s *Session) endLater(st *Stream, e *Ending) {
	later := *e
	st.flow.result = &later
	st.state |= streamReturned
	s.abandonRequests(st)
}

// result appends the RESULT of a served call and frees its slot as soon as
// the RESULT has moved to the writer.
func (s *Session) result(st *Stream, e *Ending) {
	h := Header{Type: Result, Stream: st.id, Code: uint16(min(e.Code, maxCode+1)), Word: e.ServerTime}
	if h.Code > uint16(maxCode) {
		h.Code = uint16(Unknown)
	}
	switch {
	case e.Code == OK:
	case e.Delivery == Refused && !st.has(streamSpoken):
		h.Flags |= FlagRefused
		h.Word = e.RetryAfter
		s.unserved(st, true, e)
	case e.Delivery == Refused || e.Delivery == DeliveryUnknown:
		h.Flags |= FlagCut
		s.unserved(st, false, e)
	}
	start := len(s.out)
	s.frame(h, len(e.Payload))
	if len(e.Metadata) > 0 || e.Own != nil {
		h.Flags |= FlagMeta
		s.out = AppendMetadata(s.out, e.Metadata, e.Own)
	}
	switch {
	case e.Code != OK:
		var stripped bool
		room := int(s.remote.FrameBody) - (len(s.out) - start - HeaderSize)
		s.out, stripped = AppendStatus(s.out, e.Message, e.Details, room)
		if stripped {
			h.Flags |= FlagStripped
		}
	case e.HasMessage && !st.has(streamOneWay):
		h.Flags |= FlagMsg
		h.Codec, h.Compression = st.codec, e.Compression
		s.out = append(s.out, e.Payload...)
	}
	h.Length = uint32(len(s.out) - start - HeaderSize)
	AppendHeader(s.out[:start], h)
	s.appended += uint64(len(s.out) - start)
	s.detach(st)
}

// unserved reports a call that its handler does not answer.
func (s *Session) unserved(st *Stream, refused bool, e *Ending) {
	if st.Owner != nil { // else refuse reports it
		s.events.Unserved(st, "", refused, e.Code, e.Message)
	}
}

// stop ends a served call without its handler: as a refusal while that was not
// started.
func (s *Session) stop(st *Stream, code Code, message string, retryAfter uint32) {
	e := Ending{Code: code, Message: message, Delivery: DeliveryUnknown}
	if st.has(streamHeld) {
		e.Delivery, e.RetryAfter = Refused, retryAfter
	}
	s.dropOutgoing(st)
	s.result(st, &e)
}

// Start marks a call that was held as started, or ends it, without
// Events.Stopped, when its time has run out by now. It reports whether the
// handler may run.
func (s *Session) Start(st *Stream, now int64) bool {
	switch {
	case !st.Open():
		return false
	case st.deadline != 0 && st.deadline <= now:
		s.stop(st, DeadlineExceeded, lateText, 0)
		return false
	}
	st.state &^= streamHeld
	return true
}

// Refuse ends a call that is held, so that its handler never starts.
func (s *Session) Refuse(st *Stream, r *Refusal) {
	if st.Open() && st.has(streamHeld) {
		s.stop(st, r.Code, r.Message, r.RetryAfter)
	}
}

const lateText = "the deadline passed on the callee's side"

// refuse answers a CALL that was never started, of the method of binding if that is
// not nil.
func (s *Session) refuse(id StreamID, binding *Binding, r *Refusal) {
	method := ""
	if binding != nil {
		method = binding.Name
	}
	s.events.Unserved(nil, method, true, r.Code, r.Message)
	st := Stream{id: id, state: streamOpen}
	s.result(&st, &Ending{Code: r.Code, Message: r.Message, Details: r.Details, Delivery: Refused, RetryAfter: r.RetryAfter})
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

// dropOutgoing forgets the message that waits to be sent.
func (s *Session) dropOutgoing(st *Stream) {
	f := st.flow
	if f == nil {
		return
	}
	s.queued -= f.queued
	f.queued = 0
	f.pending, f.hasPending, f.begun, f.end, f.result = nil, false, false, false, nil
}

// close forgets what the session holds for a stream.
func (s *Session) close(st *Stream) {
	st.state &^= streamOpen
	if st.flow == nil {
		return
	}
	s.dropOutgoing(st)
	s.endMessage(st)
	s.letGo(st.flow, st.flow.held)
	s.discharge(st.flow, st.flow.charged)
	if st.has(streamInRing) {
		s.ring = slices.DeleteFunc(s.ring, func(other *Stream) bool { return other == st })
	}
	if st.has(streamInQueue) {
		s.queue = slices.DeleteFunc(s.queue, func(other *Stream) bool { return other == st })
	}
	st.state &^= streamInRing | streamInQueue
	s.giveBack()
}
