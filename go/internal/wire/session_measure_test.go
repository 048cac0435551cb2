package wire

import (
	"cmp"
	"testing"
)

// A measured pool: what is charged between a PING and its ACK.

const mostPool = 32 << 20

func (s *side) ack(word uint32) []byte {
	return framed(Header{Type: Ping, Flags: FlagAck, Word: word})
}

// fill has the peer use up the pool, all of which is consumed, and returns the PING
// that goes out meanwhile.
func (s *side) fillPool() (ping *Header) {
	s.t.Helper()
	for left := s.pool.left; left >= wholePiece; left -= wholePiece {
		s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
		for _, m := range s.messages {
			s.Consumed(m.st, m.cost)
		}
		s.messages = nil
		if _, _, p := s.granted(); p != nil {
			ping = p
		}
	}
	return ping
}

func measured(t *testing.T) *side {
	s := withPool(t, true, 1<<20, mostPool)
	s.must(rawCall(1, 1, 0))
	return s
}

// path is a sender that spends all that it is granted, at the other end of a way of
// 50 ms there and back, or of another time.
type path struct {
	*side
	thereAndBack int64
	perPiece     int64     // nanoseconds that a piece takes
	out          []written // by the receiver, on its way to the sender
	room         int64
}

type written struct {
	Header
	at int64
}

func (p *path) note() {
	for _, h := range p.headers() {
		p.out = append(p.out, written{h, p.now})
	}
}

// trip is one round trip: what was granted arrives.
func (p *path) trip() {
	p.t.Helper()
	sent, way := p.out, cmp.Or(p.thereAndBack, 50e6)
	p.out = nil
	for _, h := range append(sent, written{Header{Type: Credit}, p.now - way}) { // and once more, for what is left
		p.now = max(p.now, h.at+way)
		if h.Type == Ping {
			p.must(p.ack(h.Word))
			p.note()
			continue
		}
		for p.room += int64(h.Word); p.room >= wholePiece; p.room -= wholePiece {
			p.now += p.perPiece
			p.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
			m := last(p.t, p.messages, "message")
			p.messages = nil
			p.Consumed(m.st, m.cost)
			p.note()
		}
	}
}

func TestThePoolGrowsToWhatThePathHolds(t *testing.T) {
	for _, c := range []struct {
		perPiece    int64
		trips       int
		least, most int64
	}{
		{0, 10, mostPool, mostPool},
		{1e6, 20, 50 * wholePiece, 600 * wholePiece}, // 50 pieces are under way
		{5e6, 20, 1 << 20, 8 << 20},                  // 10 of them
	} {
		s := measured(t)
		p := &path{side: s, perPiece: c.perPiece, room: 1 << 20}
		for range c.trips {
			p.trip()
		}
		if kept := s.pool.kept; kept < c.least || kept > c.most {
			t.Errorf("a piece in %d µs: %d bytes are kept", c.perPiece/1000, kept)
		}
		for range 10 {
			p.trip()
		}
		if kept := s.pool.kept; kept > c.most {
			t.Errorf("a piece in %d µs: %d bytes are kept in the end", c.perPiece/1000, kept)
		}
	}
}

// quietPing has a PING answered while nothing else is under way.
func (s *side) quietPing(took int64) {
	s.t.Helper()
	s.ping()
	s.headers()
	s.now += took
	s.must(s.ack(s.pool.word))
}

const shortWay = 100e3 // there and back, on one machine

func TestAShortPathUnderLoadIsNoLongOne(t *testing.T) {
	s := measured(t)
	s.quietPing(shortWay)
	p := &path{side: s, thereAndBack: shortWay, perPiece: 60e3, room: 1 << 20} // 1 GB/s
	for range 100 {
		p.trip()
	}
	if s.pool.kept != 1<<20 {
		t.Errorf("%d bytes are kept", s.pool.kept)
	}
}

func TestAPathThatWasThoughtLongGivesBack(t *testing.T) {
	s := measured(t)
	p := &path{side: s, thereAndBack: shortWay, perPiece: 60e3, room: 1 << 20}
	for range 10 { // each ACK comes behind what fills the pool
		p.trip()
	}
	if s.pool.kept <= 1<<20 {
		t.Fatalf("%d bytes are kept", s.pool.kept)
	}
	for s.pool.pinged {
		p.trip()
	}
	s.quietPing(shortWay)
	for range 20 {
		p.trip()
	}
	if s.pool.kept != 1<<20 {
		t.Errorf("%d bytes are kept", s.pool.kept)
	}
}

func TestAQueueIsNotWhatThePathHolds(t *testing.T) {
	s := measured(t)
	s.quietPing(50e6)
	s.fillPool()
	s.now += 200e6
	s.fillPool()
	s.must(s.ack(s.pool.word))
	if kept := s.pool.kept; kept <= 1<<20 || kept > growth*(2<<20)/4 { // less than 2 MiB have come
		t.Errorf("%d bytes are kept", kept)
	}
}

func TestWhatASocketHasGatheredIsNoRate(t *testing.T) {
	s := measured(t)
	s.quietPing(20e3)
	s.fillPool()
	s.now += 20e3
	s.fillPool()
	s.must(s.ack(s.pool.word))
	if s.pool.kept != 1<<20 {
		t.Errorf("%d bytes are kept", s.pool.kept)
	}
}

func TestAPathThatBecomesLongerIsFoundOut(t *testing.T) {
	const most = 8 << 20
	s := withPool(t, true, 1<<20, most)
	s.must(rawCall(1, 1, 0))
	s.quietPing(1e6)
	p := &path{side: s, thereAndBack: 1e6, perPiece: 400e3, room: 1 << 20}
	for range 20 {
		p.trip()
	}
	p.thereAndBack = 200e6
	for range 20 {
		p.trip()
	}
	before := s.pool.kept
	if before > 4<<20 {
		t.Fatalf("%d bytes are kept", before)
	}
	least := before
	for until := s.now + 12*60*second; s.now < until; s.now += 50 * second {
		for range 8 {
			p.trip()
			least = min(least, s.pool.kept)
		}
	}
	if s.pool.kept != most || least != 1<<20 {
		t.Errorf("%d bytes were kept, %d to measure anew, then %d", before, least, s.pool.kept)
	}
}

func TestAPoolThatIsNotUsedUpStays(t *testing.T) {
	s := measured(t)
	for range 10 {
		var ping *Header
		for ping == nil {
			s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)))
			m := last(t, s.messages, "message")
			s.Consumed(m.st, m.cost)
			_, _, ping = s.granted()
		}
		s.now += 50e6
		s.must(pooled(rawData(1, 1, FlagMsg, filler(MinPiece)...)), s.ack(ping.Word))
		m := last(t, s.messages, "message")
		s.Consumed(m.st, m.cost)
	}
	if s.pool.kept != 1<<20 {
		t.Errorf("%d bytes are kept", s.pool.kept)
	}
}

func TestOnlyTheAckOfThePingMeasures(t *testing.T) {
	for name, c := range map[string]struct {
		word  func(ping uint32) uint32
		after int64
		grows bool
	}{
		"its own":      {func(w uint32) uint32 { return w }, 50e6, true},
		"of ten s":     {func(w uint32) uint32 { return w }, 10e9, true},
		"too late":     {func(w uint32) uint32 { return w }, 10e9 + 1, false},
		"guessed":      {func(w uint32) uint32 { return w + 1 }, 50e6, false},
		"one before":   {func(w uint32) uint32 { return w - 1 }, 50e6, false},
		"without time": {func(w uint32) uint32 { return w }, 0, false}, // such a path holds nothing
	} {
		s := measured(t)
		ping := s.fillPool()
		s.now += c.after
		s.fillPool()
		s.must(s.ack(c.word(ping.Word)))
		if grown := s.pool.kept > 1<<20; grown != c.grows {
			t.Errorf("%s: %d bytes are kept", name, s.pool.kept)
		}
	}
}

func TestAnAckAheadOfTheBytesMeasuresNothing(t *testing.T) {
	s := measured(t)
	s.must(s.ack(1)) // nothing was asked
	ping := s.fillPool()
	s.must(s.ack(ping.Word))
	kept := s.pool.kept
	s.fillPool()
	s.must(s.ack(ping.Word), s.ack(ping.Word)) // and again
	if s.pool.kept != kept {
		t.Errorf("%d bytes are kept", s.pool.kept)
	}
}

func TestOnePingMeasuresAtATime(t *testing.T) {
	s := measured(t)
	if s.fillPool() == nil {
		t.Fatal("no PING")
	}
	for range 5 {
		if s.fillPool() != nil {
			t.Fatal("a second PING, and the first is not answered")
		}
	}
}

func TestThePoolIsNotMeasuredWhereItMayNotGrow(t *testing.T) {
	s := withPool(t, true, 1<<20, 0)
	s.must(rawCall(1, 1, 0))
	for range 5 {
		if s.fillPool() != nil {
			t.Fatal("a PING")
		}
	}
}

func TestALargeMessageIsMadeWayFor(t *testing.T) {
	s := measured(t)
	s.must(rawPiece(1, 1, 4<<20))
	s.silent() // the peer may not know what a pool is
	s.must(pooledPiece(1, 1, 0))
	if pool, _, _ := s.granted(); pool != 5<<20 {
		t.Errorf("credit of %d", pool)
	}
	s.must(rawCall(2, 1, 0), rawPiece(2, 1, DefaultMessage))
	s.granted()
	if s.pool.kept != mostPool {
		t.Errorf("%d bytes are kept", s.pool.kept)
	}
}

func TestALargeMessageIsMadeWayForHoweverLongThePoolWasIdle(t *testing.T) {
	s := measured(t)
	for slot := uint32(2); slot < 4; slot++ { // before the first charge, and after one
		s.now += 24 * 3600 * second
		s.must(rawCall(slot, 1, 0), rawPiece(slot, 1, 4<<20), pooledPiece(slot, 1, 0))
		if s.pool.kept != 6<<20 {
			t.Errorf("%d bytes are kept", s.pool.kept)
		}
	}
}

func TestAnIdlePoolShrinks(t *testing.T) {
	s := measured(t)
	p := &path{side: s, room: 1 << 20}
	for range 10 {
		p.trip()
	}
	s.now += 2*60*second + second
	p.trip()
	if s.pool.kept != mostPool/4 || p.room != s.pool.left && len(p.out) == 0 {
		t.Errorf("%d bytes are kept after two minutes", s.pool.kept)
	}
	if pool := s.pool; pool.left+pool.owed != pool.kept {
		t.Errorf("%+v", pool)
	}
	for len(p.out) > 0 {
		s.now += 3600 * second
		if p.trip(); s.pool.kept == 1<<20 {
			break
		}
	}
	if s.pool.kept != 1<<20 {
		t.Errorf("%d bytes are kept after an hour", s.pool.kept)
	}
	for range 10 {
		p.trip()
	}
	if s.pool.kept != mostPool {
		t.Errorf("it grew to %d only", s.pool.kept)
	}
}
