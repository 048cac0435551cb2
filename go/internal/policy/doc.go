// Package policy reads policy files and decides by them, as spec/policy.md says: when a call is
// made again, hedged, refused or sent elsewhere.
//
// Each core (Retries, Hedging, Breaker, Outliers, Rate, Concurrency, Zones, Drill) is given times,
// events and random numbers, and gives decisions. It has no clock, goroutine or lock: whoever
// shares one between goroutines guards it. Times are since an origin of the caller's, not below 0,
// by a clock that does not jump; one before the last counts as the last.
package policy

import "time"

// Random draws a random number of 32 bits.
type Random func() uint32

// part is a random part of x, which is not below 0 (policy.md 6.2).
func part(x time.Duration, random Random) time.Duration {
	r := uint64(random())
	// Both products fit 64 bits; the one product of x and r need not.
	high, low := uint64(x)>>32, uint64(x)&(1<<32-1)
	return time.Duration(high*r + low*r>>32)
}

// longest is how long a measured duration may count.
const longest = 24 * time.Hour

// clock has times not go back.
type clock struct{ last time.Duration }

func (c *clock) at(now time.Duration) time.Duration {
	c.last = max(c.last, now)
	return c.last
}

const spans = 10

// window counts events of the last slices (policy.md 6.4).
type window struct {
	slice  time.Duration // how long each takes
	counts [spans]struct {
		number int64 // of the slice that this counts
		events int64
	}
}

func newWindow(length time.Duration) window { return window{slice: length / spans} }

func (w *window) add(now time.Duration, events int64) {
	number := int64(now / w.slice)
	c := &w.counts[number%spans]
	if c.number != number {
		c.number, c.events = number, 0
	}
	c.events += events
}

func (w *window) sum(now time.Duration) int64 {
	number, sum := int64(now/w.slice), int64(0)
	for _, c := range w.counts {
		if c.number > number-spans {
			sum += c.events
		}
	}
	return sum
}

func (w *window) clear() { *w = window{slice: w.slice} }
