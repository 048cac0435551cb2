package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestCallAndAnswer(t *testing.T) {
	for _, chunk := range []int{0, 1, 7} {
		j := join(t, DefaultSettings(), DefaultSettings())
		j.chunk = chunk
		own := &Own{Attempt: 2}
		st := j.client.open(Outgoing{
			Codec: 1, Remaining: 5000, Payload: []byte("ask"), HasMessage: true, End: true,
			Metadata: Metadata{{"tenant", "acme"}, {"sig-bin", "\x00\xff"}, {"user-agent", "t"}}, Own: own,
		})
		j.pump()
		count(t, j.server.accepted, 1, "accepted calls")
		in := j.server.seen[0]
		if in.Method.Name != unary.Name || string(in.Payload) != "ask" || !in.End || !in.HasMessage || in.Codec != 1 ||
			in.Deadline != second+5000_000 || fmt.Sprint(in.Metadata) != "[{tenant acme} {sig-bin \x00\xff} {user-agent t}]" || *in.Own != *own {
			t.Fatalf("arrived as %+v", in)
		}
		queued := j.server.Finish(j.server.accepted[0], &Ending{
			Payload: []byte("answer"), HasMessage: true, ServerTime: 42,
			Metadata: Metadata{{"trailer", "x"}}, Own: &Own{Attempt: 300},
		})
		j.pump()
		e := last(t, j.client.ended, "ending")
		if queued || e.st != st || e.Code != OK || e.Delivery != Executed || string(e.Payload) != "answer" || e.ServerTime != 42 ||
			e.Metadata.Get("trailer") != "x" || e.Own.Attempt != 300 {
			t.Fatalf("ended as %+v", e)
		}
		if st.Open() || j.client.OpenCalls() != 0 || j.server.OpenServed() != 0 {
			t.Fatal("something is still open")
		}
	}
}

func TestErrorsTravelWithDetails(t *testing.T) {
	j := join(t, DefaultSettings(), DefaultSettings())
	j.client.open(Outgoing{End: true})
	j.pump()
	j.server.Finish(j.server.accepted[0], &Ending{
		Code: NotFound, Message: "nobody", Details: []Detail{{"type/x", []byte{1}}, {"type/y", nil}}, HasMessage: true, Payload: []byte("dropped"),
	})
	j.pump()
	e := last(t, j.client.ended, "ending")
	if e.Code != NotFound || e.Message != "nobody" || len(e.Details) != 2 || e.Details[0].Value[0] != 1 || e.HasMessage || e.Stripped {
		t.Fatalf("ended as %+v", e)
	}
}

func TestStatusIsStrippedToOneFrame(t *testing.T) {
	for name, e := range map[string]Ending{
		"details": {Code: Internal, Message: "short", Details: []Detail{{"t", filler(DefaultFrameBody)}}},
		"message": {Code: Internal, Message: strings.Repeat("é", DefaultFrameBody)},
		"with trailers": {
			Code: Internal, Message: "short", Details: []Detail{{"t", filler(DefaultFrameBody - 1000)}},
			Metadata: Metadata{{"k", strings.Repeat("v", 16000)}},
		},
	} {
		j := join(t, DefaultSettings(), DefaultSettings())
		j.client.open(Outgoing{End: true})
		j.pump()
		j.server.Finish(j.server.accepted[0], &e)
		j.pump()
		got := last(t, j.client.ended, "ending")
		if !got.Stripped || got.Details != nil || got.Code != Internal || !strings.HasPrefix(e.Message, got.Message) || len(got.Message) < 5 {
			t.Errorf("%s: ended as %.200v", name, fmt.Sprint(got))
		}
		if got.Metadata.Get("k") != e.Metadata.Get("k") {
			t.Errorf("%s: trailers were lost", name)
		}
	}
}

func TestSlotsAreTheLowestFreeWithTheNextGeneration(t *testing.T) {
	s := rawSide(t, false)
	want := func(st *Stream, slot uint32, generation uint16) {
		t.Helper()
		if st.id != stream(slot, generation) {
			t.Fatalf("slot %d, generation %d; want %d, %d", st.id.Slot(), st.id.Generation(), slot, generation)
		}
	}
	for slot := uint32(1); slot <= 130; slot++ {
		want(s.open(Outgoing{End: true}), slot, 1)
	}
	s.must(rawResult(70, 1, OK, 0), rawResult(3, 1, OK, 0))
	want(s.open(Outgoing{End: true}), 3, 2)
	want(s.open(Outgoing{End: true}), 70, 2)
	want(s.open(Outgoing{End: true}), 131, 1)
	for generation := uint16(2); generation <= maxGeneration; generation++ {
		s.must(rawResult(3, generation, OK, 0))
		st := s.open(Outgoing{End: true})
		want(st, 3, generation%maxGeneration+1)
	}
}

func TestCalleeJudgesSlotsAndGenerations(t *testing.T) {
	t.Run("first generation is 1", func(t *testing.T) { rawSide(t, true).fails(ErrState, rawCall(1, 2, FlagEnd)) })
	t.Run("same generation again", func(t *testing.T) {
		s := rawSide(t, true)
		s.must(rawCall(1, 1, FlagEnd))
		s.Finish(s.accepted[0], &Ending{})
		s.Take()
		s.fails(ErrState, rawCall(1, 1, FlagEnd))
	})
	t.Run("taken", func(t *testing.T) {
		s := rawSide(t, true)
		s.must(rawCall(1, 1, FlagEnd))
		s.fails(ErrState, rawCall(1, 2, FlagEnd))
	})
	t.Run("taken until RESULT has moved to the writer", func(t *testing.T) {
		s := rawSide(t, true)
		s.must(rawCall(1, 1, FlagEnd))
		s.Finish(s.accepted[0], &Ending{})
		s.fails(ErrState, rawCall(1, 2, FlagEnd))
	})
	t.Run("free once RESULT has moved", func(t *testing.T) {
		s := rawSide(t, true)
		for generation := uint16(1); generation < 10; generation++ {
			s.must(rawCall(5, generation, FlagEnd))
			s.Finish(last(t, s.accepted, "call"), &Ending{})
			s.Take()
		}
	})
	t.Run("a refused call uses up its generation", func(t *testing.T) {
		s := rawSide(t, true)
		s.accept = func(*Incoming) (*Stream, *Refusal) { return nil, &Refusal{Code: Unimplemented} }
		s.must(rawCall(1, 1, FlagEnd))
		s.Take()
		s.fails(ErrState, rawCall(1, 1, FlagEnd))
	})
	t.Run("an undefined method before the state", func(t *testing.T) {
		rawSide(t, true).fails(ErrMethod, framed(Header{Type: Call, Stream: stream(1, 9), Code: 7, Flags: FlagEnd}))
	})
}

func TestCallsAboveTheLimitAreRefused(t *testing.T) {
	s := rawSide(t, true, func(local, _ *Settings) { local.Calls = 2 })
	s.must(rawCall(1, 1, FlagEnd), rawCall(2, 1, FlagEnd))
	s.silent()
	// Neither generation nor body is looked at, and nothing is remembered.
	for range 2 {
		s.must(framed(Header{Type: Call, Stream: stream(3, 7), Flags: FlagMeta}, []byte{0xff}))
		h, body := s.only(Result)
		message, _, _ := ParseStatus(body)
		if h.Stream != stream(3, 7) || Code(h.Code) != ResourceExhausted || h.Flags != FlagRefused || h.Word == 0 || !strings.Contains(message, "max_calls 2") {
			t.Fatalf("answered %+v %q", h, message)
		}
	}
	s.must(rawData(3, 7, FlagEnd), rawControl(Cancel, stream(3, 7), 0), rawControl(Credit, stream(3, 7), 1))
	s.silent()
	if s.OpenServed() != 2 {
		t.Errorf("%d calls are served", s.OpenServed())
	}
}

func TestTheCallerKeepsToTheLimitOnceItIsTold(t *testing.T) {
	s := newSide(t, Options{})
	a := s.open(Outgoing{End: true})
	b := s.open(Outgoing{End: true})
	remote := DefaultSettings()
	remote.Calls = 2
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: remote}))
	if s.HasSlots(1) {
		t.Fatal("a third call may be opened")
	}
	s.must(rawResult(1, 1, OK, 0))
	if a.Open() || !b.Open() || !s.HasSlots(1) || s.HasSlots(2) {
		t.Fatal("one slot should be free")
	}
	if st := s.open(Outgoing{End: true}); st.id != stream(1, 2) {
		t.Errorf("opened on %d", st.id.Slot())
	}
}

func TestMethodsAreDefinedOnce(t *testing.T) {
	s := rawSide(t, false)
	s.open(Outgoing{Method: Method{"/a/x", 3}, End: true})
	s.open(Outgoing{Method: Method{"/a/x", 3}, End: true})
	s.open(Outgoing{Method: Method{"/a/y", 1}, End: true})
	headers, bodies := s.frames()
	got := ""
	for i, h := range headers {
		got += fmt.Sprintf("%v %d %q\n", h.Type, h.Code, bodies[i])
	}
	want := "DEFINE 1 \"\\x04/a/x\"\nCALL 1 \"\"\nCALL 1 \"\"\nDEFINE 2 \"\\x04/a/y\"\nCALL 2 \"\"\n"
	if got != want {
		t.Errorf("wrote\n%swant\n%s", got, want)
	}
}

func TestAFullTableHasNamesSentInline(t *testing.T) {
	s := rawSide(t, false)
	for i := range DefaultMethods {
		st := s.open(Outgoing{Method: Method{fmt.Sprintf("/a/%d", i), i}, End: true})
		s.Take()
		s.must(rawResult(st.id.Slot(), st.id.Generation(), OK, 0))
	}
	s.open(Outgoing{Method: Method{"/a/more", DefaultMethods}, End: true})
	if h, body := s.only(Call); h.Code != 0 || string(body) != "\x07/a/more" {
		t.Errorf("wrote %+v %q", h, body)
	}
	s.open(Outgoing{Method: Method{"/a/0", 0}, End: true})
	if h, body := s.only(Call); h.Code != 1 || len(body) != 0 {
		t.Errorf("wrote %+v %q", h, body)
	}
	s.open(Outgoing{Method: Method{"/never", -1}, End: true, Payload: []byte("p"), HasMessage: true})
	if h, body := s.only(Call); h.Code != 0 || string(body) != "\x06/neverp" {
		t.Errorf("wrote %+v %q", h, body)
	}
}

func TestRedefinitionEndsTheConnection(t *testing.T) {
	for name, method := range map[string]string{"same name": "/a/x", "other name": "/a/y"} {
		t.Run(name, func(t *testing.T) {
			s := rawSide(t, true)
			s.must(AppendDefine(nil, 9, "/a/x"), framed(Header{Type: Call, Stream: stream(1, 1), Code: 9, Flags: FlagEnd}))
			if got := s.seen[0].Method.Name; got != "/a/x" {
				t.Fatalf("id 9 is %q", got)
			}
			s.fails(ErrMethod, AppendDefine(nil, 9, method))
		})
	}
	rawSide(t, true).fails(ErrMethod, framed(Header{Type: Call, Stream: stream(1, 1), Code: 1, Flags: FlagEnd}))
}

func TestStaleFramesAreIgnored(t *testing.T) {
	s := rawSide(t, true)
	s.must(rawCall(1, 1, 0))
	s.Finish(s.accepted[0], &Ending{})
	s.Take()
	stale := [][]byte{
		rawData(1, 1, FlagMsg, 'x'), rawData(1, 1, FlagEnd), rawControl(Credit, stream(1, 1), MaxWindow),
		rawControl(Cancel, stream(1, 1), 0), rawPiece(1, 1, 1<<30), rawData(9, 4, FlagMsg|FlagEnd),
	}
	s.must(stale...)
	s.must(rawCall(1, 2, 0))
	s.must(stale...)
	s.silent()
	if len(s.messages)+len(s.closed)+len(s.stopped) != 0 || !s.accepted[1].Open() {
		t.Errorf("stale frames had an effect: %+v", s.recorder)
	}

	c := rawSide(t, false)
	st := c.open(Outgoing{})
	c.must(rawResult(1, 1, OK, 0))
	c.Take()
	answers := [][]byte{rawData(1, 1, FlagMsg, 'x'), rawData(1, 1, FlagMeta, 0), rawControl(Credit, stream(1, 1), MaxWindow)}
	c.must(answers...)
	st2 := c.open(Outgoing{})
	c.must(answers...)
	if st.Open() || !st2.Open() || len(c.messages)+len(c.early) != 0 {
		t.Error("stale answers had an effect")
	}
}

func TestResultWithoutACallEndsTheConnection(t *testing.T) {
	for name, frame := range map[string][]byte{
		"free slot": rawResult(2, 1, OK, 0), "slot never used": rawResult(900, 1, OK, 0),
		"earlier generation": rawResult(1, 1, OK, 0), "later generation": rawResult(1, 3, OK, 0),
	} {
		t.Run(name, func(t *testing.T) {
			s := rawSide(t, false)
			s.open(Outgoing{End: true})
			s.must(rawResult(1, 1, OK, 0))
			s.open(Outgoing{End: true}) // slot 1, generation 2
			s.fails(ErrState, frame)
		})
	}
}

func TestWhatTheStateOfAStreamForbids(t *testing.T) {
	t.Run("DATA after END", func(t *testing.T) {
		s := rawSide(t, true)
		s.must(rawCall(1, 1, FlagEnd))
		s.fails(ErrState, rawData(1, 1, 0))
	})
	t.Run("metadata on a later DATA", func(t *testing.T) {
		s := rawSide(t, false)
		s.open(Outgoing{})
		s.must(rawData(1, 1, 0))
		s.fails(ErrState, rawData(1, 1, FlagMeta, 0))
	})
	t.Run("state before body", func(t *testing.T) {
		s := rawSide(t, false)
		s.open(Outgoing{})
		s.must(rawData(1, 1, FlagMeta, 0))
		s.fails(ErrState, rawData(1, 1, FlagMeta, 0xff))
	})
	t.Run("REFUSED after DATA", func(t *testing.T) {
		s := rawSide(t, false)
		s.open(Outgoing{})
		s.must(rawData(1, 1, FlagMsg, 'x'))
		s.fails(ErrState, rawResult(1, 1, Unavailable, FlagRefused))
	})
	t.Run("DATA answers a one-way call", func(t *testing.T) {
		s := rawSide(t, false)
		s.open(Outgoing{OneWay: true, HasMessage: true, End: true})
		s.fails(ErrState, rawData(1, 1, 0))
	})
	t.Run("a message answers a one-way call", func(t *testing.T) {
		s := rawSide(t, false)
		s.open(Outgoing{OneWay: true, HasMessage: true, End: true})
		s.fails(ErrState, rawResult(1, 1, OK, FlagMsg))
	})
	t.Run("a one-way message without END", func(t *testing.T) {
		s := rawSide(t, true)
		s.must(framed(Header{Type: Call, Stream: stream(1, 1), Flags: FlagMsg | FlagMore | FlagOneWay},
			[]byte("\x01m"), AppendVarint(nil, 70_000), filler(MinPiece-5)))
		s.fails(ErrState, rawData(1, 1, FlagMsg, filler(70_000-MinPiece+5)...))
	})
}

func TestTheAcceptorMayCall(t *testing.T) {
	j := join(t, DefaultSettings(), DefaultSettings())
	there := j.client.open(Outgoing{Payload: []byte("a"), HasMessage: true, End: true})
	back := j.server.open(Outgoing{Payload: []byte("b"), HasMessage: true, End: true})
	j.pump()
	if there.id.ByAcceptor() || !back.id.ByAcceptor() || there.id.Slot() != back.id.Slot() {
		t.Fatalf("ids %#x and %#x", there.id, back.id)
	}
	j.server.Finish(j.server.accepted[0], &Ending{Message: "x", Code: Aborted, Delivery: Executed})
	j.client.Finish(j.client.accepted[0], &Ending{HasMessage: true, Payload: []byte("c")})
	j.pump()
	if e := last(t, j.client.ended, "ending"); e.st != there || e.Code != Aborted {
		t.Errorf("ended as %+v", e)
	}
	if e := last(t, j.server.ended, "ending"); e.st != back || string(e.Payload) != "c" {
		t.Errorf("ended as %+v", e)
	}
}

func TestOneWay(t *testing.T) {
	for _, size := range []int{0, 10, MinPiece, MinPiece + 1, 300_000} {
		j := join(t, DefaultSettings(), DefaultSettings())
		j.server.hold = true
		st := j.client.open(Outgoing{OneWay: true, HasMessage: true, End: true, Payload: filler(size), Metadata: Metadata{{"k", "v"}}})
		j.pump()
		served := j.server.accepted[0]
		got := len(j.server.seen[0].Payload)
		if !j.server.seen[0].HasMessage {
			got = len(last(t, j.server.messages, "message").payload)
		}
		if !j.server.seen[0].OneWay || got != size || j.server.seen[0].Metadata.Get("k") != "v" {
			t.Fatalf("%d bytes arrived as %d: %+v", size, got, j.server.seen[0].OneWay)
		}
		j.server.Start(served, j.server.now)
		j.server.Send(served, []byte("nobody wants it"), 0, false)
		j.server.SendMetadata(served, Metadata{{"k", "v"}})
		j.server.Finish(served, &Ending{HasMessage: true, Payload: []byte("nor this")})
		j.pump()
		if e := last(t, j.client.ended, "ending"); e.st != st || e.Code != OK || e.HasMessage {
			t.Fatalf("ended as %+v", e)
		}
	}
}

// Numbers above 7 mean what both sides' settings say.
func TestACodecOfOnesOwnHasOneNameAtBothSides(t *testing.T) {
	client, server := DefaultSettings(), DefaultSettings()
	client.Codecs = map[uint8]string{8: "other", 9: "avro"}
	server.Codecs = map[uint8]string{8: "another", 9: "avro"}
	j := join(t, client, server)
	j.client.open(Outgoing{Codec: 9, Payload: []byte("a"), HasMessage: true})
	j.pump()
	if in := j.server.seen[0]; in.Codec != 9 {
		t.Fatalf("arrived in codec %d", in.Codec)
	}
	served := j.server.accepted[0]
	j.server.Send(served, []byte("b"), 0, false)
	j.pump()
	j.server.Finish(served, &Ending{HasMessage: true, Payload: []byte("c")})
	j.pump()
	if e := last(t, j.client.ended, "ending"); e.Code != OK || string(e.Payload) != "c" || string(j.client.messages[0].payload) != "b" {
		t.Fatalf("ended as %+v", e)
	}
	j.client.open(Outgoing{Codec: 8, Payload: []byte("a"), HasMessage: true})
	j.pump()
	if e := last(t, j.client.ended, "ending"); e.Code != Unimplemented || e.Delivery != Refused || !strings.Contains(e.Message, `"other"`) {
		t.Fatalf("ended as %+v", e)
	}
}

// What a stream held in its last call is gone in its next.
func TestStreamsCanBeUsedAnew(t *testing.T) {
	s := rawSide(t, true)
	st := &Stream{}
	s.accept = func(*Incoming) (*Stream, *Refusal) { return st, nil }
	s.must(rawCall(1, 1, FlagMsg, 'x'), rawPiece(1, 1, 1<<20))
	s.Finish(st, &Ending{Code: ResourceExhausted, Message: "test", Delivery: Executed})
	s.Take()
	s.must(rawCall(1, 2, 0), rawData(1, 2, FlagMsg|FlagEnd, 'y'))
	if m := last(t, s.messages, "message"); string(m.payload) != "y" || m.cost.Window != 17 {
		t.Errorf("message %q, cost %d", m.payload, m.cost)
	}
}

func TestMetadataIsCheckedBeforeItIsSent(t *testing.T) {
	wide := DefaultSettings()
	wide.MetadataBytes = 1 << 20
	many := make(Metadata, DefaultMetadataEntries)
	for i := range many {
		many[i] = Pair{"k", "v"}
	}
	for name, c := range map[string]struct {
		m     Metadata
		own   *Own
		to    Settings
		class Class
	}{
		"fine":                 {Metadata{{"k", "v"}, {"x-bin", "\x00"}}, nil, DefaultSettings(), ""},
		"upper case":           {Metadata{{"K", "v"}}, nil, DefaultSettings(), ErrMetadata},
		"no key":               {Metadata{{"", "v"}}, nil, DefaultSettings(), ErrMetadata},
		"long key":             {Metadata{{strings.Repeat("k", 256), "v"}}, nil, DefaultSettings(), ErrMetadata},
		"not printable":        {Metadata{{"k", "\x7f"}}, nil, DefaultSettings(), ErrMetadata},
		"as many as allowed":   {many, nil, DefaultSettings(), ""},
		"one of ours more":     {many, &Own{Attempt: 2}, DefaultSettings(), ErrMetadataLimit},
		"as long as allowed":   {Metadata{{"k", strings.Repeat("v", DefaultMetadataBytes-5)}}, nil, DefaultSettings(), ""},
		"one byte more":        {Metadata{{"k", strings.Repeat("v", DefaultMetadataBytes-4)}}, nil, DefaultSettings(), ErrMetadataLimit},
		"below half a frame":   {Metadata{{"k", strings.Repeat("v", 32_000)}}, nil, wide, ""},
		"more than half of it": {Metadata{{"k", strings.Repeat("v", 32_768)}}, nil, wide, ErrMetadataLimit},
	} {
		err := CheckMetadata(c.m, c.own, &c.to)
		if (err == nil) != (c.class == "") || err != nil && err.Class != c.class {
			t.Errorf("%s: %v, want %q", name, err, c.class)
		}
	}
}

func TestAMessageOfAMebibyteLeavesWithOneWrite(t *testing.T) {
	message := filler(1<<20 + 5) // with what a codec puts around a mebibyte
	t.Run("of a caller", func(t *testing.T) {
		s := rawSide(t, false, func(_, remote *Settings) { remote.Pool = 1 << 20 })
		s.options.Splice = true
		st := s.open(Outgoing{})
		s.Send(st, message, 0, true)
		h, _ := s.frames()
		if last(t, h, "frame").Flags&FlagEnd == 0 || s.HasOutput() {
			t.Errorf("%d frames left first, the last one %+v", len(h), h[len(h)-1])
		}
	})
	t.Run("of a handler", func(t *testing.T) {
		s := rawSide(t, true, func(_, remote *Settings) { remote.Pool = 1 << 20 })
		s.options.Splice = true
		s.must(rawCall(1, 1, FlagEnd))
		s.Finish(s.accepted[0], &Ending{HasMessage: true, Payload: message})
		h, _ := s.frames()
		if last(t, h, "frame").Type != Result || s.HasOutput() {
			t.Errorf("%d frames left first, the last one %+v", len(h), h[len(h)-1])
		}
	})
}
