package trunkcall

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// LeastLoaded draws two endpoints at random and picks the less loaded one. The load is the number
// of calls open there plus one, times how long calls there took lately. It stays with an endpoint
// for up to 64 calls while that is about as good as another, so that calls share writes.
func LeastLoaded() Balancer {
	return &leastLoaded{rand.Uint64, elapsed}
}

type leastLoaded struct {
	random func() uint64
	now    func() time.Duration
}

func (*leastLoaded) anySlot() bool { return true }

func (b *leastLoaded) Balance(endpoints []*EndpointState) Picker {
	return &loadPicker{groups: group(endpoints), leastLoaded: b}
}

const (
	// keptFor is for how many calls in a row an endpoint is kept, at most (spec/limits.md).
	keptFor = 64
	// keptAt is up to how many times the load of another.
	keptAt = 1.25
)

type loadPicker struct {
	groups
	*leastLoaded
	kept atomic.Uint64 // the index in all, and below that in 32 bits how often it was picked in a row
}

// Pick is client.md 10.8. Picks at the same time may count as one.
func (p *loadPicker) Pick(call *Pick) *EndpointState {
	from, to := p.of(call.Not)
	if to-from <= 1 {
		return only(p.all[from:to])
	}
	c := drawing{p: p, from: from, to: to, not: -1, now: p.now()}
	if call.Not != nil {
		c.avoid(call.Not)
	}
	n := c.count()
	if n == 1 {
		return p.all[c.nth(0, -1)]
	}
	kept := p.kept.Load()
	a, times := int(kept>>32), kept&(1<<32-1)
	stays := times > 0 && times < keptFor && a >= from && a < to && a != c.not
	if !stays {
		a, times = c.nth(below(n, p.random()), -1), 0
	}
	b := c.nth(below(n-1, p.random()), a)
	loadA, loadB := c.load(a), c.load(b)
	if stays {
		loadB *= keptAt
	}
	if loadA > loadB {
		a, times = b, 0
	}
	p.kept.Store(uint64(a)<<32 | (times + 1))
	return p.all[a]
}

func only(endpoints []*EndpointState) *EndpointState {
	if len(endpoints) == 0 {
		return nil
	}
	return endpoints[0]
}

// drawing is what one pick is among: the endpoints with these indices, but one.
type drawing struct {
	p        *loadPicker
	from, to int
	not      int // -1: none
	now      time.Duration
	mean     float64 // of those with a latency; 0: not looked at yet
}

func (c *drawing) avoid(not *EndpointState) {
	for i := c.from; i < c.to; i++ {
		if c.p.all[i] == not {
			c.not = i
		}
	}
}

func (c *drawing) count() int {
	if c.not >= 0 {
		return c.to - c.from - 1
	}
	return c.to - c.from
}

// nth is the nth of them without also, -1: with all.
func (c *drawing) nth(n, also int) int {
	n += c.from
	low, high := min(c.not, also), max(c.not, also)
	if low >= 0 && n >= low {
		n++
	}
	if high >= 0 && n >= high {
		n++
	}
	return n
}

func (c *drawing) load(i int) float64 {
	e := c.p.all[i]
	latency, ok := e.latency.at(c.now)
	if !ok {
		latency = c.meanLatency()
	}
	return float64(e.calls.Load()+1) * latency
}

func (c *drawing) meanLatency() float64 {
	if c.mean > 0 {
		return c.mean
	}
	sum, n := 0.0, 0
	for i := c.from; i < c.to; i++ {
		if latency, ok := c.p.all[i].latency.at(c.now); ok && i != c.not {
			sum += latency
			n++
		}
	}
	if n == 0 {
		sum, n = 1, 1
	}
	c.mean = sum / float64(n)
	return c.mean
}
