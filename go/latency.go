package trunkcall

import (
	"math"
	"sync/atomic"
	"time"
)

// latencyTime is the time constant of the moving latency once samples have come for so long, and how
// long the last one counts (spec/limits.md).
const latencyTime = 10 * time.Second

// failureLatency is the latency that a call counts with if no server served it, so that an endpoint
// that fails quickly does not look quick.
const failureLatency = time.Second

// movingLatency is a moving mean of how long calls took (client.md 10.9). It is safe for
// concurrent use.
type movingLatency struct {
	mean  atomic.Uint64 // nanoseconds, the bits of a float64
	first atomic.Int64  // when the first sample came
	last  atomic.Int64  // when the last sample came, and 1; 0: there is none
}

// at returns the mean at a time; ok says whether there is one that still counts.
func (m *movingLatency) at(now time.Duration) (mean float64, ok bool) {
	last := m.last.Load()
	if last == 0 || now-time.Duration(last-1) > latencyTime {
		return 0, false
	}
	return math.Float64frombits(m.mean.Load()), true
}

// ended takes a call in that ended.
func (m *movingLatency) ended(kind Kind, o *Outcome, now time.Duration) {
	took := o.Duration
	switch unary := kind == KindUnary; {
	case o.Status.Local && o.Status.Delivery == NotSent:
		return // it says nothing of the server
	case o.Status.Code == Unavailable || o.Status.Code == ResourceExhausted:
		if !unary {
			took = 0
		}
		took = max(took, failureLatency)
	case !unary:
		return // it took as long as its messages came
	case o.Status.Code == Canceled || o.Status.Code == DeadlineExceeded:
		if mean, ok := m.at(now); ok && float64(took) <= mean {
			return // it would have taken longer
		}
	}
	m.add(float64(took), now)
}

func (m *movingLatency) add(sample float64, now time.Duration) {
	last := m.last.Load()
	for int64(now) >= last && !m.last.CompareAndSwap(last, int64(now)+1) {
		last = m.last.Load()
	}
	if int64(now) < last {
		return // it came with the last one or before, and stands for no time
	}
	before := time.Duration(last - 1)
	since := now - before
	if last == 0 || since > latencyTime {
		m.first.Store(int64(now))
		m.mean.Store(math.Float64bits(sample))
		return
	}
	age := max(0, min(before-time.Duration(m.first.Load()), latencyTime)) // others may have set it anew meanwhile
	weight := float64(since) / float64(age+since)
	for {
		old := m.mean.Load()
		mean := math.Float64frombits(old)
		if m.mean.CompareAndSwap(old, math.Float64bits(mean+(sample-mean)*weight)) {
			return
		}
	}
}
