package wire

import "testing"

// pooledPiece is rawPiece, charged to the pool.
func pooledPiece(slot uint32, generation uint16, total uint32) []byte {
	return pooled(rawPiece(slot, generation, total))
}

// pooled has a DATA charged to the pool.
func pooled(frame []byte) []byte {
	frame[10] |= byte(FlagPool)
	return frame
}

// withPool is a session that grants a pool, and no call.
func withPool(t *testing.T, acceptor bool, n, most uint32) *side {
	s := newSide(t, Options{Acceptor: acceptor, MaxPool: most, Local: func() Settings {
		local := DefaultSettings()
		local.Pool = n
		return local
	}()})
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()}))
	s.Take()
	return s
}

// granted takes what was written, which must be CREDIT and PINGs, and returns what it
// grants of the pool and of streams, and the PING.
func (s *side) granted() (pool, streams uint32, ping *Header) {
	s.t.Helper()
	for _, h := range s.headers() {
		switch {
		case h.Type == Ping && h.Flags == 0:
			ping = &h
		case h.Type != Credit:
			s.t.Fatalf("wrote %+v", h)
		case h.Stream == 0:
			pool += h.Word
		default:
			streams += h.Word
		}
	}
	return pool, streams, ping
}

func (s *side) poolIs(left, owed, charged, kept int64) {
	s.t.Helper()
	p := &s.pool
	if p.left != left || p.owed != owed || p.charged != charged || p.kept != kept {
		s.t.Fatalf("left %d, owed %d, charged %d, kept %d; want %d, %d, %d, %d", p.left, p.owed, p.charged, p.kept, left, owed, charged, kept)
	}
}

const testPool = 8 * wholePiece

func TestThePoolReturnsAsMessagesAreConsumed(t *testing.T) {
	s := withPool(t, true, testPool, 0)
	s.must(rawCall(1, 1, 0), pooled(rawData(1, 1, FlagMsg, filler(84)...)))
	m := last(t, s.messages, "message")
	if m.cost != (Cost{Pool: 100}) {
		t.Fatalf("cost %+v", m.cost)
	}
	s.poolIs(testPool-100, 0, 100, testPool)
	s.Consumed(m.st, m.cost)
	s.poolIs(testPool-100, 100, 0, testPool)
	s.silent()
	if s.accepted[0].recvWindow != DefaultWindow {
		t.Errorf("the stream has a window of %d", s.accepted[0].recvWindow)
	}
	s.must(pooledPiece(1, 1, 3*MinPiece)) // as soon as it was put to its message
	s.poolIs(testPool-100-wholePiece, 100+wholePiece, 0, testPool)
	s.must(pooledPiece(1, 1, 0))
	if pool, streams, _ := s.granted(); pool != 100+2*wholePiece || streams != 0 { // a quarter
		t.Fatalf("credit of %d, and %d", pool, streams)
	}
	s.poolIs(testPool, 0, 0, testPool)
}

// The cost of a frame of the pool is that of all of its body.
func TestTheWholeBodyIsChargedToThePool(t *testing.T) {
	s := withPool(t, false, testPool, 0)
	s.open(Outgoing{})
	block := AppendMetadata(nil, Metadata{{"key", "value"}}, nil)
	s.must(pooled(framed(Header{Type: Data, Stream: stream(1, 1), Flags: FlagMsg | FlagMeta}, block, filler(10))))
	s.poolIs(testPool-int64(len(block))-26, 0, int64(len(block))+26, testPool)
}

func TestAnOverspentPoolEndsTheConnection(t *testing.T) {
	for name, f := range map[string]func(s *side) []byte{
		"no pool":    func(s *side) []byte { return pooled(rawData(1, 1, FlagMsg)) },
		"a piece":    func(s *side) []byte { return pooledPiece(1, 1, 1<<20) },
		"no call":    func(s *side) []byte { return pooledPiece(2, 1, 0) },
		"untracked":  func(s *side) []byte { return pooledPiece(maxSlot, 7, 0) },
		"short":      func(s *side) []byte { return pooled(rawData(1, 1, FlagMsg|FlagMore, filler(1000)...)) },
		"after END":  func(s *side) []byte { s.must(rawData(1, 1, FlagEnd)); return pooledPiece(1, 1, 0) },
		"wrong body": func(s *side) []byte { return pooled(rawData(1, 1, FlagMsg|FlagMore)) },
	} {
		t.Run(name, func(t *testing.T) {
			n := uint32(15)
			if name == "no pool" {
				n = 0
			}
			s := withPool(t, true, n, 0)
			s.must(rawCall(1, 1, 0))
			s.fails(ErrCredit, f(s))
		})
	}
}

func TestThePoolIsChargedBeforeAnythingElseIsJudged(t *testing.T) {
	s := withPool(t, true, 2000, 0)
	s.must(rawCall(1, 1, 0))
	s.fails(ErrPiece, pooled(rawData(1, 1, FlagMsg|FlagMore, filler(1000)...)))
	s.poolIs(2000-1016, 0, 1016, 2000)
}

// What is ignored, refused or dropped is owed at once.
func TestThePoolIsOwedForWhatNobodyTakes(t *testing.T) {
	const n = 4 * wholePiece
	for name, c := range map[string]struct {
		acceptor bool
		frames   func(s *side) [][]byte
	}{
		"a free slot":      {true, func(*side) [][]byte { return [][]byte{pooledPiece(5, 1, 0)} }},
		"an untracked one": {true, func(*side) [][]byte { return [][]byte{pooledPiece(maxSlot, 1, 0)} }},
		"a call that was cancelled by its caller": {true, func(s *side) [][]byte {
			return [][]byte{rawCall(1, 1, 0), rawControl(Cancel, stream(1, 1), 0), pooledPiece(1, 1, 0)}
		}},
		"a call that is cancelled behind it": {true, func(s *side) [][]byte {
			return [][]byte{rawCall(1, 1, FlagMsg), pooledPiece(1, 1, 1<<20), rawControl(Cancel, stream(1, 1), 0)}
		}},
		"a refused call": {true, func(s *side) [][]byte {
			s.accept = func(*Incoming) (*Stream, *Refusal) { return nil, &Refusal{Code: Unavailable} }
			return [][]byte{rawCall(1, 1, 0), pooledPiece(1, 1, 0)}
		}},
		"a message that is too large": {true, func(s *side) [][]byte {
			return [][]byte{rawCall(1, 1, 0), pooledPiece(1, 1, 1<<30)}
		}},
		"a second message": {true, func(s *side) [][]byte {
			s.accept = func(*Incoming) (*Stream, *Refusal) {
				st := &Stream{}
				st.ExpectOne()
				return st, nil
			}
			return [][]byte{rawCall(1, 1, FlagMsg), pooledPiece(1, 1, 1<<20)}
		}},
		"bad metadata": {false, func(s *side) [][]byte {
			s.open(Outgoing{})
			return [][]byte{pooled(framed(Header{Type: Data, Stream: stream(1, 1), Flags: FlagMsg | FlagMeta}, filler(MinPiece)))}
		}},
		"an abandoned call": {false, func(s *side) [][]byte {
			s.Cancel(s.open(Outgoing{}), 0)
			return [][]byte{pooledPiece(1, 1, 1<<20)}
		}},
		"a call that has ended": {false, func(s *side) [][]byte {
			s.open(Outgoing{})
			return [][]byte{rawResult(1, 1, OK, 0), pooledPiece(1, 1, 1<<20)}
		}},
		"a call that ends behind it": {false, func(s *side) [][]byte {
			s.open(Outgoing{})
			return [][]byte{pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)), rawResult(1, 1, OK, 0)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := withPool(t, c.acceptor, n, 0)
			s.must(c.frames(s)...)
			s.poolIs(n, 0, 0, n)
			for _, h := range s.headers() {
				if h.Type == Credit && h.Word == wholePiece && h.Stream == 0 {
					return
				}
			}
			t.Error("no credit")
		})
	}
}

func TestWhatAHandlerLeftOfThePoolIsOwedWithItsReturn(t *testing.T) {
	const n = 4 * wholePiece
	s := withPool(t, true, n, 0)
	s.must(rawCall(1, 1, FlagMsg, 'a'), pooledPiece(1, 1, 1<<20)) // withheld behind it
	s.poolIs(n-wholePiece, 0, wholePiece, n)
	if !s.Finish(s.accepted[0], &Ending{HasMessage: true, Payload: filler(DefaultWindow * 2)}) {
		t.Fatal("the answer did not have to wait")
	}
	s.poolIs(n, 0, 0, n)
	s.drain()
	s.must(pooledPiece(1, 1, 0)) // dropped
	s.poolIs(n, 0, 0, n)
}

// Unlike that of a stream.
func TestThePoolIsOwedAfterTheEndOfTheRequest(t *testing.T) {
	const n = 4 * wholePiece
	s := withPool(t, true, n, 0)
	s.must(rawCall(1, 1, 0), pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)), rawData(1, 1, FlagEnd))
	s.silent()
	m := last(t, s.messages, "message")
	s.Consumed(m.st, m.cost)
	if pool, _, _ := s.granted(); pool != wholePiece {
		t.Errorf("credit of %d", pool)
	}
}

// Messages that nobody consumes hold their sender back.
func TestAPoolIsNotReturnedForWhatNobodyConsumes(t *testing.T) {
	s := withPool(t, true, testPool, 0)
	s.must(rawCall(1, 1, 0))
	for range 8 {
		s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
	}
	s.silent()
	s.fails(ErrCredit, pooled(rawData(1, 1, FlagMsg)))
}

func TestUnsentCreditOfThePoolIsRaised(t *testing.T) {
	s := withPool(t, true, testPool, 0)
	s.must(rawCall(1, 1, 0))
	for range 40 {
		s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
		m := last(t, s.messages, "message")
		s.Consumed(m.st, m.cost)
	}
	headers := s.headers()
	count(t, headers, 1, "frames")
	if h := headers[0]; h.Stream != 0 || h.Word != 40*wholePiece {
		t.Errorf("wrote %+v", h)
	}
}

func TestSendersTakeTheWindowFirstAndThenThePool(t *testing.T) {
	s := rawSide(t, false, func(_, remote *Settings) { remote.Pool = 3 * wholePiece })
	st := s.open(Outgoing{})
	s.Send(st, filler(1<<20), 0, false)
	var flags []Flags
	for s.HasOutput() {
		headers := s.headers()
		if len(headers) == 0 {
			break
		}
		for _, h := range headers {
			if h.Type == Data {
				flags = append(flags, h.Flags&FlagPool)
			}
		}
	}
	count(t, flags, 6, "pieces")
	for i, f := range flags {
		if (f != 0) != (i >= 3) {
			t.Errorf("piece %d has flags %#x", i, f)
		}
	}
	if s.poolRoom != 0 {
		t.Errorf("%d left of the pool", s.poolRoom)
	}
	s.must(rawControl(Credit, 0, wholePiece-1))
	s.silent()
	s.must(rawControl(Credit, 0, 1))
	if h, _ := s.only(Data); h.Flags&FlagPool == 0 {
		t.Errorf("wrote %+v", h)
	}
	s.must(rawControl(Credit, st.id, wholePiece), rawControl(Credit, 0, wholePiece))
	if headers := s.headers(); len(headers) != 2 || headers[0].Flags&FlagPool != 0 || headers[1].Flags&FlagPool == 0 {
		t.Errorf("wrote %+v", headers)
	}
}

func TestSmallMessagesTakeThePool(t *testing.T) {
	s := rawSide(t, false, func(_, remote *Settings) { remote.Pool = 1000 })
	st := s.open(Outgoing{})
	for range 4 {
		s.Send(st, filler(MinPiece-frameCost), 0, false)
	}
	s.Take()
	if !s.Send(st, filler(984), 0, false) {
		t.Fatal("the pool holds it, and yet it waits")
	}
	if h, _ := s.only(Data); h.Flags != FlagMsg|FlagPool {
		t.Errorf("wrote %+v", h)
	}
	if s.Send(st, nil, 0, true) {
		t.Error("it was appended without credit")
	}
}

// Those who lack both get their turn, in order.
func TestThePoolGoesRound(t *testing.T) {
	const streams = 50
	s := rawSide(t, false)
	var all []*Stream
	for range streams {
		st := s.open(Outgoing{})
		all = append(all, st)
		s.Send(st, filler(2<<20), 0, false)
	}
	s.drain()
	got := map[StreamID]int{}
	for range 2 * streams {
		s.must(rawControl(Credit, 0, 3*wholePiece))
		for s.HasOutput() {
			for _, h := range s.headers() {
				if h.Flags&FlagPool == 0 {
					t.Fatalf("wrote %+v", h)
				}
				got[h.Stream]++
			}
		}
	}
	for _, st := range all {
		if n := got[st.id]; n < 5 || n > 7 {
			t.Errorf("%d pieces of slot %d", n, st.id.Slot())
		}
	}
	for _, st := range all {
		s.Cancel(st, 0)
	}
	if len(s.queue)+len(s.ring) != 0 {
		t.Error("calls that are over wait")
	}
}

func TestThePoolOverflows(t *testing.T) {
	s := rawSide(t, false, func(_, remote *Settings) { remote.Pool = 10 })
	s.must(rawControl(Credit, 0, MaxWindow-10)) // also without a frame that took anything
	s.fails(ErrCredit, rawControl(Credit, 0, 1))
}

func TestCreditOfThePoolIsChecked(t *testing.T) {
	for _, c := range []struct {
		frame []byte
		class Class
	}{
		{rawControl(Credit, 0, 0), ErrValue},
		{rawControl(Credit, 0, 1<<31), ErrValue},
		{rawControl(Credit, initiatorBit, 1), ErrStreamID},
		{rawControl(Credit, MakeStreamID(0, 1, false), 1), ErrStreamID},
		{rawControl(Cancel, 0, 1), ErrStreamID},
		{framed(Header{Type: Data, Stream: stream(1, 1), Flags: FlagPool}), ErrFlags},
		{framed(Header{Type: Data, Stream: stream(1, 1), Flags: FlagPool | FlagEnd}), ErrFlags},
		{framed(Header{Type: Result, Stream: stream(1, 1), Flags: FlagMsg | FlagRefused}), ErrFlags},
	} {
		rawSide(t, true).fails(c.class, c.frame)
	}
}

// A peer that says nothing of a pool is never charged to one.
func TestAPeerWithoutAPool(t *testing.T) {
	s := rawSide(t, false)
	s.Send(s.open(Outgoing{}), filler(1<<20), 0, false)
	for s.HasOutput() {
		headers := s.headers()
		if len(headers) == 0 {
			return
		}
		for _, h := range headers {
			if h.Type == Data && h.Flags&FlagPool != 0 {
				t.Fatalf("wrote %+v", h)
			}
		}
	}
}

// What was sent ahead of the peer's preface took none of the pool; what waits then
// goes on.
func TestThePoolIsThereWithThePreface(t *testing.T) {
	s := newSide(t, Options{})
	s.Send(s.open(Outgoing{}), filler(500_000), 0, true)
	s.drain()
	remote := DefaultSettings()
	remote.Pool = 1 << 20
	s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: remote}))
	s.drain()
	count(t, s.sent, 1, "Sent")
}

// Streams that stand still leave the pool to the others.
func TestWhatLiesIsGrantedAnew(t *testing.T) {
	const n = 4 * wholePiece
	s := withPool(t, true, n, 0)
	s.must(rawCall(1, 1, 0))
	for range 4 {
		s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
	}
	s.ticks(s.now + 900e6)
	s.silent()
	s.ticks(s.now + 2*second)
	if pool, _, _ := s.granted(); pool != n {
		t.Fatalf("credit of %d", pool)
	}
	s.poolIs(n, 0, 0, n)
	for _, m := range s.messages { // nothing is owed twice
		s.Consumed(m.st, m.cost)
	}
	s.poolIs(n, 0, 0, n)
	s.silent()
	if s.pool.anew != 0 {
		t.Errorf("%d bytes count as granted anew", s.pool.anew)
	}
}

func TestAStreamThatMovesIsNotGrantedAnew(t *testing.T) {
	const n = 100 * wholePiece
	s := withPool(t, true, n, 0)
	s.must(rawCall(1, 1, 0))
	for range 20 {
		s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
	}
	for _, m := range s.messages {
		s.ticks(s.now + 700e6)
		s.Consumed(m.st, m.cost)
	}
	s.poolIs(n-20*wholePiece, 20*wholePiece, 0, n)
}

func TestGrantingAnewHasAnEnd(t *testing.T) {
	const n = 32 << 20
	s := withPool(t, true, n, 0)
	s.must(rawCall(1, 1, 0))
	total := uint32(0)
	for range 10 {
		for s.pool.left >= wholePiece {
			s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
		}
		s.ticks(s.now + 3*second)
		pool, _, _ := s.granted()
		total += pool
	}
	if total > maxAnew || total < maxAnew-n/4 || s.pool.anew > maxAnew {
		t.Errorf("%d bytes were granted anew, %d count", total, s.pool.anew)
	}
	s.must(rawControl(Cancel, stream(1, 1), 0))
	s.poolIs(n, 0, 0, n)
	if s.pool.anew != 0 {
		t.Errorf("%d bytes still count as granted anew", s.pool.anew)
	}
}

// A thousand readers that stand still do not keep the pool from one that reads.
func TestAThousandThatStandStillLeaveThePool(t *testing.T) {
	const readers, n = 1000, 1 << 20
	s := withPool(t, true, n, 0)
	for slot := range uint32(readers) {
		s.must(rawCall(slot+1, 1, 0), pooled(rawData(slot+1, 1, FlagMsg, filler(n/readers-frameCost)...)))
	}
	s.must(rawCall(readers+1, 1, 0))
	if s.pool.left > 1000 {
		t.Fatalf("%d left of the pool", s.pool.left)
	}
	s.ticks(s.now + 3*second)
	if s.granted(); s.pool.left < n*3/4 {
		t.Fatalf("%d left of the pool", s.pool.left)
	}
	for range 100 {
		s.must(pooled(rawData(readers+1, 1, FlagMsg, filler(MinPiece)...)))
		m := last(t, s.messages, "message")
		s.Consumed(m.st, m.cost)
		s.granted()
	}
}

func TestAStreamWithCreditPassesTheLine(t *testing.T) {
	const readers = 1000
	s := rawSide(t, false)
	var fast *Stream
	for range readers {
		fast = s.open(Outgoing{})
		s.Send(fast, filler(1<<20), 0, false)
	}
	s.drain()
	count(t, s.queue, readers, "streams in line")
	s.must(rawControl(Credit, fast.id, wholePiece))
	if h, _ := s.only(Data); h.Stream != fast.id || h.Flags&FlagPool != 0 {
		t.Errorf("wrote %+v", h)
	}
	s.must(rawControl(Credit, 0, wholePiece))
	if h, _ := s.only(Data); h.Stream == fast.id {
		t.Error("it came first")
	}
}
