package wire

import "testing"

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
		s.Consumed(s.accepted[0], Cost{Window: 1016})
	}
}
