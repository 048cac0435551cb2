package trunkcall

import (
	"math/rand/v2"
	"sync/atomic"
)

// RoundRobin picks the endpoints in turns, evenly spread, as often as their weights say. It is the
// default for several endpoints. Each client should have its own, or one client's calls take the
// turns of the other's.
func RoundRobin() Balancer {
	b := &roundRobin{}
	b.counter.Store(rand.Uint64()) //nolint:gosec // where to begin, not a secret
	return b
}

type roundRobin struct{ counter atomic.Uint64 }

// anySlot marks the balancers that are ours. It says whether a call may take a free slot at any
// endpoint when the one that was picked has none.
func (*roundRobin) anySlot() bool { return true }

func (b *roundRobin) Balance(endpoints []*EndpointState) Picker {
	p := &turnPicker{groups: group(endpoints), counter: &b.counter}
	p.inReady, p.inComing = weigh(p.all[:p.ready]), weigh(p.all[p.ready:])
	return p
}

type turnPicker struct {
	groups
	counter           *atomic.Uint64
	inReady, inComing weights
}

// weights are those of a group of endpoints.
type weights struct {
	each []uint64 // nil: all alike
	most uint64
}

func weigh(endpoints []*EndpointState) (w weights) {
	alike := true
	for _, e := range endpoints {
		weight := uint64(max(e.Endpoint().Weight, 1))
		w.each = append(w.each, weight)
		w.most = max(w.most, weight)
		alike = alike && weight == w.each[0]
	}
	if alike {
		w.each = nil
	}
	return w
}

// Pick takes numbers until one is that of an endpoint's turn (client.md 10.6).
func (p *turnPicker) Pick(call *Pick) *EndpointState { return p.next(call.Not) }

// next picks for a call of which it need not know more than what it avoids.
func (p *turnPicker) next(not *EndpointState) *EndpointState {
	from, to := p.of(not)
	w := &p.inReady
	if from > 0 || p.ready == 0 {
		w = &p.inComing
	}
	if from == to {
		return nil
	}
	list := p.all[from:to]
	n := uint64(len(list))
	var i uint64
	for {
		s := p.counter.Add(1) - 1
		if i = s % n; w.turn(i, s/n) {
			break
		}
	}
	if list[i] == not {
		i = (i + 1) % n
	}
	return list[i]
}

// turn reports whether it is the ith endpoint's turn in a round: in as many rounds as the
// largest weight it has as many turns as its own.
func (w *weights) turn(i, round uint64) bool {
	if w.each == nil {
		return true
	}
	weight := w.each[i]
	return (weight*(round%w.most)+i*(w.most/2))%w.most >= w.most-weight
}
