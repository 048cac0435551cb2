package trunkcall

import (
	"sync"
	"sync/atomic"
	"time"
)

// When compressing pays, and what happens when it does not (spec/limits.md 2).
const (
	leastCompressed = 1 << 10 // bytes of a message; shorter ones are sent plain
	leastSaved      = 8       // it is worth sending compressed if this part of it is saved: an eighth
	// savedPerByte is what a byte less is taken to save: its time on a line of
	// 100 Mbit/s.
	savedPerByte = 80 * time.Nanosecond

	firstTrust = 4 // tries that may fail at first
	mostTrust  = 8
	firstRest  = 16 // messages sent plain when trust is used up
	longest    = 1024
)

// economy decides whether compressing the messages of one method pays. It
// begins with some trust; a try that pays adds to it and one that does not takes
// from it. When it is used up, the messages that follow are sent plain for a
// while, twice as many each time, and then one is tried.
type economy struct {
	mu    sync.Mutex
	trust int
	rest  int // messages to be sent plain before the next try
	pause int // what rest begins with, next time
}

func newEconomy() *economy { return &economy{trust: firstTrust, pause: firstRest} }

// tries reports whether the next message is to be compressed.
func (e *economy) tries() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.rest > 0 {
		e.rest--
		return false
	}
	return true
}

// note takes in how a try went: from how many bytes to how many, and in what
// time. It reports whether the result is worth being sent, which does not
// depend on the time: that is spent.
func (e *economy) note(plain, packed int, took time.Duration) (worth bool) {
	saved := plain - packed
	worth = saved*leastSaved >= plain
	pays := worth && took <= time.Duration(saved)*savedPerByte
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case pays:
		e.trust = min(e.trust+1, mostTrust)
		e.pause = firstRest
	case e.rest > 0: // others found out meanwhile
	default:
		if e.trust--; e.trust <= 0 {
			e.trust = 1
			e.rest = max(e.pause, firstRest)
			e.pause = min(2*e.rest, longest)
		}
	}
	return worth
}

// economies has one for each method that compresses.
type economies struct {
	byMethod sync.Map // name to *economy
	count    atomic.Int32
	others   economy // of what is past maxNames
}

func (all *economies) of(method string) *economy {
	if e, ok := all.byMethod.Load(method); ok {
		return e.(*economy) //nolint:forcetypeassert // nothing else is stored
	}
	if all.count.Add(1) > maxNames {
		all.count.Add(-1)
		return &all.others
	}
	e, _ := all.byMethod.LoadOrStore(method, newEconomy())
	return e.(*economy) //nolint:forcetypeassert // nothing else is stored
}
