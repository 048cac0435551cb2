package trunkcall

import (
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Calls that a client makes again by itself, because they provably did not run
// (spec/client.md).

// repeatable reports whether a call that has ended so may fare better if it is made
// again.
func repeatable(e *wire.Ending) bool {
	switch e.Delivery {
	case NotSent:
		return true
	case Refused:
		return e.RetryAfter > 0 && (e.Code == Unavailable || e.Code == ResourceExhausted)
	}
	return false
}

// repeats is the one budget of all that a client makes again: what it repeats by itself, retries and hedges of
// policies (client.md 2.6, policy.md 8.1).
type repeats struct {
	mu     sync.Mutex
	budget *policy.Budget
}

// The budget of clients whose policy file says none, which is also the default of files.
const (
	repeatPercent = 10 // of the calls
	leastRepeats  = 10 // a second
)

// countedTogether is how many calls an object used for them counts before it tells.
const countedTogether = 64

func newRepeats(rules policy.BudgetRules) *repeats {
	return &repeats{budget: policy.NewBudget(rules)}
}

var began = time.Now()

// origin is what cores of policies count their times from: these are not below 0, also in bubbles of testing/synctest,
// whose clocks are decades behind.
var origin = began.Add(-1 << 60)

// elapsed is the time of a clock that does not jump.
func elapsed() time.Duration { return time.Since(origin) }

// elapsedAt is what elapsed was at a time of roles.Clock.
func elapsedAt(clock int64) time.Duration { return elapsedAtClock + time.Duration(clock) }

var elapsedAtClock = roles.TimeOf(0).Sub(origin)

// made counts calls.
func (r *repeats) made(now time.Duration, calls int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget.Made(now, calls)
}

// take reports whether one more call may be repeated, and counts it.
func (r *repeats) take(now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.budget.Take(now)
}

// with has a core that draws on the budget decide.
func (r *repeats) with(decide func(*policy.Budget)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	decide(r.budget)
}

// WithoutRepeating makes every call once only. By default a unary or one-way call that provably did
// not run is made once more: if the connection ended before anything of it was sent, or if the
// server refused it with UNAVAILABLE or RESOURCE_EXHAUSTED and a time to come back. At most a tenth
// of the calls are repeated, or ten a second.
func WithoutRepeating() Option { return option(func(c *common) { c.once = true }) }
