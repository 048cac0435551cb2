package wire

import "testing"

// A connection that holds more than its share of memory is granted the pool anew as its
// messages are consumed, not as their pieces come.
func TestAboveItsShareAConnectionOwesThePoolOnConsumptionOnly(t *testing.T) {
	b := NewBudget(4 << 20)
	other := Share{Budget: b}
	other.Affords(1<<20 + freeShare)
	for name, above := range map[string]bool{"within": false, "above": true} {
		t.Run(name, func(t *testing.T) {
			local := DefaultSettings()
			local.Pool = testPool
			s := newSide(t, Options{Acceptor: true, Budget: b, Local: local})
			s.must(AppendPreface(nil, &Preface{Version: 1, Highest: 1, Settings: DefaultSettings()}), rawCall(1, 1, 0))
			s.Take()
			if above {
				s.queued = 5 << 19 // as if so much of answers waited: half of the budget is its share
				s.share.Affords(s.Holding())
			}
			const total = 4 * testPiece
			s.must(pooledPiece(1, 1, total), pooledPiece(1, 1, 0))
			pool, _, _ := s.granted()
			if s.aboveShare() != above || (pool == 0) != above {
				t.Fatalf("above its share: %v, credit of %d", s.aboveShare(), pool)
			}
			if above {
				s.poolIs(testPool-2*wholePiece, 0, 2*wholePiece, testPool)
			}
			rest := total - int(s.accepted[0].flow.got)
			for rest > MinPiece {
				s.must(pooledPiece(1, 1, 0))
				rest = total - int(s.accepted[0].flow.got)
			}
			s.must(pooled(rawData(1, 1, FlagMsg, filler(rest)...)))
			if pool, _, _ := s.granted(); above && pool != 0 {
				t.Fatalf("credit of %d though nothing was consumed", pool)
			}
			m := last(t, s.messages, "message")
			s.Consumed(m.st, m.cost)
			s.granted()
			if p := &s.pool; p.charged != 0 || p.left+p.owed != testPool || above && p.owed != 0 {
				t.Fatalf("%+v", p)
			}
			s.queued = 0
			s.giveBack()
		})
	}
}
