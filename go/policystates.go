package trunkcall

import (
	"fmt"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

// The cores of a policy file that calls share, each under its own lock. No other is taken under one.

// breakerState is the breaker of a method.
type breakerState struct {
	rules *policy.BreakerRules

	mu   sync.Mutex
	core *policy.Breaker
}

func newBreakerState(rules *policy.BreakerRules) *breakerState {
	return &breakerState{rules: rules, core: policy.NewBreaker(rules)}
}

// ask is the number to tell the end of an attempt with; 0: it is not to be made.
func (b *breakerState) ask(now time.Duration) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	number, _ := b.core.Ask(now)
	return number
}

func (b *breakerState) ended(now time.Duration, number int64, outcome policy.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.core.Ended(now, number, outcome, random)
}

// rateState is the bucket of a scope.
type rateState struct {
	of string // whose it is, in texts

	mu   sync.Mutex
	core *policy.Rate
}

// take says why a call may not begin, and when it may come back.
func (r *rateState) take(p policy.Priority) (after time.Duration, why string) {
	if r == nil {
		return 0, ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if allowed, after := r.core.Take(elapsed(), p); !allowed {
		return max(after, time.Millisecond), fmt.Sprintf("rate of %s is used up", r.of)
	}
	return 0, ""
}

// concurrencyState is the calls at once of a scope.
type concurrencyState struct {
	of string // whose they are, in texts

	mu   sync.Mutex
	core *policy.Concurrency
}

// enter says why a call may not run; if it may, its end is to be told with when it entered. A limit that is fixed asks no clock.
func (c *concurrencyState) enter(p policy.Priority) (at time.Duration, why string) {
	if c == nil {
		return 0, ""
	}
	if c.core.Measures() {
		at = elapsed()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.core.Enter(at, p) {
		return 0, fmt.Sprintf("concurrency of %s is used up", c.of)
	}
	return at, ""
}

func (c *concurrencyState) leave(entered time.Duration, s policy.Sample) {
	if c == nil {
		return
	}
	var now time.Duration
	if c.core.Measures() {
		now = elapsed()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.core.Leave(now, now-entered, s, random)
}
