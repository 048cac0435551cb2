package wire

import (
	"testing"
)

func TestCancelIsAnsweredByWhetherTheHandlerStarted(t *testing.T) {
	for _, c := range []struct {
		name         string
		hold, start  bool
		flag         Flags
		reason       uint32
		told         Code
		beforeCancel func(s *side)
	}{
		{name: "not started", hold: true, flag: FlagRefused, told: Canceled},
		{name: "started", hold: true, start: true, flag: FlagCut, told: Canceled},
		{name: "never held", flag: FlagCut, told: Canceled},
		{name: "its deadline", flag: FlagCut, reason: CancelDeadline, told: DeadlineExceeded},
		{name: "unknown reason", flag: FlagCut, reason: 77, told: Canceled},
		{name: "held, and yet it spoke", hold: true, flag: FlagCut, told: Canceled, beforeCancel: func(s *side) {
			s.SendMetadata(s.accepted[0], Metadata{{"k", "v"}})
			s.Take()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := rawSide(t, true)
			s.hold = c.hold
			s.must(rawCall(1, 1, FlagMsg, 'x'))
			if c.start {
				s.Start(s.accepted[0], s.now)
			}
			if c.beforeCancel != nil {
				c.beforeCancel(s)
			}
			s.must(rawControl(Cancel, stream(1, 1), c.reason))
			h, _ := s.only(Result)
			if Code(h.Code) != Canceled || h.Flags != c.flag || h.Word != 0 {
				t.Errorf("answered %+v", h)
			}
			if count(t, s.stopped, 1, "stops"); s.stopped[0] != (stopped{s.accepted[0], c.told}) {
				t.Errorf("stopped %v", s.stopped)
			}
			if s.Finish(s.accepted[0], &Ending{}) || s.OpenServed() != 0 {
				t.Error("the call is still open")
			}
			s.silent()
		})
	}
}

func TestCancelAtTheCaller(t *testing.T) {
	s := rawSide(t, false)
	st := s.open(Outgoing{})
	s.Send(st, filler(1<<20), 0, false)
	s.Take()
	s.Cancel(st, CancelGivenUp)
	if st.Open() || s.OpenCalls() != 1 {
		t.Fatal("the call should be over and its slot taken")
	}
	s.only(Cancel) // and no piece of the message any more
	s.must(rawData(1, 1, FlagMeta, 0xff), rawControl(Credit, stream(1, 1), MaxWindow),
		rawData(1, 1, FlagMsg, filler(MinPiece)...), rawData(1, 1, FlagMsg, filler(MinPiece)...),
		rawData(1, 1, FlagMsg, filler(MinPiece)...), rawData(1, 1, FlagMsg, filler(MinPiece)...))
	s.silent()
	if other := s.open(Outgoing{End: true}); other.id.Slot() != 2 {
		t.Fatalf("slot %d was free", other.id.Slot())
	}
	s.must(rawResult(1, 1, Canceled, FlagCut|FlagMeta, 0xff)) // its body is not read
	if again := s.open(Outgoing{End: true}); again.id != stream(1, 2) {
		t.Fatalf("id %#x", again.id)
	}
	if len(s.ended)+len(s.messages)+len(s.early) != 0 {
		t.Errorf("a call that was given up was told %+v", s.recorder)
	}
}

func TestOneOutcomeWhenCancelAndResultCross(t *testing.T) {
	j := join(t, DefaultSettings(), DefaultSettings())
	st := j.client.open(Outgoing{Payload: []byte("x"), HasMessage: true, End: true})
	j.pump()
	j.server.Finish(j.server.accepted[0], &Ending{HasMessage: true})
	j.client.Cancel(st, CancelGivenUp)
	j.pump()
	if len(j.client.ended) != 0 || len(j.server.stopped) != 0 {
		t.Fatalf("the answer was delivered all the same: %v %v", j.client.ended, j.server.stopped)
	}
	if j.client.OpenCalls() != 0 || j.server.OpenServed() != 0 {
		t.Fatal("the slot is still taken")
	}
	// The other order: RESULT first, then a CANCEL that comes too late.
	st = j.client.open(Outgoing{End: true})
	j.pump()
	j.server.Finish(last(t, j.server.accepted, "call"), &Ending{})
	j.pump()
	j.client.Cancel(st, CancelGivenUp)
	j.client.silent()
	count(t, j.client.ended, 1, "endings")
}

func TestDeliveryOfAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		ending Ending
		want   Delivery
		retry  uint32
	}{
		"ok":              {Ending{}, Executed, 0},
		"error":           {Ending{Code: Unavailable, Delivery: Executed}, Executed, 0},
		"refused":         {Ending{Code: Unavailable, Delivery: Refused, RetryAfter: 7}, Refused, 7},
		"refused for all": {Ending{Code: Unavailable, Delivery: Refused}, Refused, 0},
		"cut":             {Ending{Code: Aborted}, DeliveryUnknown, 0},
		"ok and cut":      {Ending{Delivery: DeliveryUnknown}, Executed, 0},
		"no such code":    {Ending{Code: 99, Delivery: Executed}, Executed, 0},
	} {
		j := join(t, DefaultSettings(), DefaultSettings())
		j.client.open(Outgoing{End: true})
		j.pump()
		j.server.Finish(j.server.accepted[0], &c.ending)
		j.pump()
		e := last(t, j.client.ended, "ending")
		want := c.ending.Code
		if want > maxCode {
			want = Unknown
		}
		if e.Delivery != c.want || e.RetryAfter != c.retry || e.Code != want {
			t.Errorf("%s: ended as %+v", name, e)
		}
	}
}

func TestACallThatSpokeIsNotRefused(t *testing.T) {
	j := join(t, DefaultSettings(), DefaultSettings())
	j.client.open(Outgoing{End: true})
	j.pump()
	st := j.server.accepted[0]
	j.server.Send(st, []byte("x"), 0, false)
	j.server.Finish(st, &Ending{Code: Unavailable, Delivery: Refused, RetryAfter: 1})
	j.pump()
	if e := last(t, j.client.ended, "ending"); e.Delivery != DeliveryUnknown {
		t.Errorf("ended as %+v", e)
	}
}

func TestTheStatusFollowsTheMessages(t *testing.T) {
	for name, e := range map[string]Ending{
		"ok": {}, "error": {Code: Aborted, Message: "m", Delivery: Executed}, "last message": {HasMessage: true, Payload: []byte("last")},
		"large last message": {HasMessage: true, Payload: filler(200_000)},
	} {
		j := join(t, DefaultSettings(), DefaultSettings())
		j.client.open(Outgoing{End: true})
		j.pump()
		served := j.server.accepted[0]
		j.server.Send(served, filler(1<<20), 0, false)
		j.step()
		size := len(e.Payload)
		if !j.server.Finish(served, &e) {
			t.Fatalf("%s: the ending did not wait for the message", name)
		}
		if j.server.Finish(served, &Ending{Code: Internal, Delivery: Executed}) {
			t.Fatalf("%s: finished twice", name)
		}
		j.server.Send(served, []byte("too late"), 0, false)
		j.pump()
		got := last(t, j.client.ended, "ending")
		count(t, j.client.ended, 1, "endings")
		sizes := 0
		for _, m := range j.client.messages {
			sizes += len(m.payload)
		}
		if got.HasMessage {
			sizes += len(got.Payload)
		}
		if got.Code != e.Code || sizes != 1<<20+size || j.server.OpenServed() != 0 {
			t.Errorf("%s: ended as %v with %d bytes", name, got.Code, sizes)
		}
		count(t, j.server.sent, 1+size/200_000, "Sent")
	}
}

func TestCancelOvertakesMessages(t *testing.T) {
	j := join(t, DefaultSettings(), DefaultSettings())
	st := j.client.open(Outgoing{End: true})
	j.pump()
	served := j.server.accepted[0]
	j.server.Send(served, filler(10<<20), 0, false)
	j.step()
	j.client.Cancel(st, CancelGivenUp)
	j.pump()
	if served.Open() || j.client.OpenCalls() != 0 || j.server.HasOutput() {
		t.Error("the call is still there")
	}
}

func TestRefusalByTheLayerAbove(t *testing.T) {
	j := join(t, DefaultSettings(), DefaultSettings())
	j.server.accept = func(*Incoming) (*Stream, *Refusal) {
		return nil, &Refusal{Code: ResourceExhausted, Message: "full", RetryAfter: 50}
	}
	st := j.client.open(Outgoing{})
	j.client.Send(st, []byte("before the refusal is seen"), 0, false)
	j.client.CloseSend(st)
	j.pump()
	if e := last(t, j.client.ended, "ending"); e.Delivery != Refused || e.RetryAfter != 50 || e.Message != "full" {
		t.Errorf("ended as %+v", e)
	}
}

// Close tells apart, by the offset that was passed on, what may have arrived.
func TestCloseTellsWhatWasNotSent(t *testing.T) {
	s := rawSide(t, false)
	a := s.open(Outgoing{End: true})
	afterA := s.Moved() + uint64(s.Unsent())
	b := s.open(Outgoing{Method: Method{"/b", 5}, End: true}) // behind a DEFINE
	for _, c := range []struct {
		passed uint64
		a, b   Delivery
	}{
		{s.Moved(), NotSent, NotSent},
		{a.sentAt, NotSent, NotSent},
		{a.sentAt + 1, DeliveryUnknown, NotSent},
		{afterA, DeliveryUnknown, NotSent},
		{b.sentAt, DeliveryUnknown, NotSent}, // only the DEFINE
		{b.sentAt + 1, DeliveryUnknown, DeliveryUnknown},
	} {
		s := rawSide(t, false)
		a, b := s.open(Outgoing{End: true}), s.open(Outgoing{Method: Method{"/b", 5}, End: true})
		s.Close(c.passed, "lost")
		got := map[*Stream]ended{s.ended[0].st: s.ended[0], s.ended[1].st: s.ended[1]}
		if got[a].Delivery != c.a || got[b].Delivery != c.b || got[a].Code != Unavailable || got[a].Message != "lost" {
			t.Errorf("%d bytes passed: %+v", c.passed, s.ended)
		}
		s.Close(c.passed, "again")
		count(t, s.ended, 2, "endings")
	}
}

func TestCloseStopsHandlersButOneWayOnes(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0), rawCall(2, 1, FlagEnd), rawCall(3, 1, FlagMsg|FlagEnd|FlagOneWay, 'x'))
	s.Finish(s.accepted[2], &Ending{})
	s.Close(0, "lost")
	count(t, s.stopped, 2, "stops")
	for _, st := range s.stopped {
		if st.code != Canceled || st.st == s.accepted[2] || st.st.Open() {
			t.Errorf("stopped %+v", st)
		}
	}
}

func TestAFaultInAnAnswerEndsItsCall(t *testing.T) {
	s := rawSide(t, false)
	st := s.open(Outgoing{})
	other := s.open(Outgoing{})
	s.Take()
	s.must(rawData(1, 1, FlagMeta, 0xff))
	if h, _ := s.only(Cancel); h.Stream != st.id || h.Word != CancelUnusable {
		t.Errorf("wrote %+v", h)
	}
	if e := last(t, s.ended, "ending"); e.st != st || e.Code != Internal || e.Delivery != DeliveryUnknown {
		t.Errorf("ended as %+v", e)
	}
	if !other.Open() {
		t.Error("another call was harmed")
	}
}

func TestMessagesInProgressAreCounted(t *testing.T) {
	s := rawSide(t, true, func(local, _ *Settings) { local.Message = 1 << 31 })
	s.hold = true
	piece := func(slot uint32, total uint32) []byte {
		return framed(Header{Type: Call, Stream: stream(slot, 1), Flags: FlagMsg | FlagMore},
			[]byte("\x01m"), AppendVarint(nil, total), filler(MinPiece-2-varintSize(total)))
	}
	s.must(piece(1, maxPromised-1))
	s.silent()
	s.must(piece(2, 1<<20))
	if h, _ := s.only(Result); Code(h.Code) != ResourceExhausted || h.Flags != FlagRefused || h.Word == 0 {
		t.Errorf("answered %+v", h)
	}
	s.must(rawCall(3, 1, 0), rawPiece(3, 1, 1<<20))
	if h, _ := s.only(Result); h.Stream.Slot() != 3 || Code(h.Code) != ResourceExhausted || h.Flags != FlagRefused || h.Word == 0 {
		t.Errorf("answered %+v", h)
	}
	if memory := cap(s.accepted[0].flow.message); memory > 4*MinPiece {
		t.Errorf("%d bytes are held for a promise", memory)
	}
	s.must(rawControl(Cancel, stream(1, 1), 0))
	s.Take()
	s.must(piece(4, maxPromised))
	s.silent()
}

func TestCancelAll(t *testing.T) {
	s := rawSide(t, false)
	a, b, c := s.open(Outgoing{}), s.open(Outgoing{}), s.open(Outgoing{})
	s.Cancel(b, CancelGivenUp)
	s.Take()
	s.CancelAll(Canceled, "closing")
	headers, _ := s.frames()
	count(t, headers, 2, "frames")
	count(t, s.ended, 2, "endings")
	for i, st := range []*Stream{a, c} {
		if e := s.ended[i]; headers[i].Type != Cancel || headers[i].Stream != st.id || e.st != st || e.Code != Canceled || e.Message != "closing" {
			t.Errorf("%+v, %+v", headers[i], e)
		}
	}
}

// Memory for cut messages comes from the layer above, and smaller pieces of it
// go back.
func TestBuffersOfCutMessages(t *testing.T) {
	given, back := 0, 0
	r := &recorder{}
	s := &side{t: t, recorder: r, now: second, Session: NewSession(r, Options{
		Acceptor: true, Local: DefaultSettings(),
		Buffer:  func(n int) []byte { given++; return make([]byte, 0, n) },
		Recycle: func([]byte) { back++ },
	}, second)}
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()}), rawCall(1, 1, 0))
	const total = 10*MinPiece + 7
	s.must(rawPiece(1, 1, total))
	for range 9 {
		s.must(rawPiece(1, 1, 0))
	}
	s.must(rawData(1, 1, FlagMsg, filler(10)...))
	if m := last(t, s.messages, "message"); len(m.payload) != total || given < 2 || back != given-1 {
		t.Errorf("%d bytes, %d buffers given, %d back", len(m.payload), given, back)
	}
}
