package wire

import "sync/atomic"

// Budget bounds what all connections of one client or server hold in memory for
// their peers: messages that are not whole or not consumed, and answers that
// wait to be written (spec/limits.md). Its methods are safe for concurrent use.
type Budget struct {
	limit int64
	used  atomic.Int64
	full  *Error // ends a call that there is no room for
}

const (
	// freeShare is what a session holds without counting it against the budget:
	// small calls never touch what sessions share.
	freeShare = 64 << 10
	// drawStep is by how much a session draws on the budget, so that it need
	// not do so for every message.
	drawStep = 64 << 10
)

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, full: violation(ErrMessageSize,
		"messages and answers held for all connections would exceed memory %d", limit)}
}

// Used is how many bytes are drawn at the moment.
func (b *Budget) Used() int64 { return b.used.Load() }

func (b *Budget) draw(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// Full says what it is that there is no room for, for whoever is told.
func (b *Budget) Full() string { return b.full.Text }

// Share is one connection's part of a Budget, for those that have no Session. It
// is not safe for concurrent use.
type Share struct {
	Budget *Budget // nil: there is no bound
	drawn  int64
}

// Affords reports whether the connection may hold so many bytes in all, and
// draws on the budget if that takes it.
func (s *Share) Affords(holding int64) bool {
	lacking := holding - freeShare - s.drawn
	if lacking <= 0 || s.Budget == nil {
		return true
	}
	step := (lacking + drawStep - 1) / drawStep * drawStep
	if !s.Budget.draw(step) {
		return false
	}
	s.drawn += step
	return true
}

// GiveBack returns what is no longer needed by a connection that holds so many
// bytes.
func (s *Share) GiveBack(holding int64) {
	if surplus := (s.drawn - max(holding-freeShare, 0)) / drawStep * drawStep; surplus > 0 {
		s.drawn -= surplus
		s.Budget.used.Add(-surplus)
	}
}

// holding is what the session holds for its peer.
func (s *Session) holding() int64 {
	return int64(s.assembled) + int64(s.held) + int64(s.queued) + int64(s.Unsent()) + int64(s.inFlight)
}

// affords reports whether n more bytes may be held, and draws on the budget if
// that takes it.
func (s *Session) affords(n int) bool {
	lacking := s.holding() + int64(n) - freeShare - s.drawn
	return lacking <= 0 || s.options.Budget == nil || s.draw(lacking)
}

func (s *Session) draw(lacking int64) bool {
	step := (lacking + drawStep - 1) / drawStep * drawStep
	if !s.options.Budget.draw(step) {
		return false
	}
	s.drawn += step
	return true
}

// Written says that all that was taken so far has been written, and gives back
// what was drawn for it.
func (s *Session) Written() {
	s.inFlight = 0
	if s.drawn > 0 {
		s.giveBack()
	}
}

// giveBack returns what is no longer needed of what was drawn.
func (s *Session) giveBack() {
	needed := max(s.holding()-freeShare, 0)
	if surplus := (s.drawn - needed) / drawStep * drawStep; surplus > 0 {
		s.drawn -= surplus
		s.options.Budget.used.Add(-surplus)
	}
}

// lacksRoom is the ending of a call whose answer there is no room for.
func (s *Session) lacksRoom() *Ending {
	return &Ending{Code: ResourceExhausted, Message: s.options.Budget.full.Text, Delivery: DeliveryUnknown}
}

// forWantOfRoom reports whether err is no fault of the call's: it may be made
// again a little later.
func (s *Session) forWantOfRoom(err *Error) bool {
	return err == errPromised || s.options.Budget != nil && err == s.options.Budget.full
}
