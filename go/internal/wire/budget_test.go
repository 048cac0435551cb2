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

func wantsUsed(t *testing.T, b *Budget, want int64) {
	t.Helper()
	if got := b.Used(); got != want {
		t.Fatalf("%d bytes are drawn, want %d", got, want)
	}
}

// shedding has sides say into asked which of them is asked to let go.
func shedding(sides []*side) *[]*side {
	asked := &[]*side{}
	for _, s := range sides {
		s.share.Shed = func() { *asked = append(*asked, s) }
	}
	return asked
}

// cuts has s let go, and returns the slots of the calls that it cut.
func (s *side) cuts() (slots []uint32) {
	s.t.Helper()
	if !s.Shed() {
		s.t.Fatal("nothing could be let go")
	}
	s.Relieved()
	headers, bodies := s.frames()
	s.Written()
	for i, h := range headers {
		if h.Type != Result {
			continue
		}
		message, _, _ := ParseStatus(bodies[i])
		if Code(h.Code) != ResourceExhausted || h.Flags != FlagCut || message != s.options.Budget.full.Text {
			s.t.Fatalf("answered %+v %q", h, message)
		}
		slots = append(slots, h.Stream.Slot())
	}
	return slots
}

// Who comes when the budget is full is served; the connection that holds most loses
// the call that it has held for longest.
func TestTheConnectionThatHoldsMostLosesItsLongestHeldCall(t *testing.T) {
	b, sides := sharing(t, 3)
	asked := shedding(sides)
	most, less, small := sides[0], sides[1], sides[2]
	for _, s := range sides {
		s.must(AppendDefine(nil, 1, "/a.B/C"))
	}
	for slot := uint32(1); slot <= 4; slot++ {
		most.must(rawCall(slot, 1, FlagEnd))
		most.Finish(most.accepted[slot-1], &Ending{HasMessage: true, Payload: filler(200_000)})
	}
	less.must(rawCall(1, 1, FlagEnd))
	less.Finish(less.accepted[0], &Ending{HasMessage: true, Payload: filler(250_000)})
	if used := b.Used(); used > testBudget || len(*asked) != 0 {
		t.Fatalf("%d bytes are drawn, %d asked", used, len(*asked))
	}
	less.must(rawCall(2, 1, FlagEnd))
	less.Finish(less.accepted[1], &Ending{HasMessage: true, Payload: filler(200_000)})
	if less.OpenServed() != 2 || len(*asked) != 1 || (*asked)[0] != most {
		t.Fatalf("the newcomer's connection has %d calls, %d were asked", less.OpenServed(), len(*asked))
	}
	if cut := most.cuts(); len(cut) != 1 || cut[0] != 1 {
		t.Fatalf("cut were the calls of slots %v", cut)
	}
	if used := b.Used(); used > testBudget {
		t.Fatalf("%d bytes are drawn", used)
	}

	// One that holds most itself loses a call of its own, before it is asked.
	for slot := uint32(5); slot <= 6; slot++ {
		most.must(rawCall(slot, 1, FlagEnd))
		most.Finish(last(t, most.accepted, "call"), &Ending{HasMessage: true, Payload: filler(200_000)})
	}
	headers, _ := most.frames()
	most.Written()
	var cut []uint32
	for _, h := range headers {
		if h.Type == Result {
			cut = append(cut, h.Stream.Slot())
		}
	}
	if len(cut) == 0 || cut[0] != 2 || len(*asked) != 1 {
		t.Fatalf("cut were the calls of slots %v; asked were %d", cut, len(*asked))
	}

	// Small calls go on everywhere.
	small.must(rawCall(1, 1, FlagMsg|FlagEnd, filler(100)...))
	small.Finish(last(t, small.accepted, "call"), &Ending{HasMessage: true, Payload: filler(100)})
	if h, _ := small.only(Result); h.Code != 0 {
		t.Fatalf("answered %+v", h)
	}
}

// A connection that does not let go when it is asked costs others their calls only
// once the budget is overdrawn.
func TestWhatIsOverdrawnIsBounded(t *testing.T) {
	b, sides := sharing(t, 2)
	asked := shedding(sides)
	most, other := sides[0], sides[1]
	other.must(AppendDefine(nil, 1, "/a.B/C"))
	most.share.Affords(testBudget + freeShare)
	for slot := uint32(1); slot <= 40; slot++ {
		other.must(rawCall(slot, 1, FlagEnd))
		other.Finish(last(t, other.accepted, "call"), &Ending{HasMessage: true, Payload: filler(20_000)})
	}
	headers, _ := other.frames()
	refused := 0
	for _, h := range headers {
		if h.Type == Result && h.Code != 0 {
			refused++
		}
	}
	if used := b.Used(); used > testBudget+testBudget/overdraft || refused == 0 || refused > 30 || len(*asked) != 1 {
		t.Fatalf("%d bytes are drawn, %d of 40 calls were refused, %d asked", used, refused, len(*asked))
	}
}

// What peers merely announce is not counted.
func TestAnnouncedBytesDrawNothing(t *testing.T) {
	b, sides := sharing(t, 4)
	for _, s := range sides {
		s.must(AppendDefine(nil, 1, "/a.B/C"))
		for slot := uint32(1); slot <= 4; slot++ {
			s.must(rawCall(slot, 1, 0), rawPiece(slot, 1, 60<<20)) // 960 MiB in all
		}
		if got := s.Holding(); got > 4*(2*MinPiece+1024) {
			t.Fatalf("%d bytes are held for 4 pieces", got)
		}
	}
	if used := b.Used(); used > 4*4*3*MinPiece || used > testBudget+testBudget/overdraft {
		t.Fatalf("%d bytes are drawn", used)
	}
}

// A buffer that is larger than was asked for counts as it is.
func TestTheBuffersOfMessagesDrawWhatTheyTake(t *testing.T) {
	b, sides := sharing(t, 1)
	s := sides[0]
	s.options.Buffer, s.options.Recycle = func(n int) []byte { return make([]byte, 0, 2*n) }, func([]byte) {}
	s.must(AppendDefine(nil, 1, "/a.B/C"), rawCall(1, 1, 0), rawPiece(1, 1, 60<<20))
	if held := s.Holding(); held < 4*MinPiece || b.Used() < held-freeShare {
		t.Fatalf("%d bytes are drawn for %d that are held", b.Used(), held)
	}
}

// What is held is told whole: answers that wait too.
func TestAnswersThatWaitAreHeld(t *testing.T) {
	_, sides := sharing(t, 1)
	s := sides[0]
	s.must(AppendDefine(nil, 1, "/a.B/C"))
	s.must(rawCall(1, 1, FlagEnd))
	s.Finish(s.accepted[0], &Ending{HasMessage: true, Payload: filler(900_000)})
	if got := s.Holding(); got < 900_000 {
		t.Fatalf("%d bytes are held", got)
	}
	s.Take() // some pieces leave; the memory is there until the last one has
	if got := s.Holding(); got < 900_000 {
		t.Fatalf("%d bytes are held", got)
	}
}

// Output that the peer does not read belongs to no call: only the end of the
// connection sets it free.
func TestASessionThatCannotLetGoSaysSo(t *testing.T) {
	_, sides := sharing(t, 2)
	asked := shedding(sides)
	s, other := sides[0], sides[1]
	s.must(AppendDefine(nil, 1, "/a.B/C"))
	other.must(AppendDefine(nil, 1, "/a.B/C"))
	for slot := uint32(1); slot <= 17; slot++ {
		s.must(rawCall(slot, 1, FlagEnd))
		s.Finish(last(t, s.accepted, "call"), &Ending{HasMessage: true, Payload: filler(64_000)})
	}
	other.must(rawCall(1, 1, FlagEnd))
	other.Finish(other.accepted[0], &Ending{HasMessage: true, Payload: filler(200_000)})
	if len(*asked) != 1 || (*asked)[0] != s {
		t.Fatalf("%d were asked", len(*asked))
	}
	if s.Shed() {
		t.Fatal("output was let go")
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

func TestAnAnswerInOneFrameTakesWhatItIsLongAndNotItsBuffer(t *testing.T) {
	_, sides := sharing(t, 1)
	s := sides[0]
	s.must(rawCall(1, 1, FlagEnd))
	s.Finish(last(t, s.accepted, "call"), &Ending{HasMessage: true, Payload: make([]byte, 100, 2*testBudget)})
	headers, _ := s.frames()
	if len(headers) != 1 || headers[0].Type != Result || headers[0].Code != 0 || headers[0].Flags != FlagMsg {
		t.Fatalf("answered %+v", headers)
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
		if s.share.drawn.Load() != 0 || b.Used() != 0 {
			t.Fatal("something was drawn")
		}
		s.Take()
		s.Written()
	}
}
