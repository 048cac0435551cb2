package wire

import (
	"math"
	"sync"
	"sync/atomic"
)

// Budget bounds what all connections of one client or server hold in memory for their peers:
// messages that are not whole or not consumed, and answers that wait to be written
// (spec/limits.md). When it is full, the connection that holds most ends a call to free memory. Its
// methods are safe for concurrent use.
type Budget struct {
	limit int64
	full  *Error // ends a call that no memory is left for
	used  atomic.Int64

	mu      sync.Mutex
	holders map[*Share]struct{} // that have drawn something
	count   atomic.Int64        // of holders
}

const (
	// freeShare is not counted against the budget, so that small calls never touch what sessions
	// share.
	freeShare = 64 << 10
	// drawStep is how much a session takes from the budget at a time, so that it need not do so for
	// every message.
	drawStep = 64 << 10
	// leastShare is the smallest share of a connection.
	leastShare = 1 << 20
	// The limit may be exceeded by 1/overdraft of it while another connection was asked to free
	// memory and has not done so yet.
	overdraft = 4
)

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{
		limit: limit, holders: map[*Share]struct{}{},
		full: violation(ErrMessageSize, "messages and answers held for all connections would exceed memory %d", limit),
	}
}

// Used is the number of bytes that sessions have taken.
func (b *Budget) Used() int64 { return b.used.Load() }

// Full is the text that callers are told when the budget is full.
func (b *Budget) Full() string { return b.full.Text }

// over reports whether the limit is exceeded.
func (b *Budget) over() bool { return b.used.Load() > b.limit }

// greatest is the share that has taken most. For asker, the bytes in more count as taken too.
func (b *Budget) greatest(asker *Share, more int64) *Share {
	b.mu.Lock()
	defer b.mu.Unlock()
	greatest, most := asker, int64(0)
	if asker != nil {
		most = asker.drawn.Load() + more
	}
	for s := range b.holders {
		if drawn := s.drawn.Load(); s != asker && drawn > most {
			greatest, most = s, drawn
		}
	}
	return greatest
}

// Relieve asks the connection that holds most to free memory, if the limit is exceeded.
func (b *Budget) Relieve() {
	if b != nil && b.over() {
		b.greatest(nil, 0).ask()
	}
}

// Share is one connection's part of a Budget. The connection's lock guards it, except the fields
// that the Budget itself reads.
type Share struct {
	Budget *Budget // nil: there is no bound
	// Shed, if set, makes the connection end the call that it has held something of for longest. It
	// is called under locks of other connections, so it does that on another goroutine, which calls
	// Relieved when done.
	Shed func()

	drawn atomic.Int64
	asked atomic.Bool // Shed was called and has not led to Relieved yet
}

// Answers of draw.
type drawing uint8

const (
	drawn   drawing = iota
	denied          // others hold more and have not let go yet
	holding         // nobody holds more than this connection
)

// Affords reports whether the connection may hold so many bytes in all. It takes from the budget
// what that needs.
func (s *Share) Affords(bytes int64) bool { return s.draw(bytes) == drawn }

// HoldsMost is Affords for a connection that can free memory itself. If mine is set, it is to do
// that and ask again.
func (s *Share) HoldsMost(bytes int64) (affords, mine bool) {
	d := s.draw(bytes)
	return d == drawn, d == holding
}

func (s *Share) draw(bytes int64) drawing {
	lacking := bytes - freeShare - s.drawn.Load()
	if lacking <= 0 || s.Budget == nil {
		return drawn
	}
	step := (lacking + drawStep - 1) / drawStep * drawStep
	b := s.Budget
	for taken := false; !taken; {
		used := b.used.Load()
		if used+step > b.limit {
			greatest := b.greatest(s, step)
			if greatest == s {
				return holding
			}
			greatest.ask()
			if used+step > b.limit+b.limit/overdraft {
				return denied
			}
		}
		taken = b.used.CompareAndSwap(used, used+step)
	}
	if s.drawn.Add(step) == step {
		b.mu.Lock()
		b.holders[s] = struct{}{}
		b.mu.Unlock()
		b.count.Add(1)
	}
	return drawn
}

// ask has the connection free memory, unless it was asked already.
func (s *Share) ask() {
	if s != nil && s.Shed != nil && s.asked.CompareAndSwap(false, true) {
		s.Shed()
	}
}

// Excess reports whether the connection is to free more memory: it holds most, and the limit is
// exceeded.
func (s *Share) Excess() bool {
	return s.Budget != nil && s.Budget.over() && s.Budget.greatest(s, 0) == s
}

// Relieved says that the connection has freed what it could. If that was not enough, others are
// asked.
func (s *Share) Relieved() {
	s.asked.Store(false)
	if s.Budget != nil && s.Budget.over() {
		if greatest := s.Budget.greatest(s, 0); greatest != s {
			greatest.ask()
		}
	}
}

// Exceeded reports whether the connection holds more than its share: an equal
// part of the budget for each connection that has drawn on it, and at least leastShare.
func (s *Share) Exceeded() bool {
	drawn := s.drawn.Load()
	return s.Budget != nil && drawn >= leastShare && drawn > s.Budget.part()
}

// Part is the connection's share; without a budget there is no bound.
func (s *Share) Part() int64 {
	if s.Budget == nil {
		return math.MaxInt64
	}
	return max(s.Budget.part(), leastShare)
}

func (b *Budget) part() int64 { return b.limit / max(b.count.Load(), 1) }

// GiveBack returns what is no longer needed by a connection that holds so many
// bytes.
func (s *Share) GiveBack(bytes int64) {
	have := s.drawn.Load()
	surplus := (have - max(bytes-freeShare, 0)) / drawStep * drawStep
	if surplus <= 0 {
		return
	}
	s.drawn.Store(have - surplus)
	s.Budget.used.Add(-surplus)
	if have == surplus {
		s.Budget.mu.Lock()
		delete(s.Budget.holders, s)
		s.Budget.mu.Unlock()
		s.Budget.count.Add(-1)
	}
}

// Holding is what the session holds for its peer: messages being put together,
// those that nobody has consumed, answers that wait, and output that was not
// written.
func (s *Session) Holding() int64 {
	return int64(s.assembled) + int64(s.held) + int64(s.queued) + int64(s.Unsent()) + int64(s.inFlight)
}

// aboveShare reports whether the connection holds more than its share of the budget. While it does,
// the pool gets back what pieces of messages have cost only when those are consumed.
func (s *Session) aboveShare() bool { return s.share.Exceeded() }

// affords reports whether n more bytes may be held for st; st is nil for a call that is not
// accepted yet. It takes from the budget what that needs. If this session holds most, it ends other
// calls of its own that have been held for longer.
func (s *Session) affords(st *Stream, n int) bool {
	for {
		affords, mine := s.share.HoldsMost(s.Holding() + int64(n))
		if affords {
			return true
		}
		longest := s.longestHeld()
		if !mine || longest == nil || longest == st {
			return false
		}
		s.cut(longest)
	}
}

// Shed ends the calls that have been held for longest, as long as the session holds most and the
// limit is exceeded. It reports false if that was of no use because what is held is output that the
// peer does not read.
func (s *Session) Shed() bool {
	for s.share.Excess() {
		longest := s.longestHeld()
		if longest == nil {
			return !s.share.Exceeded()
		}
		s.cut(longest)
	}
	return true
}

// cut ends a call to free memory.
func (s *Session) cut(st *Stream) {
	s.fault(st, s.options.Budget.full)
}

// littleHeld is what a call must hold for its end to be of use.
const littleHeld = 4 << 10

// longestHeld is the call that has held memory for longest, nil if there is none. Calls that hold
// little come last.
func (s *Session) longestHeld() (longest *Stream) {
	little := false
	look := func(st *Stream) {
		if st == nil || st.flow == nil || st.flow.holds() == 0 {
			return
		}
		less := st.flow.holds() < littleHeld
		if longest == nil || little && !less || little == less && st.flow.heldSince < longest.flow.heldSince {
			longest, little = st, less
		}
	}
	for i := range s.served {
		look(s.served[i].stream)
	}
	for i := range s.calls {
		look(s.calls[i].stream)
	}
	return longest
}

// holds is the memory that the call's end would free.
func (f *flow) holds() int { return f.room + int(f.held) + f.queued }

// beginsToHold is to be called before a call holds more memory.
func (s *Session) beginsToHold(f *flow) {
	if f.holds() == 0 {
		s.holdings++
		f.heldSince = s.holdings
	}
}

// Written says that all that was taken so far has been written. What it held of the budget is given
// back.
func (s *Session) Written() {
	s.inFlight = 0
	s.giveBack()
}

// giveBack returns to the budget what the session no longer needs.
func (s *Session) giveBack() {
	if s.share.drawn.Load() > 0 {
		s.share.GiveBack(s.Holding())
	}
}

// Relieved is Share.Relieved, to be called behind Shed.
func (s *Session) Relieved() { s.share.Relieved() }

// lacksRoom is the ending of a call for whose answer no memory is left.
func (s *Session) lacksRoom() *Ending {
	return &Ending{Code: ResourceExhausted, Message: s.options.Budget.full.Text, Delivery: DeliveryUnknown}
}

// forWantOfRoom reports whether err says that memory is full, so that the call may be made again a
// little later.
func (s *Session) forWantOfRoom(err *Error) bool {
	return err == errPromised || s.options.Budget != nil && err == s.options.Budget.full
}
