package wire

// maxRemaining stands for a remaining time of that many microseconds or more
// (section 10).
const maxRemaining = 1<<32 - 1

// Remaining turns the time left, in nanoseconds, into what a CALL carries.
// Time that has run out is not representable: such a call is not sent.
func Remaining(nanoseconds int64) uint32 {
	return uint32(min(max(nanoseconds/1000, 1), maxRemaining))
}

// Outgoing is a call to open.
type Outgoing struct {
	Method      Method // its name has 1 to MaxMethodName bytes
	Codec       uint8
	Remaining   uint32 // microseconds, 0: no deadline
	Metadata    Metadata
	Own         *Own   // the protocol's own metadata, nil for none
	Payload     []byte // kept until the message was appended when it does not fit one frame
	HasMessage  bool
	Compression uint8
	End         bool
	OneWay      bool  // with HasMessage and End only
	Deadline    int64 // when this side gives the call up by itself, in the session's time; 0: never
}

// HasSlots reports whether n more calls can be opened now.
func (s *Session) HasSlots(n int) bool { return s.openCalls+n <= int(s.remote.Calls) }

// Open opens a call on st, which must not be open. The caller made sure that
// AcceptsCalls and HasSlots hold and that the metadata passes CheckWith. queued
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
	st.state = streamOpen | streamCaller | st.state&streamSingle
	st.codec = c.Codec
	st.sendWindow = int64(s.remote.Window)
	st.recvWindow = int64(s.options.Local.Window)
	st.sentAt = s.appended
	st.flow = nil
	if st.deadline = c.Deadline; st.deadline != 0 {
		s.wakeBy(st.deadline)
	}

	h := Header{Type: Call, Stream: st.id, Code: id, Codec: c.Codec, Word: c.Remaining}
	length := 0
	if len(c.Metadata) > 0 || c.Own != nil {
		h.Flags |= FlagMeta
		length += blockSize(c.Metadata, c.Own)
	}
	if id == 0 {
		length += varintSize(uint32(len(c.Method.Name))) + len(c.Method.Name)
	}
	whole := c.HasMessage && length+len(c.Payload) <= MinPiece
	var payload []byte
	switch {
	case whole:
		payload = c.Payload
		h.Flags |= FlagMsg
		if c.End {
			h.Flags |= FlagEnd
		}
	case c.OneWay: // its message has to begin in the CALL
		payload = s.firstPiece(st, c, length)
		length += varintSize(uint32(len(c.Payload)))
		h.Flags |= FlagMsg | FlagMore
	case c.End && !c.HasMessage:
		h.Flags |= FlagEnd
	}
	if c.OneWay {
		h.Flags |= FlagOneWay
		st.state |= streamOneWay
	}
	if h.Flags&FlagEnd != 0 {
		st.state |= streamLocalEnd
	}
	if h.Flags&FlagMsg != 0 {
		h.Compression = c.Compression
		st.sendWindow -= int64(len(payload) + frameCost)
	}
	length += len(payload)
	h.Length = uint32(length)
	s.frame(h, length)
	if h.Flags&FlagMeta != 0 {
		s.out = AppendMetadata(s.out, c.Metadata, c.Own)
	}
	if id == 0 {
		s.out = AppendVarint(s.out, uint32(len(c.Method.Name)))
		s.out = append(s.out, c.Method.Name...)
	}
	if h.Flags&FlagMore != 0 {
		s.out = AppendVarint(s.out, uint32(len(c.Payload)))
	}
	s.out = append(s.out, payload...)
	s.appended += uint64(HeaderSize + length)
	if c.HasMessage && !whole {
		if h.Flags&FlagMore == 0 {
			return !s.send(st, c.Payload, c.Compression, c.End)
		}
		return true
	}
	return false
}

// firstPiece cuts the message of a one-way call and leaves the rest of it to
// wait. length is that of the parts of the CALL's body before it.
func (s *Session) firstPiece(st *Stream, c *Outgoing, length int) []byte {
	length += varintSize(uint32(len(c.Payload)))
	n := max(MinPiece-length, 0)
	f := st.needFlow()
	f.pending, f.hasPending, f.compression, f.begun, f.end = c.Payload[n:], true, c.Compression, true, true
	f.passed = n
	s.enter(st)
	return c.Payload[:n]
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
	s.room(HeaderSize + len(m.Name))
	n := len(s.out)
	s.out = AppendDefine(s.out, s.lastID, m.Name)
	s.appended += uint64(len(s.out) - n)
	return s.lastID
}
