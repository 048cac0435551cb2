package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// credits takes what the session wrote and returns the credit in it.
func (s *side) credits() (total uint32, frames int) {
	s.t.Helper()
	headers, _ := s.frames()
	for _, h := range headers {
		if h.Type != Credit {
			s.t.Fatalf("wrote %+v", h)
		}
		total += h.Word
		frames++
	}
	return total, frames
}

func TestCreditOfSmallMessages(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0))
	st := s.accepted[0]
	const size, cost = 16368, 16384
	for range 16 { // all of the window
		s.must(rawData(1, 1, FlagMsg, filler(size)...))
	}
	s.silent() // nothing is consumed yet
	for i, m := range s.messages {
		if m.cost != (Cost{Window: cost}) {
			t.Fatalf("cost %d, want %d", m.cost, cost)
		}
		s.Consumed(st, m.cost)
		total, _ := s.credits()
		if want := uint32(0); i == 7 || i == 15 { // at half the window
			if want = DefaultWindow / 2; total != want {
				t.Fatalf("credit of %d after %d messages, want %d", total, i+1, want)
			}
		} else if total != 0 {
			t.Fatalf("credit of %d after %d messages", total, i+1)
		}
	}
	for range 16 { // and all of it can be used again
		s.must(rawData(1, 1, FlagMsg, filler(size)...))
	}
	s.fails(ErrCredit, rawData(1, 1, FlagMsg))
}

func TestEmptyMessagesCostCredit(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0))
	for range DefaultWindow / frameCost {
		s.must(rawData(1, 1, FlagMsg))
	}
	s.must(rawData(1, 1, 0)) // what has no message costs nothing
	s.fails(ErrCredit, rawData(1, 1, FlagMsg))
}

func TestTheMessageOfACallCostsCredit(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, FlagMsg, filler(MinPiece-16-7)...)) // the name of 7 bytes costs nothing
	for range 3 {
		s.must(rawData(1, 1, FlagMsg, filler(MinPiece-16)...))
	}
	s.fails(ErrCredit, rawData(1, 1, FlagMsg)) // 7 bytes are left
}

func TestCreditOfACutMessageReturnsWithItsPieces(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0))
	const total = 10 * MinPiece
	s.must(rawPiece(1, 1, total))
	sum := uint32(0)
	for range 9 {
		s.must(rawPiece(1, 1, 0))
		n, _ := s.credits()
		sum += n
	}
	spent := uint32(10*(MinPiece+frameCost)) - 3 // the total costs nothing
	if spent-sum >= DefaultWindow/2 {
		t.Fatalf("of %d bytes only %d were credited", spent, sum)
	}
	s.must(rawData(1, 1, FlagMsg, filler(3)...))
	m := last(t, s.messages, "message")
	if len(m.payload) != total || !m.owned || m.cost.Window != 3+frameCost {
		t.Fatalf("message of %d bytes, cost %d", len(m.payload), m.cost)
	}
}

func TestPiecesAreWithheldBehindAnUnconsumedMessage(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, FlagMsg, 'a'))
	st, first := s.accepted[0], s.seen[0].Cost
	s.must(rawPiece(1, 1, 4*MinPiece), rawPiece(1, 1, 0), rawPiece(1, 1, 0))
	s.silent()
	s.Consumed(st, first)
	if n, _ := s.credits(); n != first.Window+3*(MinPiece+frameCost)-3 {
		t.Fatalf("credit of %d once the message before was consumed", n)
	}
}

// A message that is whole before the one ahead of it is consumed returns all
// of its credit with itself.
func TestWithheldCreditGoesWithItsMessage(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, FlagMsg, 'a'))
	st := s.accepted[0]
	s.must(rawPiece(1, 1, 2*MinPiece), rawPiece(1, 1, 0), rawData(1, 1, FlagMsg, filler(3)...))
	m := last(t, s.messages, "message")
	if want := uint32(2*MinPiece + 3*frameCost); m.cost.Window != want {
		t.Fatalf("cost %d, want %d", m.cost, want)
	}
	s.Consumed(st, s.seen[0].Cost)
	s.silent()
	s.Consumed(st, m.cost)
	if n, _ := s.credits(); n != m.cost.Window+17 {
		t.Fatalf("credit of %d", n)
	}
}

func TestConsumingMoreThanCameIsNoCredit(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0))
	s.Consumed(s.accepted[0], Cost{Window: MaxWindow, Pool: MaxWindow})
	s.silent()
}

func TestUnsentCreditIsRaised(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0))
	st := s.accepted[0]
	spent := uint32(0)
	for range 40 { // the peer does not read what is written
		s.must(rawData(1, 1, FlagMsg, filler(MinPiece-16)...))
		s.Consumed(st, Cost{Window: MinPiece})
		spent += MinPiece
		s.must(rawControl(Ping, 0, 1)) // something stands behind the CREDIT
	}
	headers, _ := s.frames()
	var sum uint32
	frames := 0
	for _, h := range headers {
		if h.Type == Credit {
			sum += h.Word
			frames++
		}
	}
	if frames != 1 || sum != spent {
		t.Fatalf("%d frames of credit with %d, want one with %d", frames, sum, spent)
	}
	s.must(rawData(1, 1, FlagMsg, filler(MinPiece-16)...), rawData(1, 1, FlagMsg, filler(MinPiece-16)...))
	s.Consumed(st, Cost{Window: MinPiece})
	s.Consumed(st, Cost{Window: MinPiece})
	if n, frames := s.credits(); n != 2*MinPiece || frames != 1 {
		t.Fatalf("credit of %d in %d frames", n, frames)
	}
}

func TestNoCreditAfterTheRequestHasEnded(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0))
	for range 3 {
		s.must(rawData(1, 1, FlagMsg, filler(MinPiece-16)...))
	}
	s.must(rawData(1, 1, FlagMsg|FlagEnd, 'x'))
	for _, m := range s.messages {
		s.Consumed(s.accepted[0], m.cost)
	}
	s.silent()
}

func TestRequestsThatAHandlerLeftBehindAreCredited(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, FlagMsg, 'a'))
	s.must(rawPiece(1, 1, 2*MinPiece))
	if !s.Finish(s.accepted[0], &Ending{HasMessage: true, Payload: filler(DefaultWindow * 2)}) {
		t.Fatal("the answer did not have to wait")
	}
	for s.HasOutput() && len(s.Take()) > 0 { // what there is credit for
	}
	s.must(rawPiece(1, 1, 0)) // dropped, and owed at once
	if n, _ := s.credits(); n != 17+2*(MinPiece+frameCost)-3 {
		t.Fatalf("credit of %d", n)
	}
	s.must(rawData(1, 1, FlagMsg, filler(3)...), rawData(1, 1, FlagEnd))
	if len(s.messages) != 0 || len(s.closed) != 0 {
		t.Error("a request was handed up after the handler returned")
	}
}

func TestCreditIsBounded(t *testing.T) {
	for name, frame := range map[string][]byte{
		"zero": rawControl(Credit, stream(1, 1), 0), "above 2^31-1": rawControl(Credit, stream(1, 1), 1<<31),
	} {
		s := rawSide(t, true)
		s.must(rawCall(1, 1, 0))
		if err := s.feed(frame); err == nil || err.Class != ErrValue {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0), rawControl(Credit, stream(1, 1), MaxWindow-DefaultWindow))
	s.fails(ErrCredit, rawControl(Credit, stream(1, 1), 1))
}

func TestAnswersMustNotOverspend(t *testing.T) {
	s := rawSide(t, false)
	s.open(Outgoing{})
	for range 4 {
		s.must(rawData(1, 1, FlagMsg, filler(MinPiece-16)...))
	}
	s.fails(ErrCredit, rawResult(1, 1, OK, FlagMsg))
}

func TestSendersStayWithinTheWindow(t *testing.T) {
	s := rawSide(t, false)
	st := s.open(Outgoing{HasMessage: true, Payload: filler(MinPiece)})
	s.Take()
	if s.Send(st, filler(1<<20), 0, true) {
		t.Fatal("a message larger than the window was appended at once")
	}
	spent := func() (n int) {
		t.Helper()
		for s.HasOutput() {
			headers, _ := s.frames()
			if len(headers) == 0 {
				break
			}
			for _, h := range headers {
				n += int(h.Length) + frameCost
			}
		}
		return n
	}
	first := spent() + MinPiece + frameCost
	if first > DefaultWindow+3 || first < DefaultWindow-MinPiece {
		t.Fatalf("%d bytes were sent into a window of %d", first, DefaultWindow)
	}
	s.must(rawControl(Credit, stream(1, 1), 16))
	if n := spent(); n != 0 {
		t.Fatalf("%d bytes were sent on a credit of 16", n)
	}
	s.must(rawControl(Credit, stream(1, 1), MinPiece+frameCost))
	if n := spent(); n < MinPiece {
		t.Fatal("65,552 bytes of window did not let the sender go on")
	}
	if len(s.sent) != 0 {
		t.Fatal("Sent came too early")
	}
	s.must(rawControl(Credit, stream(1, 1), 2<<20))
	spent()
	if count(t, s.sent, 1, "Sent"); s.sent[0] != st {
		t.Fatal("Sent for another stream")
	}
}

// TestThePrefaceRaisesOpenWindows: what is known only later adds to what was
// spent before.
func TestThePrefaceRaisesOpenWindows(t *testing.T) {
	s := newSide(t, Options{})
	st := s.open(Outgoing{})
	s.Send(st, filler(600_000), 0, true)
	for s.HasOutput() && len(s.Take()) > 0 { // all that goes into the smallest window
	}
	remote := DefaultSettings()
	remote.Window = 1 << 20
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: remote}))
	for s.HasOutput() && len(s.Take()) > 0 { // the rest
	}
	count(t, s.sent, 1, "Sent")
	if want := int64(1<<20 - 600_000 - 10*frameCost); st.sendWindow != want {
		t.Errorf("window of %d, want %d", st.sendWindow, want)
	}
}

// TestNoDeadlock sends messages of random sizes over several streams in both
// directions, consumed after random delays: all of them arrive whole and in
// order, and what is unsent stays bounded.
func TestNoDeadlock(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		local, remote := DefaultSettings(), DefaultSettings()
		if r.IntN(2) == 0 {
			local.Window += r.Uint32N(200_000)
			remote.FrameBody = 1 << 20
		}
		j := join(t, local, remote)
		j.chunk = 1 + r.IntN(200_000)
		var flows []*flowTest
		for range 1 + r.IntN(5) {
			f := &flowTest{from: j.client, to: j.server}
			f.source = j.client.open(Outgoing{})
			j.pump()
			f.target = last(t, j.server.accepted, "call")
			back := &flowTest{from: j.server, to: j.client, source: f.target, target: f.source}
			flows = append(flows, f, back)
		}
		for _, f := range flows {
			for range r.IntN(20) {
				f.todo = append(f.todo, randomSize(r))
			}
		}
		for idle := 0; idle < 50; idle++ {
			for _, f := range flows {
				if f.act(t, r) {
					idle = 0
				}
			}
			if j.step() {
				idle = 0
			}
		}
		for i, f := range flows {
			if len(f.todo) > 0 || f.waiting || f.consumed != f.sent {
				t.Fatalf("seed %d, flow %d: %d to send, %d of %d consumed", seed, i, len(f.todo), f.consumed, f.sent)
			}
		}
		if j.maxBytes > ordinaryUnsent+largeUnsent+2*MinPiece {
			t.Errorf("seed %d: %d bytes were unsent at once", seed, j.maxBytes)
		}
	}
}

// flowTest is one direction of one stream.
type flowTest struct {
	from, to       *side
	source, target *Stream
	todo           []int
	sizes          []int // sent, in order
	waiting        bool
	sent, consumed int
}

func (f *flowTest) act(t *testing.T, r *rand.Rand) (moved bool) {
	f.waiting = f.source.flow != nil && f.source.flow.hasPending
	if len(f.todo) > 0 && !f.waiting {
		n := f.todo[0]
		f.todo = f.todo[1:]
		f.sizes = append(f.sizes, n)
		f.from.Send(f.source, bytes.Repeat([]byte{byte(f.sent)}, n), 0, false)
		f.sent++
		moved = true
	}
	if r.IntN(3) > 0 {
		return moved
	}
	for i, m := range f.to.messages {
		if m.st != f.target {
			continue
		}
		if n := f.sizes[f.consumed]; len(m.payload) != n || n > 0 && m.payload[n-1] != byte(f.consumed) {
			t.Fatalf("message %d has %d bytes, want %d", f.consumed, len(m.payload), n)
		}
		f.to.Consumed(m.st, m.cost)
		f.consumed++
		f.to.messages = append(f.to.messages[:i:i], f.to.messages[i+1:]...)
		return true
	}
	return moved
}

func randomSize(r *rand.Rand) int {
	switch r.IntN(4) {
	case 0:
		return r.IntN(100)
	case 1:
		return MinPiece - 20 + r.IntN(40)
	case 2:
		return r.IntN(3 * MinPiece)
	default:
		return r.IntN(1 << 20)
	}
}
