package wire

import (
	"slices"
	"testing"
)

// How the classes that end a call show at the callee and at the caller, by the
// table of protocol.md 15.
var (
	requestCodes = map[Class]Code{
		ErrMetadata: InvalidArgument, ErrMetadataLimit: ResourceExhausted, ErrName: InvalidArgument,
		ErrMessageSize: ResourceExhausted, ErrCodec: Unimplemented, ErrCompression: Unimplemented,
	}
	answerCodes = map[Class]Code{
		ErrMetadata: Internal, ErrMetadataLimit: ResourceExhausted, ErrMessageSize: ResourceExhausted,
		ErrCodec: Internal, ErrCompression: Internal,
	}
)

// stateFor is a session in the state in which the frame of the vector fits.
func stateFor(t *testing.T, v *vector, h *Header) (s *side, st *Stream) {
	acceptor := v.Receiver != "initiator"
	s = rawSide(t, acceptor, func(local, remote *Settings) {
		*local = v.local()
		remote.Codecs = local.Codecs
	})
	s.accept = func(in *Incoming) (*Stream, *Refusal) {
		if !slices.Contains(v.codecs(), in.Codec) {
			return nil, &Refusal{Code: Unimplemented, Message: string(ErrCodec)}
		}
		return &Stream{}, nil
	}
	if h.Type == Call || h.Type == Define || h.Stream.Slot() == 0 || h.Stream.Generation() == 0 {
		if h.Type == Call {
			for i := range int(h.Code) + 1 {
				s.bindings = append(s.bindings, &Binding{Name: string(rune('a' + i%26))})
			}
			slot := h.Stream.Slot()
			if slot > 0 {
				s.served = make([]serving, slot)
				s.served[slot-1].last = h.Stream.Generation() - 1
			}
		}
		return s, nil
	}
	// Any other frame finds its call open.
	slot := h.Stream.Slot()
	st = &Stream{
		id: h.Stream, state: streamOpen, codec: h.Codec,
		sendWindow: DefaultWindow, recvWindow: int64(s.options.Local.Window),
	}
	if h.Type == Credit {
		st.sendWindow = 0 // judged without looking at the window
	}
	if v.InMessage {
		st.codec = v.Progress.Codec
		st.flow = &flow{
			assembling: true, packed: v.Progress.Compression, codec: v.Progress.Codec,
			total: v.Progress.Total, got: v.Progress.Received, message: make([]byte, v.Progress.Received),
		}
		s.promised = uint64(v.Progress.Total)
	}
	if h.Stream.ByAcceptor() == acceptor {
		st.state |= streamCaller
		s.calls = make([]calling, slot)
		s.calls[slot-1] = calling{stream: st, last: h.Stream.Generation()}
		for range slot {
			s.taken.grab(slot)
		}
		s.openCalls = int(slot)
	} else {
		s.served = make([]serving, slot)
		s.served[slot-1] = serving{stream: st, last: h.Stream.Generation()}
		s.openServed = 1
	}
	return s, st
}

// TestFrameVectorsInSession gives every frame to a session: whole, byte by
// byte, and with bytes behind it.
func TestFrameVectorsInSession(t *testing.T) {
	f := loadVectors(t, "frames")
	for _, v := range slices.Concat(f.readable(), f.Invalid) {
		t.Run(v.ID, func(t *testing.T) {
			data := v.bytes()
			h := ParseHeader(data)
			t.Run("whole", func(t *testing.T) {
				s, st := stateFor(t, &v, &h)
				n, err := s.Receive(data, s.now)
				checkOutcome(t, &v, &h, s, st, n, err)
			})
			t.Run("tail", func(t *testing.T) {
				s, st := stateFor(t, &v, &h)
				n, err := s.Receive(append(slices.Clone(data), 1, 0xff), s.now)
				checkOutcome(t, &v, &h, s, st, n, err)
			})
			t.Run("bytewise", func(t *testing.T) {
				s, st := stateFor(t, &v, &h)
				before := *s.recorder
				for i := range len(data) - 1 {
					if i%7 != 0 && i > 64 && i < len(data)-64 {
						continue
					}
					n, err := s.Receive(data[:i+1], s.now)
					switch {
					case err != nil:
						checkOutcome(t, &v, &h, s, st, n, err)
						return
					case n != 0 || len(s.ended) != len(before.ended) || len(s.accepted) != 0 || len(s.out) != 0:
						t.Fatalf("%d bytes have an effect", i+1)
					}
				}
				n, err := s.Receive(data, s.now)
				checkOutcome(t, &v, &h, s, st, n, err)
			})
		})
	}
}

func checkOutcome(t *testing.T, v *vector, h *Header, s *side, st *Stream, n int, err *Error) {
	t.Helper()
	if v.Ends == "connection" {
		if err == nil || err.Class != v.Error {
			t.Fatalf("%v, want %s", err, v.Error)
		}
		return
	}
	if err != nil || n != len(v.bytes()) {
		t.Fatalf("took %d of %d bytes: %v", n, len(v.bytes()), err)
	}
	switch {
	case v.Error != "":
		checkCallEnded(t, v, h, s, st)
	case h.Type == Call:
		if len(s.accepted) != 1 {
			t.Fatal("the call was not accepted")
		}
		in := s.seen[0]
		checkIncoming(t, v, &in)
	case h.Type == Result:
		e := last(t, s.ended, "ending")
		if e.st != st || st.Open() || e.Code != Code(h.Code) || s.openCalls != int(h.Stream.Slot())-1 {
			t.Errorf("ended as %+v", e)
		}
		checkDelivery(t, h, &e.Ending)
	case h.Type == Data && h.Flags&(FlagMsg|FlagMore) == FlagMsg:
		m := last(t, s.messages, "message")
		if !v.InMessage && string(m.payload) != string(unhex(v.meaning()["payload"].(string))) {
			t.Errorf("message %x", m.payload)
		}
		if v.InMessage && uint32(len(m.payload)) != v.Progress.Total {
			t.Errorf("message of %d bytes, want %d", len(m.payload), v.Progress.Total)
		}
	}
}

func checkIncoming(t *testing.T, v *vector, in *Incoming) {
	t.Helper()
	want := v.meaning()
	flags := want["flags"].([]any)
	has := func(name string) bool { return slices.Contains(flags, any(name)) }
	if in.End != has("END") || in.OneWay != has("ONEWAY") || in.HasMessage != (has("MSG") && !has("MORE")) {
		t.Errorf("flags %v read as %+v", flags, in)
	}
	if name, ok := want["name"]; ok && in.Method.Name != name {
		t.Errorf("name %q, want %q", in.Method.Name, name)
	}
	if in.HasMessage && string(in.Payload) != string(unhex(want["payload"].(string))) {
		t.Errorf("payload %.100x", in.Payload)
	}
	if in.HasMessage && float64(in.Cost.Window) != want["cost"] {
		t.Errorf("cost %d, want %v", in.Cost.Window, want["cost"])
	}
	deadline := int64(0)
	if w3 := int64(want["w3"].(float64)); w3 != 0 && w3 != maxRemaining {
		deadline = second + w3*1000
	}
	if in.Deadline != deadline {
		t.Errorf("deadline %d, want %d", in.Deadline, deadline)
	}
}

func checkDelivery(t *testing.T, h *Header, e *Ending) {
	t.Helper()
	want, retry, server := Executed, uint32(0), h.Word
	switch {
	case h.Flags&FlagRefused != 0:
		want, retry, server = Refused, h.Word, 0
	case h.Flags&FlagCut != 0:
		want = DeliveryUnknown
	}
	if e.Delivery != want || e.RetryAfter != retry || e.ServerTime != server {
		t.Errorf("delivery %v, retry after %d, server time %d", e.Delivery, e.RetryAfter, e.ServerTime)
	}
}

// checkCallEnded checks that a fault ended the call as protocol.md 15 says,
// and nothing else.
func checkCallEnded(t *testing.T, v *vector, h *Header, s *side, st *Stream) {
	t.Helper()
	switch {
	case h.Type == Call:
		r, _ := s.only(Result)
		if r.Code != uint16(requestCodes[v.Error]) || r.Flags&FlagRefused == 0 || r.Word != 0 || len(s.accepted) != 0 {
			t.Errorf("answered %+v, want %v", r, requestCodes[v.Error])
		}
	case h.Type == Data && v.From == "caller":
		r, _ := s.only(Result)
		if r.Code != uint16(requestCodes[v.Error]) || r.Flags&FlagCut == 0 || st.Open() {
			t.Errorf("answered %+v, want %v", r, requestCodes[v.Error])
		}
		if last(t, s.stopped, "stop").code != requestCodes[v.Error] {
			t.Errorf("stopped %v", s.stopped)
		}
	case h.Type == Data:
		if c, _ := s.only(Cancel); c.Word != CancelUnusable {
			t.Errorf("cancelled %+v", c)
		}
		if e := last(t, s.ended, "ending"); e.Code != answerCodes[v.Error] || e.Delivery != DeliveryUnknown {
			t.Errorf("ended %+v", e)
		}
	case v.Error == ErrStatus:
		if e := last(t, s.ended, "ending"); e.Code != Code(h.Code) || e.Message != MalformedStatus || e.Details != nil {
			t.Errorf("ended %+v", e)
		}
	default:
		e := last(t, s.ended, "ending")
		if e.Code != answerCodes[v.Error] {
			t.Errorf("ended %+v", e)
		}
		checkDelivery(t, h, &e.Ending)
	}
}
