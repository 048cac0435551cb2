package wire

import "testing"

// A message has 60 s and one more for each 64 KiB of it that has passed, whatever
// comes meanwhile (section 9.6).

// ticks calls the session as often as it wants until the given time.
func (s *side) ticks(until int64) {
	s.t.Helper()
	for next := s.NextDeadline(); next != 0 && next <= until; {
		next = s.tick(max(next, s.now+1))
	}
	s.now = until
}

// drain takes all that can be written.
func (s *side) drain() {
	for s.HasOutput() && len(s.Take()) > 0 {
	}
}

func TestAMessageThatIsNotTakenIsGivenUp(t *testing.T) {
	t.Run("by the callee", func(t *testing.T) {
		s := rawSide(t, true)
		s.must(rawCall(1, 1, FlagEnd))
		s.Send(s.accepted[0], filler(1<<20), 0, false)
		s.drain() // three pieces, as far as there is credit
		s.ticks(62 * second)
		s.silent()
		s.ticks(80 * second)
		if h, _ := s.only(Result); Code(h.Code) != ResourceExhausted || h.Flags != FlagCut {
			t.Errorf("answered %+v", h)
		}
		count(t, s.stopped, 1, "stops")
	})
	t.Run("by the caller", func(t *testing.T) {
		s := rawSide(t, false)
		s.Send(s.open(Outgoing{}), filler(1<<20), 0, false)
		s.drain()
		s.ticks(62 * second)
		s.silent()
		s.ticks(80 * second)
		if h, _ := s.only(Cancel); h.Word != CancelGivenUp {
			t.Errorf("wrote %+v", h)
		}
		if e := last(t, s.ended, "ending"); e.Code != ResourceExhausted || e.Delivery != DeliveryUnknown {
			t.Errorf("ended as %+v", e)
		}
	})
}

func TestCreditByteByByteKeepsNoMessageAlive(t *testing.T) {
	for _, pool := range []bool{false, true} {
		s := rawSide(t, false, func(_, remote *Settings) { remote.Pool = 1 })
		st := s.open(Outgoing{})
		s.Send(st, filler(1<<20), 0, false)
		s.drain()
		id := st.id
		if pool {
			id = 0
		}
		for s.now < 59*second {
			s.ticks(s.now + second)
			s.must(rawControl(Credit, id, 1))
			s.silent()
		}
		for s.now < 80*second && st.Open() {
			s.ticks(s.now + second)
			s.must(rawControl(Credit, id, 1))
		}
		if e := last(t, s.ended, "ending"); e.Code != ResourceExhausted {
			t.Errorf("ended as %+v", e)
		}
	}
}

// A sender whose message moves, if slowly, has a second more for each piece.
func TestAMessageThatMovesHasLonger(t *testing.T) {
	s := rawSide(t, false)
	st := s.open(Outgoing{})
	const pieces = 100
	s.Send(st, filler(pieces*MinPiece), 0, false)
	s.drain()
	for range pieces {
		s.ticks(s.now + second) // 64 KiB a second is all it takes
		s.must(rawControl(Credit, st.id, wholePiece))
		s.drain()
	}
	count(t, s.sent, 1, "Sent")
	count(t, s.ended, 0, "endings")
}

func TestAMessageDrippedInIsCut(t *testing.T) {
	s := rawSide(t, true)
	s.hold = true
	s.must(rawCall(1, 1, 0), rawPiece(1, 1, 100*MinPiece))
	s.ticks(59 * second) // the piece that used to begin the minute anew
	s.must(rawPiece(1, 1, 0))
	s.drain()
	s.ticks(62 * second)
	s.silent()
	s.ticks(80 * second)
	if h, _ := s.only(Result); Code(h.Code) != ResourceExhausted || h.Flags != FlagRefused || h.Word == 0 {
		t.Errorf("answered %+v", h)
	}
	if s.HeldBytes() != 0 {
		t.Errorf("%d bytes are held", s.HeldBytes())
	}
}

func TestAMessageThatArrivesSlowlyHasLonger(t *testing.T) {
	s := rawSide(t, true)
	const pieces = 100
	s.must(rawCall(1, 1, 0), rawPiece(1, 1, pieces*MinPiece))
	for range pieces - 1 {
		s.ticks(s.now + second)
		s.must(rawPiece(1, 1, 0))
		s.drain()
	}
	s.must(rawData(1, 1, FlagMsg, filler(4)...))
	count(t, s.messages, 1, "messages")
}

// The time in which a sender lacks credit is not its own.
func TestASenderWithoutCreditIsNotTooSlow(t *testing.T) {
	t.Run("window and pool", func(t *testing.T) {
		s := rawSide(t, true, func(local, _ *Settings) { local.Pool = 2 * wholePiece })
		s.must(rawCall(1, 1, FlagMsg, 'x')) // never consumed
		s.must(rawPiece(1, 1, 1<<20), rawPiece(1, 1, 0), rawPiece(1, 1, 0), pooledPiece(1, 1, 0), pooledPiece(1, 1, 0))
		s.pool.anew = maxAnew // as if of others
		s.ticks(600 * second)
		s.silent()
	})
	t.Run("the pool holds a piece", func(t *testing.T) {
		s := rawSide(t, true, func(local, _ *Settings) { local.Pool = 2 * wholePiece })
		s.must(rawCall(1, 1, FlagMsg, 'x')) // never consumed
		s.must(rawPiece(1, 1, 1<<20), rawPiece(1, 1, 0), rawPiece(1, 1, 0), pooledPiece(1, 1, 0))
		s.ticks(80 * second)
		if s.OpenServed() != 0 {
			t.Error("the call goes on")
		}
	})
}

func (s *side) headers() []Header {
	s.t.Helper()
	headers, _ := s.frames()
	return headers
}
