package wire

import (
	"strings"
	"testing"
)

func TestTheAcceptorAnswersTheFixedPartOfThePreface(t *testing.T) {
	s := newSide(t, Options{Acceptor: true})
	settings := DefaultSettings()
	settings.Calls = 5
	b := AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: settings})
	s.must(b[:15])
	if s.HasOutput() {
		t.Fatal("it answered too early")
	}
	s.must(b[15:16])
	if p, n, err := ParsePreface(s.Take()); n == 0 || err != nil || p.Version != 1 || s.preface != nil {
		t.Fatalf("answered %+v: %v", p, err)
	}
	s.must(b[16:])
	if s.HasOutput() || s.preface == nil || s.Remote().Calls != 5 {
		t.Fatalf("the settings were not taken in: %+v", s.preface)
	}
}

func TestAFaultyPreface(t *testing.T) {
	good := AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()})
	with := func(at int, b ...byte) []byte {
		out := append([]byte{}, good...)
		copy(out[at:], b)
		return out
	}
	for name, c := range map[string]struct {
		bytes   []byte
		class   Class
		preface bool // the acceptor's own is sent
		goAway  bool
	}{
		"magic":   {[]byte("HTTP/1.1 nonsense"), ErrPreface, false, false},
		"broken":  {with(4, 0), ErrPreface, false, false},
		"version": {with(4, 2, 2), ErrVersion, true, false},
		"setting": {append(with(12, 4), 0, 0x80, 0, 0), ErrSetting, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSide(t, Options{Acceptor: true})
			err := s.feed(c.bytes)
			if err == nil || err.Class != c.class {
				t.Fatalf("%v, want %s", err, c.class)
			}
			s.Abort(err)
			b := s.Take()
			if !c.preface {
				if len(b) != 0 {
					t.Fatalf("answered %x", b)
				}
				return
			}
			p, n, _ := ParsePreface(b)
			if n == 0 || p.Version != 1 || p.Highest != 1 {
				t.Fatalf("answered %x", b)
			}
			if b = b[n:]; (len(b) > 0) != c.goAway {
				t.Fatalf("%x behind the preface", b)
			}
			if c.goAway {
				if h := ParseHeader(b); h.Type != GoAway || h.Word != GoAwayProtocolError || !strings.HasPrefix(string(b[16:]), "setting: ") {
					t.Errorf("answered %x", b)
				}
			}
		})
	}
}

func TestAVersionThatIsNotSpokenRefusesAllCalls(t *testing.T) {
	s := newSide(t, Options{})
	s.open(Outgoing{End: true})
	passed := uint64(len(s.Take()))
	err := s.feed(append(append([]byte{}, Magic[:]...), 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
	if err == nil || err.Class != ErrVersion || !strings.Contains(err.Text, "version 3") || !strings.Contains(err.Text, "version 1") {
		t.Fatal(err)
	}
	s.Abort(err)
	if s.HasOutput() {
		t.Error("something was said in a version that the peer does not speak")
	}
	s.Close(passed, "version")
	if e := last(t, s.ended, "ending"); e.Code != Unavailable || e.Delivery != Refused || e.RetryAfter != 0 {
		t.Errorf("ended as %+v", e)
	}
}

func TestDraining(t *testing.T) {
	j := join(t, DefaultSettings(), DefaultSettings())
	st := j.client.open(Outgoing{End: true})
	j.pump()
	j.server.GoAway(GoAwayDraining, "bye")
	late := j.client.open(Outgoing{End: true}) // crosses the GOAWAY
	j.pump()
	if len(j.client.away) != 1 || j.client.away[0] != "bye" || j.client.AcceptsCalls() || j.server.AcceptsCalls() {
		t.Fatalf("away %v", j.client.away)
	}
	if !j.server.peerDrained || !j.client.peerDrained || !j.server.sentGoAway || j.client.sentGoAway {
		t.Fatal("the ACKs did not pass")
	}
	count(t, j.server.accepted, 2, "accepted calls")
	if j.server.Drained() || j.client.Drained() {
		t.Fatal("drained with calls open")
	}
	for _, served := range j.server.accepted {
		j.server.Finish(served, &Ending{})
	}
	j.pump()
	if !j.server.Drained() || !j.client.Drained() || st.Open() || late.Open() {
		t.Fatal("not drained")
	}
	j.server.GoAway(GoAwayDraining, "again")
	if j.server.HasOutput() {
		t.Error("GOAWAY was said twice")
	}
}

func TestGoAwayOnTheWire(t *testing.T) {
	s := rawSide(t, true)
	goAway := framed(Header{Type: GoAway}, []byte("text\xff"))
	s.must(goAway, goAway)
	if h, _ := s.only(GoAway); h.Flags != FlagAck { // one ACK for all
		t.Fatalf("wrote %+v", h)
	}
	count(t, s.away, 1, "announcements")
	if s.away[0] != "text\ufffd" || s.reasons[0] != 0 {
		t.Errorf("told %q, %d", s.away[0], s.reasons[0])
	}
	s.must(framed(Header{Type: GoAway, Word: 77}))
	count(t, s.away, 1, "announcements") // an unknown reason counts as 0
	s.must(framed(Header{Type: GoAway, Word: GoAwayInternalError}))
	count(t, s.away, 2, "announcements")
	s.silent()

	s.must(rawCall(1, 1, FlagEnd)) // it asked us to open none, and may open some itself
	ack := framed(Header{Type: GoAway, Flags: FlagAck, Word: 3}, []byte("ignored"))
	s.must(ack, ack, rawCall(2, 1, FlagEnd))
	if h, _ := s.only(Result); Code(h.Code) != Unavailable || h.Flags != FlagRefused || h.Word != 1 {
		t.Errorf("answered %+v", h)
	}
	s.must(rawData(9, 1, 0), rawControl(Ping, 0, 0), rawControl(Cancel, stream(1, 1), 0))
	count(t, s.stopped, 1, "stops")
}

func TestCallsAreRefusedWhenGoAwayIsNotAcknowledged(t *testing.T) {
	s := rawSide(t, true)
	s.GoAway(GoAwayDraining, "")
	s.Take()
	s.now += drainPatience - 1
	s.must(rawCall(1, 1, FlagEnd))
	count(t, s.accepted, 1, "accepted calls")
	s.now++
	s.must(rawCall(2, 1, FlagEnd))
	if h, _ := s.only(Result); Code(h.Code) != Unavailable || h.Flags != FlagRefused || h.Word != 1 {
		t.Errorf("answered %+v", h)
	}
}

func TestAbortSaysWhatWasWrong(t *testing.T) {
	for class, want := range map[Class]uint32{
		ErrFlags: GoAwayProtocolError, ErrState: GoAwayProtocolError, ErrFlood: GoAwayResourceLimit, ErrSilence: GoAwayPeerSilent,
	} {
		s := rawSide(t, true)
		s.Abort(violation(class, "on slot %d", 7))
		h, body := s.only(GoAway)
		if h.Word != want || string(body) != string(class)+": on slot 7" || s.AcceptsCalls() {
			t.Errorf("%s: wrote %+v %q", class, h, body)
		}
	}
}

func TestFloods(t *testing.T) {
	ping := rawControl(Ping, 0, 1)
	untracked := rawCall(2000, 1, FlagEnd)
	t.Run("PING", func(t *testing.T) {
		s := rawSide(t, true)
		for range 3 { // what is read is answered without end
			for range maxOwed {
				s.must(ping)
			}
			s.Take()
		}
		for range maxOwed {
			s.must(ping)
		}
		s.fails(ErrFlood, ping)
	})
	t.Run("both together", func(t *testing.T) {
		s := rawSide(t, true)
		for range maxOwed / 2 {
			s.must(ping, untracked)
		}
		s.must(framed(Header{Type: Ping, Flags: FlagAck})) // owes no answer
		s.fails(ErrFlood, untracked)
	})
}

func TestUnknownTypesAreSkipped(t *testing.T) {
	s := rawSide(t, true)
	s.must(framed(Header{Type: 0x80, Flags: 0xff, Stream: 5, Codec: 3}, filler(1000)), rawControl(Ping, 0, 1))
	s.only(Ping)
}

// An error in the middle of input leaves what stood before it done.
func TestFramesBeforeTheFaultKeepTheirEffect(t *testing.T) {
	s := rawSide(t, true)
	b := append(rawCall(1, 1, FlagMsg|FlagEnd, 'x'), framed(Header{Type: 9})...)
	n, err := s.Receive(b, s.now)
	if err == nil || err.Class != ErrType || n != len(b)-HeaderSize || len(s.accepted) != 1 {
		t.Errorf("%d, %v, %v", n, err, s.accepted)
	}
}

// A frame that is too long is known by its header, before its body.
func TestTooLongIsKnownAtTheHeader(t *testing.T) {
	s := rawSide(t, true)
	s.fails(ErrLength, AppendHeader(nil, Header{Type: Call, Length: DefaultFrameBody + 1}))
}
