package wire

import "testing"

func growing(t *testing.T, most uint32) (s *side, st *Stream) {
	r := &recorder{}
	s = &side{t: t, recorder: r, now: second, Session: NewSession(r, Options{
		Acceptor: true, Local: DefaultSettings(), MaxWindow: most,
	}, second)}
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()}), rawCall(1, 1, 0))
	s.Take()
	return s, s.accepted[0]
}

// spend has the peer send n messages of a full piece each, which are consumed
// at once, every one apart by pause. It returns the credit.
func (s *side) spend(st *Stream, n int, pause int64) (credit uint32) {
	s.t.Helper()
	for range n {
		s.now += pause
		s.must(rawData(1, 1, FlagMsg, filler(MinPiece-16)...))
		s.Consumed(st, MinPiece)
		sum, _ := s.credits()
		credit += sum
	}
	return credit
}

func TestTheWindowOfAFastStreamGrows(t *testing.T) {
	const most = 1 << 20
	s, st := growing(t, most)
	spent := uint32(100 * MinPiece)
	credit := s.spend(st, 100, 1e6)
	if grown := credit + st.flow.owed - spent; grown != most-DefaultWindow || st.recvWindow > most {
		t.Errorf("the window grew by %d to %d", grown, st.recvWindow)
	}
	s.Finish(st, &Ending{})
	if s.grown != 0 {
		t.Errorf("%d bytes are counted after the end", s.grown)
	}
}

func TestTheWindowOfASlowStreamStays(t *testing.T) {
	s, st := growing(t, 1<<20)
	if credit := s.spend(st, 100, 50e6); credit != 100*MinPiece {
		t.Errorf("credit of %d for %d bytes", credit, 100*MinPiece)
	}
	s, st = growing(t, 0)
	if credit := s.spend(st, 100, 1e6); credit != 100*MinPiece {
		t.Errorf("credit of %d for %d bytes, although no growth is allowed", credit, 100*MinPiece)
	}
}

// A window that lets through many times more memory than bytes does not grow.
func TestTheWindowOfAStreamOfSmallMessagesStays(t *testing.T) {
	for _, c := range []struct {
		size  int
		grows bool
	}{{0, false}, {16, false}, {200, true}, {300, false}, {1000, true}} {
		s, st := growing(t, 1<<20)
		cost := uint32(c.size + frameCost)
		var credit, spent uint32
		for range 4 * int(DefaultWindow/cost) {
			s.now += 100
			s.must(rawData(1, 1, FlagMsg, filler(c.size)...))
			s.Consumed(st, cost)
			sum, _ := s.credits()
			credit, spent = credit+sum, spent+cost
		}
		if grown := credit+st.flow.owed > spent; grown != c.grows {
			t.Errorf("messages of %d bytes: %d spent, %d of credit", c.size, spent, credit)
		}
	}
}

// Whole messages that nobody consumes are bounded for the connection, too:
// each may be far larger than the window it came through.
func TestMessagesNotConsumedAreBounded(t *testing.T) {
	s := rawSide(t, true)
	const total = 16 * MinPiece
	s.must(rawCall(1, 1, 0), rawPiece(1, 1, total))
	for range 15 {
		s.must(rawPiece(1, 1, 0))
	}
	s.must(rawData(1, 1, FlagMsg, filler(3)...))
	s.Take()
	m := last(t, s.messages, "message")
	if s.held != total || s.promised != 0 {
		t.Fatalf("%d bytes held, %d promised", s.held, s.promised)
	}
	s.held += maxPromised - total // as if there were many more of them
	s.must(rawCall(2, 1, 0), rawPiece(2, 1, MinPiece+100))
	if h, _ := s.only(Result); h.Stream.Slot() != 2 || Code(h.Code) != ResourceExhausted || h.Flags != FlagCut {
		t.Fatalf("answered %+v", h)
	}
	s.Consumed(m.st, m.cost)
	if s.held != maxPromised-total {
		t.Fatalf("%d bytes held", s.held)
	}
	s.must(rawCall(3, 1, 0), rawPiece(3, 1, MinPiece+100))
	s.silent()
}

func TestConsumingLetsGoOfWhatWasHeld(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0), rawData(1, 1, FlagMsg, filler(1000)...), rawData(1, 1, FlagMsg))
	for i, want := range []uint64{leastHeld + placeHeld, (leastHeld + placeHeld) / 2, 0} {
		if s.held != want {
			t.Fatalf("%d bytes held after %d messages, want %d", s.held, i, want)
		}
		s.Consumed(s.accepted[0], 1016)
	}
}
