package wire

import (
	"strings"
	"testing"
)

// tick moves the time on and returns when the session wants to be called next.
func (s *side) tick(now int64) int64 {
	s.t.Helper()
	s.now = now
	next, err := s.Tick(now)
	if err != nil {
		s.t.Fatal(err)
	}
	if next != 0 && next <= now {
		s.t.Fatalf("at %d the session wants to be called at %d", now, next)
	}
	return next
}

func deadlineCall(slot uint32, microseconds uint32) []byte {
	return framed(Header{Type: Call, Stream: stream(slot, 1), Word: microseconds}, []byte("\x01m"))
}

func TestDeadlinesAtTheCallee(t *testing.T) {
	s := rawSide(t, true)
	s.now = 100 * second
	s.must(deadlineCall(1, 5_000_000), deadlineCall(2, 2_000_000), deadlineCall(3, 0), deadlineCall(4, maxRemaining))
	if got := s.NextDeadline(); got != 102*second {
		t.Fatalf("next deadline %d", got)
	}
	s.tick(102*second - 1)
	s.silent()
	if next := s.tick(102 * second); next != 105*second {
		t.Fatalf("wants to be called at %d", next)
	}
	if h, _ := s.only(Result); h.Stream != stream(2, 1) || Code(h.Code) != DeadlineExceeded || h.Flags != FlagCut {
		t.Errorf("answered %+v", h)
	}
	s.Finish(s.accepted[0], &Ending{})
	s.Take()
	if next := s.tick(200 * second); next != 0 {
		t.Errorf("wants to be called at %d", next)
	}
	s.silent()
	count(t, s.stopped, 1, "stops")
	if s.stopped[0] != (stopped{s.accepted[1], DeadlineExceeded}) || s.OpenServed() != 2 {
		t.Errorf("stopped %v, %d open", s.stopped, s.OpenServed())
	}
}

func TestDeadlinesAtTheCaller(t *testing.T) {
	for name, tick := range map[string]func(s *side, now int64) int64{
		"while the connection lasts":     (*side).tick,
		"while the connection is ending": func(s *side, now int64) int64 { return s.EndOverdue(now) },
	} {
		t.Run(name, func(t *testing.T) {
			s := rawSide(t, false)
			first, sooner := s.open(Outgoing{Deadline: 105 * second}), s.open(Outgoing{Deadline: 102 * second})
			s.open(Outgoing{})
			if got := s.NextDeadline(); got != 102*second {
				t.Fatalf("next deadline %d", got)
			}
			s.Take()
			tick(s, 102*second-1)
			s.silent()
			if next := tick(s, 102*second); next != 105*second {
				t.Fatalf("wants to be called at %d", next)
			}
			if h, _ := s.only(Cancel); h.Stream.Slot() != 2 || h.Word != CancelDeadline {
				t.Errorf("cancelled %+v", h)
			}
			count(t, s.ended, 1, "ends")
			if e := s.ended[0]; e.st != sooner || e.Code != DeadlineExceeded || !e.Local || e.Delivery != DeliveryUnknown || sooner.Open() {
				t.Errorf("ended %+v", e)
			}
			// A stream that is used again has no deadline of the call before.
			s.must(rawResult(1, 1, OK, 0), rawResult(2, 1, Canceled, FlagCut))
			s.Session.Open(first, &Outgoing{Method: unary})
			s.Take()
			tick(s, 110*second)
			s.silent()
			count(t, s.ended, 2, "ends")
			if s.OpenCalls() != 2 {
				t.Errorf("%d open", s.OpenCalls())
			}
		})
	}
}

func TestADeadlineBeforeTheStartIsARefusal(t *testing.T) {
	s := rawSide(t, true)
	s.hold = true
	s.must(deadlineCall(1, 1000))
	s.tick(2 * second)
	if h, _ := s.only(Result); Code(h.Code) != DeadlineExceeded || h.Flags != FlagRefused || h.Word != 0 {
		t.Errorf("answered %+v", h)
	}
}

func TestExpiredCallsAreNotStarted(t *testing.T) {
	s := rawSide(t, true)
	s.hold = true
	s.must(deadlineCall(1, 1000), deadlineCall(2, 1000), deadlineCall(3, 0))
	if !s.Start(s.accepted[0], second+999_999) || !s.Start(s.accepted[2], 1<<60) {
		t.Fatal("a call in time may not start")
	}
	s.silent()
	if s.Start(s.accepted[1], second+1_000_000) || s.Start(s.accepted[1], second) || s.accepted[1].Open() {
		t.Fatal("an expired call may start")
	}
	if h, _ := s.only(Result); h.Stream.Slot() != 2 || Code(h.Code) != DeadlineExceeded || h.Flags != FlagRefused || h.Word != 0 {
		t.Errorf("answered %+v", h)
	}
	s.must(rawControl(Cancel, stream(1, 1), 0))
	if h, _ := s.only(Result); h.Flags != FlagCut {
		t.Errorf("answered %+v", h)
	}
	count(t, s.stopped, 1, "stops")
}

func TestRemaining(t *testing.T) {
	for in, want := range map[int64]uint32{
		-5: 1, 0: 1, 999: 1, 1000: 1, 2999: 2, 5e9: 5_000_000, 4294967294e3: 4294967294, 1 << 62: maxRemaining,
	} {
		if got := Remaining(in); got != want {
			t.Errorf("%d ns are %d µs, want %d", in, got, want)
		}
	}
}

func keptAlive(t *testing.T, minPing uint32) *side {
	s := newSide(t, Options{KeepaliveInterval: 20 * second, KeepaliveTimeout: 10 * second})
	remote := DefaultSettings()
	remote.MinPingInterval = minPing
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: remote}))
	s.Take()
	return s
}

func TestKeepalive(t *testing.T) {
	s := keptAlive(t, 5000)
	if next := s.tick(2 * second); next != 21*second {
		t.Fatalf("first PING at %d", next)
	}
	s.silent()
	if next := s.tick(21 * second); next != 31*second {
		t.Fatalf("gives up at %d", next)
	}
	ping, _ := s.only(Ping)
	s.now = 30 * second
	s.must(framed(Header{Type: Ping, Flags: FlagAck, Word: ping.Word}))
	if next := s.tick(31 * second); next != 50*second {
		t.Fatalf("second PING at %d", next)
	}
	s.now = 49 * second
	s.feed([]byte{0}) // one byte of a frame is a sign of life, too
	if next := s.tick(50 * second); next != 69*second {
		t.Fatalf("second PING at %d", next)
	}
	s.silent()
	s.tick(69 * second)
	s.only(Ping)
	if _, err := s.Tick(79 * second); err == nil || err.Class != ErrSilence {
		t.Fatalf("%v, want %s", err, ErrSilence)
	} else {
		s.Abort(err)
	}
	if h, _ := s.only(GoAway); h.Word != GoAwayPeerSilent {
		t.Errorf("wrote %+v", h)
	}
}

func TestPingsKeepTheDistanceThePeerAsksFor(t *testing.T) {
	s := keptAlive(t, 60_000)
	s.tick(21 * second)
	s.only(Ping)
	s.now = 22 * second
	s.must(framed(Header{Type: Ping, Flags: FlagAck}))
	if next := s.tick(42 * second); next != 81*second {
		t.Fatalf("second PING at %d", next)
	}
	s.silent()
	s.tick(81 * second)
	s.only(Ping)
}

func TestPingsAreAnswered(t *testing.T) {
	s := rawSide(t, true)
	s.must(framed(Header{Type: Ping, Word: 0xdeadbeef}, []byte("ignored")), framed(Header{Type: Ping, Flags: FlagAck, Word: 5}))
	if h, body := s.only(Ping); h.Flags != FlagAck || h.Word != 0xdeadbeef || len(body) != 0 {
		t.Errorf("answered %+v", h)
	}
}

func TestAnAcceptorSaysNothingBeforeThePreface(t *testing.T) {
	s := newSide(t, Options{Acceptor: true, KeepaliveInterval: second, KeepaliveTimeout: 100 * second})
	s.tick(5 * second)
	s.GoAway(GoAwayDraining, "stopping")
	s.Abort(violation(ErrSilence, "test"))
	if s.HasOutput() || s.AcceptsCalls() {
		t.Fatal("it said something")
	}
	b := AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()})
	s.must(b)
	headers, bodies := s.frames()
	count(t, headers, 2, "frames")
	if headers[0].Type != GoAway || string(bodies[0]) != "stopping" || headers[1].Flags != FlagAck {
		t.Errorf("wrote %+v", headers)
	}
}

func TestThePrefaceMustArriveInTime(t *testing.T) {
	for _, acceptor := range []bool{true, false} {
		s := newSide(t, Options{Acceptor: acceptor})
		s.feed(Magic[:])
		if next := s.tick(5 * second); next != second+handshakePatience {
			t.Fatalf("wants to be called at %d", next)
		}
		if _, err := s.Tick(second + handshakePatience); err == nil || err.Class != ErrSilence {
			t.Errorf("%v, want %s", err, ErrSilence)
		}
	}
	s := rawSide(t, true)
	if s.NextDeadline() != 0 || s.tick(100*second) != 0 {
		t.Error("the session still waits for the preface")
	}
}

func TestAResultOverdueAfterCancel(t *testing.T) {
	s := rawSide(t, false)
	s.now = 10 * second
	s.must(rawControl(Ping, 0, 0))
	a, b := s.open(Outgoing{}), s.open(Outgoing{})
	s.Cancel(a, 0)
	if next := s.tick(15 * second); next != 40*second {
		t.Fatalf("wants to be called at %d", next)
	}
	if s.tick(39 * second); s.overdue || !s.AcceptsCalls() {
		t.Fatal("overdue too early")
	}
	if s.tick(40 * second); !s.overdue || s.AcceptsCalls() || !b.Open() {
		t.Fatal("the connection should take no more calls, and keep the others")
	}
}

func TestOversizedAnswersNameTheLimit(t *testing.T) {
	s := rawSide(t, false, func(local, _ *Settings) { local.Message = 5 })
	s.open(Outgoing{End: true})
	s.must(rawResult(1, 1, OK, FlagMsg, []byte("123456")...))
	if e := last(t, s.ended, "ending"); e.Code != ResourceExhausted || e.Delivery != Executed || !strings.Contains(e.Message, "max_message 5") {
		t.Errorf("ended as %+v", e)
	}
}

// A process that stood still must not take its own absence for its peer's.
func TestSilenceIsNotJudgedRightAfterADelay(t *testing.T) {
	t.Run("keepalive", func(t *testing.T) {
		s := keptAlive(t, 5000)
		s.tick(21 * second)
		s.only(Ping)
		s.Delayed(3600 * second) // the answer lies unread
		if next := s.tick(3600 * second); next != 3601*second {
			t.Fatalf("gives up at %d", next)
		}
		s.now = 3600*second + 1
		s.must(framed(Header{Type: Ping, Flags: FlagAck}))
		s.tick(3601 * second)
		s.silent()
	})
	t.Run("keepalive, the peer gone", func(t *testing.T) {
		s := keptAlive(t, 5000)
		s.tick(21 * second)
		s.Delayed(3600 * second)
		s.tick(3600 * second)
		if _, err := s.Tick(3601 * second); err == nil || err.Class != ErrSilence {
			t.Fatalf("%v, want %s", err, ErrSilence)
		}
	})
	t.Run("preface", func(t *testing.T) {
		s := newSide(t, Options{})
		s.Delayed(60 * second)
		if next := s.tick(60 * second); next != 61*second {
			t.Fatalf("gives up at %d", next)
		}
		if _, err := s.Tick(61 * second); err == nil || err.Class != ErrSilence {
			t.Fatalf("%v, want %s", err, ErrSilence)
		}
	})
	t.Run("a message under way", func(t *testing.T) {
		s := rawSide(t, true)
		s.must(rawCall(1, 1, 0), rawPiece(1, 1, 2*MinPiece))
		s.tick(10 * second)
		s.Delayed(3600 * second)
		s.tick(3600 * second)
		s.silent()
		s.now = 3600*second + 1
		s.must(rawPiece(1, 1, 0), rawData(1, 1, FlagMsg, filler(3)...))
		s.tick(3602 * second)
		if s.OpenServed() != 1 {
			t.Fatal("the stream was ended")
		}
	})
	t.Run("RESULT after CANCEL", func(t *testing.T) {
		s := rawSide(t, false)
		s.Cancel(s.open(Outgoing{}), CancelGivenUp)
		s.Delayed(3600 * second)
		s.tick(3600 * second)
		if !s.AcceptsCalls() {
			t.Fatal("the connection is given up")
		}
		s.tick(3601 * second)
		if s.AcceptsCalls() {
			t.Fatal("the connection is not given up")
		}
	})
}

func TestThePrefaceIsDueWhenTheConnectionSays(t *testing.T) {
	s := newSide(t, Options{Acceptor: true})
	by := s.Now() + handshakePatience/2
	s.GreetBy(by)
	if _, err := s.Tick(by - 1); err != nil || s.NextDeadline() != by {
		t.Fatal(err, s.NextDeadline(), by)
	}
	if _, err := s.Tick(by); err == nil || err.Class != ErrSilence {
		t.Fatal(err)
	}
}

func TestWhatIsWaitedForSinceBeforeThePrefaceIsNotForgotten(t *testing.T) {
	s := newSide(t, Options{})
	st := s.open(Outgoing{})
	s.Cancel(st, CancelGivenUp) // its RESULT is due later than the preface
	s.must(AppendPreface(nil, &Preface{Version: Version, Highest: Version, Settings: DefaultSettings()}))
	if next := s.NextDeadline(); next != second+cancelPatience {
		t.Errorf("wants to be called at %d", next)
	}
}
