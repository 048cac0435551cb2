package trunkcall

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// governance is what a policy file says, with the states that are kept for it. What it says does not change: when the
// file is exchanged there is another one.
type governance struct {
	file    *policy.File
	repeats *repeats
	// outliers are those of all scopes that have rules, in their order.
	outliers []*outlierState
	indexed  atomic.Pointer[[]*methodRules] // by the index of the method's name

	mu       sync.Mutex
	methods  map[string]*methodRules
	states   map[stateKey]keptState
	choosers map[placing]*chooser
	earlier  map[stateKey]keptState // those of the file before, while this one is made
}

// methodRules is what holds for a method.
type methodRules struct {
	*policy.Policy

	method      string
	repeats     *repeats
	breaker     *breakerState // nil: there is none, and so on
	outliers    *outlierState
	rate        *rateState
	concurrency *concurrencyState
	chooser     *chooser

	serverRate        *rateState
	serverConcurrency *concurrencyState
}

// stateKey says whose state it is: a kind of rules, and the scope or method that has them.
type stateKey struct{ kind, of string }

// keptState is a state, and the rules that it is kept for.
type keptState struct{ rules, state any }

// newGovernance has a file hold after another, nil: none. States whose scope and rules are the same are kept
// (policy.md 5.6).
func newGovernance(file *policy.File, before *governance) *governance {
	g := &governance{file: file, methods: map[string]*methodRules{}, states: map[stateKey]keptState{}, choosers: map[placing]*chooser{}}
	g.indexed.Store(&[]*methodRules{})
	if before == nil {
		g.repeats = newRepeats(file.Budget)
		g.makeStatesLocked() // nobody else has g yet
		return g
	}
	if g.repeats = before.repeats; before.file.Budget != file.Budget {
		g.repeats = newRepeats(file.Budget)
	}
	before.mu.Lock()
	defer before.mu.Unlock()
	g.earlier = before.states
	g.makeStatesLocked()
	for name := range before.methods {
		g.makeLocked(name)
	}
	g.earlier = nil
	return g
}

// makeStatesLocked makes the states that scopes keep.
func (g *governance) makeStatesLocked() {
	g.file.Each(func(_ int, path string, p *policy.Policy) {
		r := methodRules{Policy: p}
		if g.shareLocked(&r); r.outliers != nil && r.outliers.scope == path {
			g.outliers = append(g.outliers, r.outliers)
		}
	})
}

// ejected are the scopes that leave endpoints out now, by the identities of these.
func (g *governance) ejected(s *snapshot) map[string][]string {
	scopes := map[string][]string{}
	for _, o := range g.outliers {
		for _, identity := range o.ejected(s) {
			scopes[identity] = append(scopes[identity], o.scope)
		}
	}
	return scopes
}

// of returns what holds for a method.
func (g *governance) of(m *Method) *methodRules {
	known, index := g.indexed.Load(), m.wire().Index
	if index >= 0 && index < len(*known) && (*known)[index] != nil {
		return (*known)[index]
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.methods[m.Name]
	if r == nil {
		r = g.makeLocked(m.Name)
	}
	if index >= 0 {
		known = g.indexed.Load()
		grown := make([]*methodRules, max(len(*known), index+1))
		copy(grown, *known)
		grown[index] = r
		g.indexed.Store(&grown)
	}
	return r
}

// makeLocked finds what holds for a method, and keeps it unless there are too many, in a program that makes names up.
func (g *governance) makeLocked(name string) *methodRules {
	service, method, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	r := &methodRules{Policy: g.file.For(service, method), method: name, repeats: g.repeats}
	if len(g.methods) < maxNames {
		g.methods[name] = r
		if r.Breaker != nil {
			r.breaker = stateLocked(g, "breaker", name, r.Breaker, newBreakerState)
		}
	}
	g.shareLocked(r)
	key := placing{r.outliers, r.Zones, r.Balancer}
	if r.chooser = g.choosers[key]; r.chooser == nil {
		r.chooser = newChooser(r)
		g.choosers[key] = r.chooser
	}
	return r
}

// shareLocked gives rules the states that their scopes keep for all methods.
func (g *governance) shareLocked(r *methodRules) {
	if said := r.Outliers; said.Rules != nil {
		r.outliers = stateLocked(g, "outliers", said.Scope, said.Rules, func(rules *policy.OutlierRules) *outlierState {
			return &outlierState{scope: said.Scope, rules: rules, core: policy.NewOutliers(rules)}
		})
	}
	r.rate = rateLocked(g, "rate", r.Rate, "")
	r.concurrency = concurrencyLocked(g, "concurrency", r.Concurrency, "")
	r.serverRate = rateLocked(g, "server_rate", r.ServerRate, ofTheServer)
	r.serverConcurrency = concurrencyLocked(g, "server_concurrency", r.ServerConcurrency, ofTheServer)
}

// placing is what chooses for a method; those that have the same share the pickers.
type placing struct {
	outliers *outlierState
	zones    *policy.ZoneRules
	balancer *policy.BalancerRules
}

// ofTheServer stands behind a scope in a text about a limit of a server, which may be another scope of a client's file.
const ofTheServer = " of the server"

func rateLocked(g *governance, kind string, said policy.Scoped[policy.RateRules], whose string) *rateState {
	if said.Rules == nil {
		return nil
	}
	return stateLocked(g, kind, said.Scope, said.Rules, func(rules *policy.RateRules) *rateState {
		return &rateState{of: said.Scope + whose, core: policy.NewRate(rules)}
	})
}

func concurrencyLocked(g *governance, kind string, said policy.Scoped[policy.ConcurrencyRules], whose string) *concurrencyState {
	if said.Rules == nil {
		return nil
	}
	return stateLocked(g, kind, said.Scope, said.Rules, func(rules *policy.ConcurrencyRules) *concurrencyState {
		return &concurrencyState{of: said.Scope + whose, core: policy.NewConcurrency(rules)}
	})
}

// stateLocked is the state of a scope or method for its rules: the one that is there, or was there for the same
// rules in the file before, or a new one.
func stateLocked[R, S any](g *governance, kind, of string, rules *R, create func(*R) *S) *S {
	key := stateKey{kind, of}
	kept, ok := g.states[key]
	if !ok {
		if kept, ok = g.earlier[key]; !ok || !reflect.DeepEqual(kept.rules, rules) {
			kept = keptState{rules, create(rules)}
		}
		g.states[key] = kept
	}
	return kept.state.(*S) //nolint:forcetypeassert // the kind says which it is
}

// random draws a random number of 32 bits (policy.md 6.2).
func random() uint32 { return rand.Uint32() } //nolint:gosec // for chance, not for secrets

// endOf is how an attempt ended, as the cores know it.
func endOf(e *wire.Ending) policy.Ended {
	end := policy.Ended{Code: policy.Code(e.Code), RetryAfter: time.Duration(e.RetryAfter) * time.Millisecond}
	switch e.Delivery {
	case NotSent:
		end.Delivery = policy.NotSent
	case Refused:
		end.Delivery = policy.Refused
	case Executed:
		end.Delivery = policy.Executed
	}
	return end
}

// lacking has each part of a file that is not done yet be a fault: it is not to be ignored in silence.
func lacking(parts func(*policy.Policy) []string) func(*policy.File) error {
	return func(file *policy.File) error {
		bad := &policy.BadFile{}
		file.Each(func(line int, path string, p *policy.Policy) {
			for _, part := range parts(p) {
				bad.Faults = append(bad.Faults, policy.Fault{Line: line, Path: path, What: part + " is not done by this version"})
			}
		})
		if len(bad.Faults) > 0 {
			return bad
		}
		return nil
	}
}
