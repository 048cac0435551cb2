package trunkcall

import "math/bits"

// First picks the first endpoint, in the resolver's order, that is not failing. Endpoints are
// connected once they are needed.
func First() Balancer { return first{} }

type first struct{}

func (first) Lazy() {}

func (first) anySlot() bool { return false }

func (first) Balance(endpoints []*EndpointState) Picker {
	return inOrder(candidates(endpoints, func(s State) bool { return s != StateFailing }))
}

// inOrder are the endpoints that will do, the best one first.
type inOrder []*EndpointState

func (p inOrder) Pick(call *Pick) *EndpointState {
	switch {
	case len(p) == 0:
		return nil
	case p[0] == call.Not && len(p) > 1:
		return p[1]
	}
	return p[0]
}

// candidates are those of endpoints whose states will do.
func candidates(endpoints []*EndpointState, do func(State) bool) []*EndpointState {
	var out []*EndpointState
	for _, e := range endpoints {
		if do(e.State()) {
			out = append(out, e)
		}
	}
	return out
}

// groups are the endpoints that a balancer which is not lazy chooses from: the ready ones, and
// behind them those that are idle or connecting (client.md 10.2).
type groups struct {
	all   []*EndpointState
	ready int // how many of them are
}

func group(endpoints []*EndpointState) groups {
	g := groups{all: candidates(endpoints, func(s State) bool { return s == StateReady })}
	g.ready = len(g.all)
	g.all = append(g.all, candidates(endpoints, func(s State) bool { return s == StateIdle || s == StateConnecting })...)
	return g
}

// of returns where the candidates of a call stand that avoids an endpoint: that one is among
// them, and the only one if there is no other.
func (g *groups) of(not *EndpointState) (from, to int) {
	n := len(g.all)
	if g.ready > 1 || g.ready == 1 && (g.all[0] != not || n == 1) {
		return 0, g.ready
	}
	return g.ready, n
}

// below makes an index below n of a random number.
func below(n int, random uint64) int {
	i, _ := bits.Mul64(random, uint64(n))
	return int(i)
}
