package wire

import "testing"

// The budget that sessions share (spec/limits.md 2).

const (
	testBudget = 1 << 20
	testPiece  = MinPiece - 3 // what the first piece of a message holds
)

// sharing returns sessions of acceptors with one budget, prefaces exchanged.
func sharing(t *testing.T, n int) (*Budget, []*side) {
	b := NewBudget(testBudget)
	sides := make([]*side, n)
	for i := range sides {
		sides[i] = newSide(t, Options{Acceptor: true, Budget: b})
		sides[i].must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()}))
		sides[i].Take()
		sides[i].Written()
	}
	return b, sides
}

// fillUp has a session put messages together until the budget is used up.
func (s *side) fillUp(slot uint32) (calls uint32) {
	for ; ; slot++ {
		s.must(rawCall(slot, 1, 0), rawPiece(slot, 1, 10<<20))
		for range 2 {
			s.must(rawPiece(slot, 1, 0))
		}
		headers, _ := s.frames()
		s.Written()
		for _, h := range headers {
			if h.Type == Result {
				return slot
			}
		}
	}
}

func wantsUsed(t *testing.T, b *Budget, want int64) {
	t.Helper()
	if got := b.Used(); got != want {
		t.Fatalf("%d bytes are drawn, want %d", got, want)
	}
}

func TestMessagesBeyondTheBudgetAreRefusedOnEveryConnection(t *testing.T) {
	b, sides := sharing(t, 3)
	one, other, small := sides[0], sides[1], sides[2]
	one.must(AppendDefine(nil, 1, "/a.B/C"))
	if slot := one.fillUp(1); slot < 3 || slot > 16 {
		t.Fatalf("the budget was used up by call %d", slot)
	}
	if used := b.Used(); used > testBudget || used < testBudget/2 {
		t.Fatalf("%d bytes are drawn", used)
	}

	// A call of another connection that begins with a piece is not started.
	other.hold = true
	body := append([]byte("\x06/a.B/C"), AppendVarint(nil, 1<<20)...)
	body = append(body, filler(MinPiece-len(body))...)
	b.used.Store(testBudget)
	other.must(framed(Header{Type: Call, Stream: stream(1, 1), Flags: FlagMsg | FlagMore}, body))
	h, text := other.only(Result)
	other.Written()
	message, _, _ := ParseStatus(text)
	if Code(h.Code) != ResourceExhausted || h.Flags != FlagRefused || h.Word == 0 || message != b.full.Text {
		t.Fatalf("answered %+v %q", h, message)
	}
	// One that has begun is cut.
	other.hold = false
	other.must(rawCall(2, 1, 0), rawPiece(2, 1, 1<<20))
	if h, _ := other.only(Result); Code(h.Code) != ResourceExhausted || h.Flags != FlagCut {
		t.Fatalf("answered %+v", h)
	}
	other.Written()
	count(t, other.stopped, 1, "calls stopped")

	// Small calls go on everywhere.
	for i, s := range []*side{small, other} {
		slot := uint32(i*2 + 1)
		s.must(rawCall(slot, 1, FlagMsg|FlagEnd, filler(100)...))
		s.Finish(last(t, s.accepted, "call"), &Ending{HasMessage: true, Payload: filler(100)})
		if h, _ := s.only(Result); h.Code != 0 {
			t.Fatalf("answered %+v", h)
		}
		s.Written()
	}
}

func TestTheBudgetIsGivenBack(t *testing.T) {
	for name, end := range map[string]func(s *side){
		"by CANCEL":                    func(s *side) { s.must(rawControl(Cancel, stream(1, 1), 0)) },
		"by the end of the connection": func(s *side) { s.Close(0, "lost") },
		"by the end of the message, consumed": func(s *side) {
			s.must(rawPiece(1, 1, 0), rawData(1, 1, FlagMsg, filler(3)...))
			m := last(s.t, s.messages, "message")
			s.Consumed(m.st, m.cost)
		},
		"by the handler's answer": func(s *side) { s.Finish(s.accepted[0], &Ending{}) },
	} {
		t.Run(name, func(t *testing.T) {
			b, sides := sharing(t, 1)
			s := sides[0]
			s.must(rawCall(1, 1, 0), rawPiece(1, 1, 3*MinPiece), rawPiece(1, 1, 0))
			if b.Used() == 0 {
				t.Fatal("nothing is drawn")
			}
			end(s)
			s.Take()
			s.Written()
			wantsUsed(t, b, 0)
			if s.assembled != 0 || s.queued != 0 {
				t.Fatalf("%d bytes assembled, %d queued", s.assembled, s.queued)
			}
		})
	}
}

// Answers that a peer does not read.
func TestAnswersBeyondTheBudgetAreCut(t *testing.T) {
	for name, size := range map[string]int{"in one frame": 60_000, "in pieces": 200_000} {
		t.Run(name, func(t *testing.T) {
			b, sides := sharing(t, 1)
			s := sides[0]
			calls := uint32(2 * testBudget / size)
			for slot := uint32(1); slot <= calls; slot++ {
				s.must(rawCall(slot, 1, FlagEnd))
				s.Finish(last(t, s.accepted, "call"), &Ending{HasMessage: true, Payload: filler(size)})
			}
			if used := b.Used(); used > testBudget || used < testBudget*3/4 {
				t.Fatalf("%d bytes are drawn", used)
			}
			cut := 0
			for range 200 {
				headers, bodies := s.frames()
				s.Written()
				for i, h := range headers {
					if h.Type == Result && h.Code != 0 {
						cut++
						message, _, _ := ParseStatus(bodies[i])
						if Code(h.Code) != ResourceExhausted || h.Flags != FlagCut || message != b.full.Text {
							t.Fatalf("answered %+v %q", h, message)
						}
					} else if h.Type == Data { // the reader has come to
						s.must(rawControl(Credit, h.Stream, h.Length))
					}
				}
			}
			if most := int(calls) * 3 / 4; cut == 0 || cut > most {
				t.Fatalf("%d of %d calls were cut", cut, calls)
			}
			if s.OpenServed() != 0 {
				t.Fatalf("%d calls are open", s.OpenServed())
			}
			wantsUsed(t, b, 0)
		})
	}
}

// What a streaming handler sends to one who gives no credit.
func TestAStreamsMessageBeyondTheBudgetEndsTheCall(t *testing.T) {
	b, sides := sharing(t, 1)
	s := sides[0]
	b.used.Store(testBudget)
	s.must(rawCall(1, 1, FlagEnd))
	st := last(t, s.accepted, "call")
	if !s.Send(st, filler(testPiece*2), 0, false) {
		t.Fatal("the message waits")
	}
	if h, _ := s.only(Result); Code(h.Code) != ResourceExhausted || h.Flags != FlagCut {
		t.Fatalf("answered %+v", h)
	}
	if got := last(t, s.stopped, "call stopped"); got.code != ResourceExhausted {
		t.Fatal(got)
	}
}

// Answers to a caller count as well: what does not fit is given up.
func TestACallersBudget(t *testing.T) {
	b := NewBudget(testBudget)
	s := newSide(t, Options{Budget: b})
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()}))
	st := s.open(Outgoing{End: true})
	s.Take()
	s.Written()
	b.used.Store(testBudget)
	s.must(rawPiece(1, 1, 1<<20))
	if h, _ := s.only(Cancel); h.Word != CancelUnusable {
		t.Fatalf("wrote %+v", h)
	}
	if e := last(t, s.ended, "end"); e.st != st || e.Code != ResourceExhausted || e.Delivery != DeliveryUnknown {
		t.Fatalf("%+v", e)
	}
}

// Small calls, however many, never touch what sessions share.
func TestSmallCallsDrawNothing(t *testing.T) {
	b, sides := sharing(t, 1)
	s := sides[0]
	for generation := uint16(1); generation <= 1000; generation++ {
		s.must(rawCall(1, generation, FlagMsg|FlagEnd, filler(500)...))
		s.Finish(last(t, s.accepted, "call"), &Ending{HasMessage: true, Payload: filler(500)})
		if s.drawn != 0 || b.Used() != 0 {
			t.Fatal("something was drawn")
		}
		s.Take()
		s.Written()
	}
}
