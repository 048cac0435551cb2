package policy

import "time"

// billion is how many units of a bucket a call takes.
const billion = 1_000_000_000

// Rate bounds how many calls begin in a time (policy.md 12).
type Rate struct {
	rules *RateRules
	level int64 // billionths of a call
	clock clock
}

// NewRate makes one whose bucket is full.
func NewRate(rules *RateRules) *Rate {
	return &Rate{rules: rules, level: rules.Burst * billion}
}

// Take reports whether a call may begin, or how long to wait before one may.
func (r *Rate) Take(now time.Duration, p Priority) (allowed bool, after time.Duration) {
	last := r.clock.last
	passed := int64(r.clock.at(now) - last)
	full := r.rules.Burst * billion
	if missing := full - r.level; passed > missing/r.rules.PerSecond {
		r.level = full
	} else {
		r.level += passed * r.rules.PerSecond
	}
	kept := (r.rules.Burst - r.rules.Shares.of(r.rules.Burst, p)) * billion
	if missing := billion + kept - r.level; missing > 0 {
		return false, time.Duration((missing + r.rules.PerSecond - 1) / r.rules.PerSecond)
	}
	r.level -= billion
	return true, 0
}

// Sample is what the end of a call says of the limit that it was under.
type Sample int

// The samples.
const (
	NoSample Sample = iota
	Measured
	Overload
)

// OfStream is what s is where the call is a stream: how long it stays open says nothing of capacity.
func (s Sample) OfStream() Sample {
	if s == Measured {
		return NoSample
	}
	return s
}

// SampleOf judges how a call ended (policy.md 13).
func SampleOf(e Ended) Sample {
	switch {
	case e.Delivery == NotSent, e.Code == Cancelled:
		return NoSample
	case e.Code == ResourceExhausted, e.Code == Unavailable, e.Code == DeadlineExceeded:
		return Overload
	case e.Delivery == Refused: // no handler ran: it says nothing of capacity
		return NoSample
	}
	return Measured
}

// Concurrency bounds how many calls run at once (policy.md 13).
type Concurrency struct {
	rules *ConcurrencyRules
	calls int64
	limit int64 // thousandths
	clock clock

	// Of an adaptive limit:
	base      time.Duration // of a call without a queue; 0: not measured yet
	measuring bool
	since     time.Duration // it measures
	again     time.Duration // when it is to measure again

	begin     time.Duration // of the window; -1: it has none
	sum       time.Duration
	count     int64
	overloads int64
	peak      int64
}

// maxSamples is how many durations of a window are summed.
const maxSamples = 10_000

// NewConcurrency makes one under which no call runs.
func NewConcurrency(rules *ConcurrencyRules) *Concurrency {
	c := &Concurrency{rules: rules, limit: rules.Limit * 1000, begin: -1}
	if rules.Adaptive != nil {
		c.limit, c.measuring = rules.Adaptive.Start*1000, true
	}
	return c
}

// Measures reports whether times make a difference: under a fixed limit they do not, and may be 0.
func (c *Concurrency) Measures() bool { return c.rules.Adaptive != nil }

// Limit is the limit, in thousandths.
func (c *Concurrency) Limit() int64 { return c.limit }

// inForce is how many calls may run at once now.
func (c *Concurrency) inForce() int64 {
	if c.measuring && c.base > 0 {
		return max(c.rules.Adaptive.Least*1000, c.limit/2) / 1000
	}
	return c.limit / 1000
}

// Enter reports whether a call may run. If so, Leave is to be told of its end.
func (c *Concurrency) Enter(now time.Duration, p Priority) bool {
	c.clock.at(now)
	if c.calls >= c.rules.Shares.of(c.inForce(), p) {
		return false
	}
	c.calls++
	c.peak = max(c.peak, c.calls)
	return true
}

// Leave tells that a call has ended, and after how long. Random is asked where a measurement ends.
func (c *Concurrency) Leave(now, took time.Duration, s Sample, random Random) {
	now = c.clock.at(now)
	c.calls--
	took = min(max(took, 0), longest)
	a := c.rules.Adaptive
	if a == nil || s == NoSample || c.measuring && now-took < c.since {
		return
	}
	if c.begin < 0 {
		c.begin = now
	}
	if s == Overload {
		c.overloads++
	} else if c.count < maxSamples {
		c.sum += took
		c.count++
	}
	if now >= c.begin+a.Window && c.count+c.overloads >= a.Samples {
		c.adapt(a, now, random)
	}
}

// adapt closes the window.
func (c *Concurrency) adapt(a *AdaptiveRules, now time.Duration, random Random) {
	switch short := max(1, c.sum/time.Duration(max(1, c.count))); {
	case c.overloads*10 >= c.count+c.overloads:
		c.limit = c.limit * 9 / 10
	case c.measuring:
		c.base, c.measuring = short, false
		c.again = now + a.Remeasure + part(a.Remeasure/5, random)
	default:
		gradient := min(max(int64(c.base)*a.Tolerance*10/int64(short), 500), 1000)
		target := c.limit*gradient/1000 + 1000*root(c.limit/1000)
		if target > c.limit && c.peak*2 < c.limit/1000 {
			target = c.limit
		}
		c.limit = (c.limit*4 + target) / 5
		c.base = min(c.base, short)
		if now >= c.again {
			c.measuring, c.since = true, now
		}
	}
	c.limit = min(max(c.limit, a.Least*1000), a.Most*1000)
	c.begin, c.sum, c.count, c.overloads, c.peak = -1, 0, 0, 0, c.calls
}

// root is the square root of n, rounded down.
func root(n int64) int64 {
	low, high := int64(0), n+1 // low*low <= n < high*high
	for high-low > 1 {
		if middle := (low + high) / 2; middle*middle <= n {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
