package trunkcall

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// RoundRobin picks the endpoints in turns, evenly spread, as often as their weights say. It is the
// default for several endpoints. Each client should have its own, or one client's calls take the
// turns of the other's.
func RoundRobin() Balancer {
	b := &roundRobin{}
	b.first.Store(rand.Uint64())   //nolint:gosec // where to begin, not a secret
	b.further.Store(rand.Uint64()) //nolint:gosec // the same
	return b
}

// roundRobin counts the turns that were taken by calls, and apart from them by those that avoid an endpoint.
type roundRobin struct{ first, further atomic.Uint64 }

// anySlot marks the balancers that are ours. It says whether a call may take a free slot at any
// endpoint when the one that was picked has none.
func (*roundRobin) anySlot() bool { return true }

func (b *roundRobin) Balance(endpoints []*EndpointState) Picker {
	p := &turnPicker{groups: group(endpoints), balancer: b}
	p.inReady, p.inComing = weigh(p.all[:p.ready]), weigh(p.all[p.ready:])
	return p
}

type turnPicker struct {
	groups
	balancer          *roundRobin
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
	list, w, counter := p.all[from:to], &p.inReady, &p.balancer.first
	if from > 0 || p.ready == 0 {
		w = &p.inComing
	}
	n, most, left := len(list), w.most, len(list) // the one at left is no candidate
	if not != nil {
		counter = &p.balancer.further
		if i := slices.Index(list, not); i >= 0 && n > 1 {
			n, most, left = n-1, w.mostBut(i), i
		}
	}
	if n == 0 {
		return nil
	}
	for {
		s := counter.Add(1) - 1
		i, round := s%uint64(n), s/uint64(n)
		at := int(i)
		if at >= left {
			at++
		}
		if w.turn(at, i, round, most) {
			return list[at]
		}
	}
}

// mostBut is the largest weight but that of the one at i.
func (w *weights) mostBut(i int) (most uint64) {
	for k, weight := range w.each {
		if k != i {
			most = max(most, weight)
		}
	}
	return most
}

// turn reports whether it is the turn of the ith candidate, the endpoint at a place, in a round: in as many rounds as
// the largest weight it has as many turns as its own.
func (w *weights) turn(at int, i, round, most uint64) bool {
	if w.each == nil {
		return true
	}
	weight := w.each[at]
	return (weight*(round%most)+i*(most/2))%most >= most-weight
}
