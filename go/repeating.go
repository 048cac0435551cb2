package trunkcall

import (
	"sync"
	"time"

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

// repeats bounds how many calls are repeated, so that overload is not doubled at each
// tier: in ten seconds a tenth of the calls made in them, or a hundred if that is more.
type repeats struct {
	mu      sync.Mutex
	seconds [repeatSeconds]repeatSecond
}

const (
	repeatSeconds = 10
	repeatShare   = 10 // one of so many calls
	leastRepeats  = 10 * repeatSeconds

	// countedTogether is how many calls an object used for them counts before it tells.
	countedTogether = 64
)

// repeatSecond is the calls that began in a second.
type repeatSecond struct {
	second          int64
	calls, repeated uint64
}

var began = time.Now()

// thisSecond is that of a clock that does not jump.
func thisSecond() int64 { return int64(time.Since(began) / time.Second) }

func (r *repeats) atLocked(second int64) *repeatSecond {
	s := &r.seconds[second%repeatSeconds]
	if s.second != second {
		*s = repeatSecond{second: second}
	}
	return s
}

// made counts calls.
func (r *repeats) made(second int64, calls uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.atLocked(second).calls += calls
}

// take reports whether one more call may be repeated, and counts it.
func (r *repeats) take(second int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.atLocked(second)
	var calls, repeated uint64
	for i := range r.seconds {
		if s := &r.seconds[i]; s.second > second-repeatSeconds {
			calls += s.calls
			repeated += s.repeated
		}
	}
	if repeated >= max(calls/repeatShare, leastRepeats) {
		return false
	}
	now.repeated++
	return true
}

// WithoutRepeating makes every call once only. By default a unary or one-way call that provably did
// not run is made once more: if the connection ended before anything of it was sent, or if the
// server refused it with UNAVAILABLE or RESOURCE_EXHAUSTED and a time to come back. At most a tenth
// of the calls are repeated, or ten a second.
func WithoutRepeating() Option { return option(func(c *common) { c.once = true }) }
