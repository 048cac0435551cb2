package wire

import "encoding/binary"

// receiveMessage takes in the message, or the piece of one, that a DATA
// carries.
func (s *Session) receiveMessage(st *Stream, h *Header, b *Body) *Error {
	f := st.needFlow()
	more := h.Flags&FlagMore != 0
	first := !f.assembling
	if !first {
		if f.codec != h.Codec || f.packed != h.Compression {
			return violation(ErrPiece, "a message of slot %d changes its codec or compression", st.id.Slot())
		}
		if sum := uint64(f.got) + uint64(len(b.Payload)); sum > uint64(f.total) || !more && sum < uint64(f.total) {
			return violation(ErrPiece, "pieces of %d bytes so far for a message of %d on slot %d", sum, f.total, st.id.Slot())
		}
	}
	cost := Cost{Pool: h.Length + frameCost}
	if h.Flags&FlagPool == 0 {
		cost = Cost{Window: uint32(len(b.Payload) + frameCost)}
	}
	if st.recvWindow -= int64(cost.Window); st.recvWindow < 0 {
		return violation(ErrCredit, "DATA overspends the window of slot %d by %d bytes", st.id.Slot(), -st.recvWindow)
	}
	if first {
		size := max(b.Total, uint32(len(b.Payload)))
		if err := s.checkMessage(st, h, size); err != nil {
			return err
		}
		if st.has(streamBegun) && st.has(streamSingle) {
			return errSecond // ahead of memory: nobody is to make room for it
		}
		if s.promised+s.held+uint64(size) > maxPromised {
			return errPromised
		}
		st.state |= streamBegun
		if !more && !s.affords(st, int(weight(len(b.Payload)))) {
			return s.options.Budget.full
		}
		if !more {
			s.deliver(st, b.Payload, h.Compression, cost, false)
			return nil
		}
		s.begin(st, h, b.Total)
	}
	if err := s.assemble(st, b.Payload, cost, more); err != nil {
		return err
	}
	if !more {
		message := f.message
		s.endMessage(st)
		s.deliver(st, message, h.Compression, cost, true)
	}
	return nil
}

// deliver hands up a whole message, or drops it when the handler returned.
// Credit that was withheld for its pieces is returned with its own.
func (s *Session) deliver(st *Stream, message []byte, compression uint8, cost Cost, owned bool) {
	f := st.flow
	cost.add(f.withheld)
	f.withheld = Cost{}
	if st.has(streamReturned) {
		s.returnCost(st, cost)
		return
	}
	if st.has(streamSingle) {
		s.returnCost(st, cost)
	} else {
		f.unconsumed++
		f.due += cost.Window
	}
	s.keep(f, weight(len(message)))
	s.events.Message(st, message, compression, cost, owned)
}

const promisedText = "messages in progress or not consumed exceed 268435456 bytes on this connection"

// errPromised ends a call whose message would exceed the bound on announced bytes.
var errPromised = &Error{Class: ErrMessageSize, Text: promisedText}

// What ends a call that lacks the one message that is expected, or has several.
var (
	errSecond    = &Error{Class: ErrMessages, Text: SeveralMessages}
	errNoRequest = &Error{Class: ErrMessages, Text: NoMessage}
)

// The texts of those errors. The usual cause is a streaming method that was called as a unary one,
// or the other way round.
const (
	SeveralMessages = "several messages where one is expected: " + otherKind
	NoMessage       = "no message where one is expected: " + otherKind
	otherKind       = "the two sides take the method for different kinds, such as unary and streaming"
)

// begin accounts for a cut message by its total, which allocates nothing.
func (s *Session) begin(st *Stream, h *Header, total uint32) {
	f := st.needFlow()
	f.assembling, f.total, f.got, f.message = true, total, 0, nil
	f.codec, f.packed = h.Codec, h.Compression
	f.since = s.now
	s.promised += uint64(total)
	s.makeWay(total)
	s.wakeBy(s.now + watchInterval)
}

// assemble adds a piece. The buffer never grows to more than twice what has
// arrived, whatever total the peer promised.
func (s *Session) assemble(st *Stream, piece []byte, cost Cost, more bool) *Error {
	f := st.flow
	f.got += uint32(len(piece))
	if !st.has(streamReturned) {
		if !s.makeRoom(st, len(piece)) {
			return s.options.Budget.full
		}
		n := len(f.message)
		f.message = f.message[:n+len(piece)]
		if len(piece) > 0 && &piece[0] != &f.message[n] { // it may have been placed there
			copy(f.message[n:], piece)
		}
	}
	if !more {
		return nil // the last piece is credited when the message is consumed
	}
	if f.unconsumed > 0 {
		f.withheld.add(cost)
		return nil
	}
	if cost.Pool > 0 && !st.has(streamReturned) && s.aboveShare() {
		f.withheld.Pool += cost.Pool
		cost.Pool = 0
	}
	s.returnCost(st, cost)
	return nil
}

// makeRoom makes sure that a piece of n bytes fits, if the budget allows.
func (s *Session) makeRoom(st *Stream, n int) bool {
	f := st.flow
	need := len(f.message) + n
	if need <= cap(f.message) {
		return true
	}
	size := min(int(f.total), max(2*need, 2*MinPiece))
	if !s.affords(st, size-f.room) {
		return false
	}
	s.beginsToHold(f)
	f.message = s.enlarge(f.message, size)
	s.assembled += cap(f.message) - f.room
	f.room = cap(f.message)
	return s.affords(st, 0) // the buffer may be larger than was asked for
}

// dropMessage ends the accounting of the memory of a message in progress.
func (s *Session) dropMessage(f *flow) {
	s.assembled -= f.room
	f.message, f.room = nil, 0
}

// enlarge moves a message into a buffer for size bytes or somewhat more.
func (s *Session) enlarge(message []byte, size int) []byte {
	if s.options.Buffer == nil {
		return append(make([]byte, 0, size), message...)
	}
	larger := append(s.options.Buffer(size), message...)
	if message != nil {
		s.options.Recycle(message)
	}
	return larger
}

// endMessage ends the accounting of a cut message.
func (s *Session) endMessage(st *Stream) {
	if f := st.flow; f != nil && f.assembling {
		s.promised -= uint64(f.total)
		f.assembling = false
		s.dropMessage(f)
	}
}

// Consumed returns the credit of a whole message, by the cost that came with
// it, now that the application has it. Messages are consumed in order.
func (s *Session) Consumed(st *Stream, cost Cost) {
	f := st.flow
	if !st.Open() || f == nil || f.unconsumed == 0 {
		return
	}
	weighs := f.held / uint64(f.unconsumed)
	s.letGo(f, weighs)
	f.unconsumed--
	f.due -= min(f.due, cost.Window)
	if f.unconsumed == 0 {
		s.letGo(f, f.held) // of cut messages more than their cost was held
		cost.add(f.withheld)
		f.withheld = Cost{}
	}
	s.returnCost(st, cost)
}

// What messages count at least while they are held: the memory that they take up.
// One of at most SmallMessage bytes has just as much as it needs, and a place in
// a list; others have a buffer of a round size.
const (
	SmallMessage = 256
	placeHeld    = 128
	leastHeld    = 1100
)

// weight is what a message of n bytes counts while it is held.
func weight(n int) uint64 {
	if n <= SmallMessage {
		return uint64(n) + placeHeld
	}
	return max(uint64(n), leastHeld)
}

// keep accounts for n bytes that are held for the application.
func (s *Session) keep(f *flow, n uint64) {
	s.beginsToHold(f)
	f.held += n
	s.held += n
}

// letGo ends the accounting of n bytes that were held for the application.
func (s *Session) letGo(f *flow, n uint64) {
	n = min(n, f.held)
	f.held -= n
	s.held -= n
	s.giveBack()
}

// abandonRequests returns the credit of all requests that the handler, which
// has returned, left behind.
func (s *Session) abandonRequests(st *Stream) {
	f := st.flow
	cost := Cost{Window: f.due + f.withheld.Window, Pool: f.charged}
	f.due, f.withheld, f.unconsumed = 0, Cost{}, 0
	s.dropMessage(f)
	s.letGo(f, f.held)
	s.returnCost(st, cost)
}

// returnCost owes what a message or a piece of one has cost.
func (s *Session) returnCost(st *Stream, cost Cost) {
	s.discharge(st.flow, cost.Pool)
	s.credit(st, cost.Window)
}

// credit returns n bytes of the window once at least half of it is owed.
func (s *Session) credit(st *Stream, n uint32) {
	f := st.flow
	f.owed += n
	if f.owed < s.options.Local.Window/2 || st.has(streamRemoteEnd) {
		return
	}
	if s.grant(&f.credit, st.id, int64(f.owed)) {
		st.recvWindow += int64(f.owed)
		f.owed = 0
	}
}

// grant appends CREDIT of n bytes, or raises the last CREDIT if that is still unsent, so that they
// do not pile up for a peer that does not read. It reports false when the last one cannot be raised
// so far.
func (s *Session) grant(last *unsentCredit, id StreamID, n int64) bool {
	if last.end <= s.moved {
		s.control(Header{Type: Credit, Stream: id, Word: uint32(n)})
		last.end, last.at = s.appended, len(s.out)
		return true
	}
	word := s.out[last.at-4:]
	sum := int64(binary.LittleEndian.Uint32(word)) + n
	if sum > MaxWindow {
		return false
	}
	binary.LittleEndian.PutUint32(word, uint32(sum))
	return true
}

func (s *Session) receiveCredit(h *Header) *Error {
	if h.Stream == 0 {
		return s.receivePoolCredit(h.Word)
	}
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
