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
	cost := uint32(len(b.Payload) + frameCost)
	if st.recvWindow -= int64(cost); st.recvWindow < 0 {
		return violation(ErrCredit, "DATA overspends the window of slot %d by %d bytes", st.id.Slot(), -st.recvWindow)
	}
	if first {
		if err := s.checkMessage(st, h, max(b.Total, cost-frameCost)); err != nil {
			return err
		}
		if s.promised+s.held+uint64(max(b.Total, cost)) > maxPromised {
			return errPromised
		}
		if st.has(streamBegun) && st.has(streamSingle) {
			return errSecond
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
	if err := s.assemble(st, b.Payload, more); err != nil {
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
func (s *Session) deliver(st *Stream, message []byte, compression uint8, cost uint32, owned bool) {
	f := st.flow
	cost += f.withheld
	f.withheld = 0
	if st.has(streamReturned) {
		s.credit(st, cost)
		return
	}
	if st.has(streamSingle) {
		s.credit(st, cost)
	} else {
		f.unconsumed++
		f.due += cost
	}
	s.keep(f, weight(len(message)))
	s.events.Message(st, message, compression, cost, owned)
}

const promisedText = "messages in progress or not consumed exceed 268435456 bytes on this connection"

// errPromised ends the call whose message there is no room for.
var errPromised = &Error{Class: ErrMessageSize, Text: promisedText}

// What ends a call that has not exactly one message where one is expected.
var (
	errSecond    = &Error{Class: ErrMessages, Text: SeveralMessages}
	errNoRequest = &Error{Class: ErrMessages, Text: NoMessage}
)

// What is said of that: mostly a streaming method was called as one that is not, or the
// other way round.
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
	s.promised += uint64(total)
	s.wakeBy(s.now + watchInterval)
}

// assemble adds a piece. The buffer never grows to more than twice what has
// arrived, whatever total the peer promised.
func (s *Session) assemble(st *Stream, piece []byte, more bool) *Error {
	f := st.flow
	f.got += uint32(len(piece))
	f.owingSince = 0
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
	cost := uint32(len(piece) + frameCost)
	if f.unconsumed > 0 {
		f.withheld += cost
	} else {
		s.credit(st, cost)
	}
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
	return true
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
func (s *Session) Consumed(st *Stream, cost uint32) {
	f := st.flow
	if !st.Open() || f == nil || f.unconsumed == 0 {
		return
	}
	weighs := f.held / uint64(f.unconsumed)
	f.taken += weighs
	s.letGo(f, weighs)
	f.unconsumed--
	f.due -= min(f.due, cost)
	if f.unconsumed == 0 {
		s.letGo(f, f.held) // of cut messages more than their cost was held
		cost += f.withheld
		f.withheld = 0
	}
	s.credit(st, cost)
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
	n := f.due + f.withheld
	f.due, f.withheld, f.unconsumed = 0, 0, 0
	s.dropMessage(f)
	s.letGo(f, f.held)
	s.credit(st, n)
}

// credit returns n bytes of the window once at least half of it is owed. A
// CREDIT that is still unsent is raised instead of followed by another, so that
// a peer that does not read cannot make them pile up.
func (s *Session) credit(st *Stream, n uint32) {
	f := st.flow
	f.owed += n
	if f.owed < (s.options.Local.Window+f.grown)/2 || st.has(streamRemoteEnd) {
		return
	}
	if f.creditEnd <= s.moved {
		grant := f.owed + s.grow(f)
		s.control(Header{Type: Credit, Stream: st.id, Word: grant})
		f.creditEnd, f.creditAt = s.appended, len(s.out)
		st.recvWindow += int64(grant)
		f.owed = 0
		return
	}
	last := s.out[f.creditAt-4:]
	sum := uint64(binary.LittleEndian.Uint32(last)) + uint64(f.owed)
	if sum > MaxWindow {
		return
	}
	binary.LittleEndian.PutUint32(last, uint32(sum))
	st.recvWindow += int64(f.owed)
	f.owed = 0
}

const (
	// growWithin is how soon, in nanoseconds, half a window must follow the
	// half before it for the window to grow: the sender would wait otherwise.
	growWithin = 20e6
	// maxGrown bounds what the windows of one connection grow by together.
	maxGrown = 64 << 20
)

// grow doubles the window of a stream that moves fast, up to Options.MaxWindow,
// and returns by how much it grew. It does not where messages take up far more
// memory than window: many small ones that nobody consumes for a moment would
// exceed what may be held, and end the call that was to be quick.
func (s *Session) grow(f *flow) uint32 {
	window := s.options.Local.Window + f.grown
	fast := f.creditedAt != 0 && s.now-f.creditedAt < growWithin
	heavy := f.taken > 2*uint64(f.owed)
	f.creditedAt, f.taken = s.now, 0
	if !fast || heavy || window >= s.options.MaxWindow {
		return 0
	}
	more := min(window, s.options.MaxWindow-window)
	if s.grown+more > maxGrown {
		return 0
	}
	f.grown += more
	s.grown += more
	return more
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
		st.flow.starvedSince = 0
		s.enter(st)
	}
}
