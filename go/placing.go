package trunkcall

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

// Where calls go by a policy file: ejected endpoints and other zones are left out before a balancer chooses.

// outlierState is which endpoints are left out by one scope's rules.
type outlierState struct {
	scope string
	rules *policy.OutlierRules

	mu   sync.Mutex
	core *policy.Outliers
	told uint64 // the number of the snapshot whose endpoints it knows
}

func (o *outlierState) knowLocked(s *snapshot, now time.Duration) {
	if s.number <= o.told {
		return
	}
	o.told = s.number
	ids := make([]string, len(s.endpoints))
	for i, e := range s.endpoints {
		ids[i] = e.identity
	}
	o.core.Endpoints(now, ids)
}

// ejected are the identities of those that are left out now.
func (o *outlierState) ejected(s *snapshot) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := elapsed()
	o.knowLocked(s, now)
	return o.core.Ejected(now)
}

// ended tells how an attempt at an endpoint ended.
func (o *outlierState) ended(e *EndpointState, end policy.Ended) {
	o.mu.Lock()
	now := elapsed()
	o.knowLocked(e.of.current.Load(), now)
	until := o.core.Ended(now, e.identity, o.rules.Outcome(end), random)
	o.mu.Unlock()
	if until >= 0 {
		e.of.client.options.journal.warn("endpoint ejected", "target", e.of.client.target, "endpoint", e.identity, "scope", o.scope, "for", until-now)
	}
}

// chooser chooses the endpoints of the calls of methods with the same rules about that.
type chooser struct {
	outliers *outlierState     // nil: none is left out
	zones    *policy.ZoneRules // nil: they make no difference
	balancer Balancer          // nil: the client's

	mu      sync.Mutex
	set     *snapshot // what the rest was made for
	ejected []string
	pickers [3]Picker // by policy.Place
}

// newChooser returns the chooser for rules; nil: they leave it to the client's balancer alone.
func newChooser(r *methodRules) *chooser {
	if r.outliers == nil && r.Zones == nil && r.Balancer == nil {
		return nil
	}
	c := &chooser{outliers: r.outliers, zones: r.Zones}
	if b := r.Balancer; b != nil {
		switch b.Name {
		case "first":
			c.balancer = First()
		case "least_loaded":
			c.balancer = LeastLoaded()
		case "hash":
			c.balancer = Hash(func(p *Pick) string { return p.Metadata.Get(b.Key) })
		default:
			c.balancer = RoundRobin()
		}
	}
	return c
}

// choose picks the endpoint of a call; nil: none for now.
func (c *chooser) choose(s *snapshot, p *Pick) *EndpointState {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seeLocked(s)
	place := c.place()
	if e := c.pickerAt(place).Pick(p); e != nil || place == policy.AllZones {
		return e
	}
	return c.pickerAt(policy.AllZones).Pick(p)
}

// elsewhere picks the endpoint of a hedge: one that is available and not among those tried, in the call's zone if
// there is one (policy.md 9). It returns nil if there is none, and where a balancer of the user's chooses, which is
// asked with each change of the set alone. c may be nil.
func (c *chooser) elsewhere(s *snapshot, p *Pick, tried []*EndpointState) *EndpointState {
	balancer, place := s.of.balancer, policy.AllZones
	var ejected []string
	if c != nil {
		c.mu.Lock()
		c.seeLocked(s)
		s, ejected, place = c.set, c.ejected, c.place()
		c.mu.Unlock()
		if c.balancer != nil {
			balancer = c.balancer
		}
	}
	if _, ours := balancer.(interface{ anySlot() bool }); !ours {
		return nil
	}
	var rest, inside []*EndpointState
	for _, e := range s.endpoints {
		if e.State() != StateReady || slices.Contains(tried, e) || slices.Contains(ejected, e.identity) {
			continue
		}
		rest = append(rest, e)
		if s.at(e, place) {
			inside = append(inside, e)
		}
	}
	if len(inside) > 0 {
		rest = inside
	}
	if len(rest) == 0 {
		return nil
	}
	return balancer.Balance(rest).Pick(p)
}

// seeLocked takes note of the endpoints, and of which are left out.
func (c *chooser) seeLocked(s *snapshot) {
	var ejected []string
	if c.outliers != nil {
		ejected = c.outliers.ejected(s)
	}
	if c.set == nil || s.number > c.set.number || !slices.Equal(ejected, c.ejected) {
		if c.set == nil || s.number > c.set.number {
			c.set = s
		}
		c.ejected, c.pickers = ejected, [3]Picker{}
	}
}

// at reports whether an endpoint is at a place.
func (s *snapshot) at(e *EndpointState, place policy.Place) bool {
	return place == policy.AllZones || (e.endpoint.Load().Zone == s.of.client.options.zone) == (place == policy.OwnZone)
}

// place is the zone of a call.
func (c *chooser) place() policy.Place {
	own := c.set.of.client.options.zone
	if c.zones == nil || own == "" {
		return policy.AllZones
	}
	var there policy.Zoned
	for _, e := range c.set.endpoints {
		inside := e.endpoint.Load().Zone == own
		available := e.State() == StateReady && !slices.Contains(c.ejected, e.identity)
		if inside {
			there.Total++
			there.Calls += e.calls.Load()
		}
		switch {
		case inside && available:
			there.Available++
		case available:
			there.Others++
		}
	}
	return c.zones.Pick(there, random)
}

// pickerAt is the picker among the endpoints at a place. It must be called under the lock.
func (c *chooser) pickerAt(place policy.Place) Picker {
	if c.pickers[place] != nil {
		return c.pickers[place]
	}
	var list, kept []*EndpointState
	anyReady := false
	for _, e := range c.set.endpoints {
		if !c.set.at(e, place) {
			continue
		}
		list = append(list, e)
		if !slices.Contains(c.ejected, e.identity) {
			kept = append(kept, e)
			anyReady = anyReady || e.State() == StateReady
		}
	}
	if anyReady { // else every ready one is left out, and then none is (policy.md 11)
		list = kept
	}
	b := c.balancer
	if b == nil {
		b = c.set.of.balancer
	}
	c.pickers[place] = b.Balance(list)
	return c.pickers[place]
}

// unplaceable are the rules that would have to choose for a balancer of the user's.
func unplaceable(own Balancer, p *policy.Policy) (parts []string) {
	if own == nil || p.Balancer != nil {
		return nil
	}
	if _, ours := own.(interface{ anySlot() bool }); ours {
		return nil
	}
	if p.Outliers.Rules != nil {
		parts = append(parts, fmt.Sprintf("outliers before the balancer %T", own))
	}
	if p.Zones != nil {
		parts = append(parts, fmt.Sprintf("zones before the balancer %T", own))
	}
	return parts
}
