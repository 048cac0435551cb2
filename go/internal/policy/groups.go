package policy

import (
	"slices"
	"strings"
	"time"
)

// file reads the whole file (policy.md 3.1).
func (r *reader) file(n *node) *File {
	f := &File{Budget: BudgetRules{Percent: 10, Least: 10}}
	r.mapping(n, "", []field{
		{"policy", true, r.version},
		{"budget", false, func(n *node, path string) {
			r.mapping(n, path, []field{
				{"percent", false, r.whole(&f.Budget.Percent, 0, 100)},
				{"least", false, r.whole(&f.Budget.Least, 0, 1_000_000)},
			})
		}},
		{"defaults", false, func(n *node, path string) {
			f.defaults = &scope{line: n.line, path: path}
			r.scope(n, path, f.defaults)
		}},
		{"services", false, func(n *node, path string) { f.services = r.services(n, path) }},
	})
	return f
}

func (r *reader) version(n *node, path string) {
	if number, ok := n.whole(); !ok || number != 1 {
		r.wants("1", n, path)
	}
}

func (r *reader) services(n *node, path string) []*service {
	if n.kind != kindMapping {
		r.wants("a mapping", n, path)
		return nil
	}
	var found []*service
	for _, e := range n.entries {
		at := below(path, e.key)
		if !isName(e.key) {
			r.fault(e.value.line, at, "not the name of a service")
			continue
		}
		s := &service{name: e.key, scope: scope{line: e.value.line, path: at}}
		r.scope(e.value, at, &s.scope, field{"methods", false, func(n *node, path string) { s.methods = r.methods(n, path) }})
		found = append(found, s)
	}
	return found
}

func (r *reader) methods(n *node, path string) []method {
	if n.kind != kindMapping {
		r.wants("a mapping", n, path)
		return nil
	}
	var found []method
	for _, e := range n.entries {
		at := below(path, e.key)
		if !isName(e.key) {
			r.fault(e.value.line, at, "not the name of a method")
			continue
		}
		m := method{name: e.key, scope: scope{line: e.value.line, path: at, ofMethod: true}}
		r.scope(e.value, at, &m.scope)
		found = append(found, m)
	}
	if len(n.entries) == 0 {
		r.fault(n.line, path, "says nothing")
	}
	return found
}

// scope reads what a scope says (policy.md 3.2), and more where it is of a service.
func (r *reader) scope(n *node, path string, s *scope, more ...field) {
	r.mapping(n, path, append([]field{
		{"timeout", false, r.duration(&s.timeout, "1ns", "24h")},
		{"wait_for_ready", false, r.truth(&s.waits)},
		{"idempotent", false, r.truth(&s.idempotent)},
		{"priority", false, r.word(priorityNames[:], func(i int) { p := Priority(i); s.priority = &p })},
		{"retries", false, saidBy(r, &s.retries, r.retries)},
		{"hedging", false, saidBy(r, &s.hedging, r.hedging)},
		{"breaker", false, saidBy(r, &s.breaker, r.breaker)},
		{"outliers", false, saidBy(r, &s.outliers, r.outliers)},
		{"balancer", false, saidBy(r, &s.balancer, r.balancer)},
		{"zones", false, saidBy(r, &s.zones, r.zones)},
		{"rate", false, saidBy(r, &s.rate, r.rate)},
		{"concurrency", false, saidBy(r, &s.concurrency, r.concurrency)},
		{"server_rate", false, saidBy(r, &s.serverRate, r.rate)},
		{"server_concurrency", false, saidBy(r, &s.serverConcurrency, r.concurrency)},
		{"faults", false, saidBy(r, &s.faults, r.drill)},
	}, more...), check{"says nothing", func() bool { return len(n.entries) == 0 }})
}

func (r *reader) retries(n *node, path string) *RetryRules {
	g := &RetryRules{Attempts: 3, Backoff: 50 * time.Millisecond, Multiplier: 200, Jitter: 100, Codes: codesOf(ResourceExhausted, Unavailable)}
	r.mapping(n, path, []field{
		{"attempts", false, r.whole(&g.Attempts, 1, 10)},
		{"backoff", false, r.duration(&g.Backoff, "1ns", "1h")},
		{"max_backoff", false, r.duration(&g.MaxBackoff, "1ns", "1h")},
		{"multiplier", false, r.whole(&g.Multiplier, 100, 1000)},
		{"jitter", false, r.whole(&g.Jitter, 0, 100)},
		{"codes", false, r.codes(&g.Codes)},
	}, check{"backoff-above-max: backoff is above max_backoff", func() bool { return g.MaxBackoff > 0 && g.Backoff > g.MaxBackoff }})
	if g.MaxBackoff == 0 {
		g.MaxBackoff = max(time.Second, g.Backoff)
	}
	return g
}

func (r *reader) hedging(n *node, path string) *HedgeRules {
	g := &HedgeRules{Attempts: 2, Stop: codesOf(3, 5, 6, 7, 9, 11, 12, 16)}
	r.mapping(n, path, []field{
		{"delay", true, r.duration(&g.Delay, "1ns", "1h")},
		{"attempts", false, r.whole(&g.Attempts, 2, 5)},
		{"stop", false, r.codes(&g.Stop)},
	})
	return g
}

// trip has the fields and checks that breakers and outliers share.
func (r *reader) trip(n *node, t *TripRules) ([]field, []check) {
	*t = TripRules{Calls: 20, Window: 10 * time.Second, Codes: codesOf(Unknown, DeadlineExceeded, ResourceExhausted, 13, Unavailable)}
	fields := []field{
		{"consecutive", false, r.whole(&t.Consecutive, 1, 1_000_000)},
		{"percent", false, r.whole(&t.Percent, 1, 100)},
		{"calls", false, r.whole(&t.Calls, 1, 1_000_000)},
		{"window", false, r.duration(&t.Window, "1s", "1h")},
		{"codes", false, r.codes(&t.Codes)},
	}
	checks := []check{
		{"trigger-missing: want consecutive or percent", func() bool { return t.Consecutive == 0 && t.Percent == 0 }},
		{"percent-missing: calls and window want percent", func() bool { return t.Percent == 0 && (n.has("calls") || n.has("window")) }},
	}
	return fields, checks
}

func (r *reader) breaker(n *node, path string) *BreakerRules {
	g := &BreakerRules{Open: 5 * time.Second, Probes: 1}
	fields, checks := r.trip(n, &g.TripRules)
	r.mapping(n, path, append(
		fields,
		field{"open", false, r.duration(&g.Open, "1ms", "1h")},
		field{"probes", false, r.whole(&g.Probes, 1, 100)},
	), checks...)
	return g
}

func (r *reader) outliers(n *node, path string) *OutlierRules {
	g := &OutlierRules{Eject: 30 * time.Second, Cap: 10}
	fields, checks := r.trip(n, &g.TripRules)
	r.mapping(n, path, append(
		fields,
		field{"eject", false, r.duration(&g.Eject, "1ms", "1h")},
		field{"max_eject", false, r.duration(&g.MaxEject, "1ms", "24h")},
		field{"cap", false, r.whole(&g.Cap, 1, 100)},
	), append(checks, check{"eject-above-max: eject is above max_eject", func() bool { return g.MaxEject > 0 && g.Eject > g.MaxEject }})...)
	if g.MaxEject == 0 {
		g.MaxEject = max(5*time.Minute, g.Eject)
	}
	return g
}

var balancers = []string{"first", "round_robin", "least_loaded", "hash"}

func (r *reader) balancer(n *node, path string) *BalancerRules {
	g := &BalancerRules{}
	r.mapping(
		n, path, []field{
			{"name", true, r.word(balancers, func(i int) { g.Name = balancers[i] })},
			{"key", false, func(n *node, path string) {
				if n.kind != kindText || !isWord(n.text, 255, "_.-") {
					r.wants("the key of a metadata entry", n, path)
				}
				g.Key = n.text
			}},
		},
		check{"key-missing: hash wants a key", func() bool { return g.Name == "hash" && g.Key == "" }},
		check{"key-unused: only hash has a key", func() bool { return g.Name != "hash" && g.Key != "" }},
	)
	return g
}

func (r *reader) zones(n *node, path string) *ZoneRules {
	g := &ZoneRules{Healthy: 70}
	r.mapping(n, path, []field{
		{"healthy", false, r.whole(&g.Healthy, 1, 100)},
		{"overflow_calls", false, r.whole(&g.OverflowCalls, 1, 1_000_000)},
	})
	return g
}

// shares reads those of a limit.
func (r *reader) shares(to *Shares) field {
	*to = Shares{100, 100, 100, 50}
	return field{"shares", false, func(n *node, path string) {
		fields := make([]field, len(to))
		for i := range to {
			fields[i] = field{priorityNames[i], false, r.whole(&to[i], 1, 100)}
		}
		r.mapping(n, path, fields, check{"shares-crossed: a lower priority has more", func() bool {
			return to[0] < to[1] || to[1] < to[2] || to[2] < to[3]
		}})
	}}
}

func (r *reader) rate(n *node, path string) *RateRules {
	g := &RateRules{}
	r.mapping(n, path, []field{
		{"per_second", true, r.whole(&g.PerSecond, 1, 1_000_000)},
		{"burst", false, r.whole(&g.Burst, 1, 1_000_000)},
		r.shares(&g.Shares),
	})
	if g.Burst == 0 {
		g.Burst = g.PerSecond
	}
	return g
}

func (r *reader) concurrency(n *node, path string) *ConcurrencyRules {
	g := &ConcurrencyRules{}
	r.mapping(
		n, path, []field{
			{"limit", false, r.whole(&g.Limit, 1, 1_000_000)},
			{"adaptive", false, func(n *node, path string) { g.Adaptive = r.adaptive(n, path) }},
			r.shares(&g.Shares),
		},
		check{"limit-missing: want limit or adaptive", func() bool { return g.Limit == 0 && g.Adaptive == nil }},
		check{"limit-twice: want one of limit and adaptive", func() bool { return g.Limit > 0 && g.Adaptive != nil }},
	)
	return g
}

func (r *reader) adaptive(n *node, path string) *AdaptiveRules {
	g := &AdaptiveRules{Least: 1, Most: 1000, Start: 20, Samples: 20, Window: 100 * time.Millisecond, Tolerance: 150, Remeasure: time.Minute}
	r.mapping(n, path, []field{
		{"least", false, r.whole(&g.Least, 1, 1_000_000)},
		{"most", false, r.whole(&g.Most, 1, 1_000_000)},
		{"start", false, r.whole(&g.Start, 1, 1_000_000)},
		{"samples", false, r.whole(&g.Samples, 1, 10_000)},
		{"window", false, r.duration(&g.Window, "1ms", "1m")},
		{"tolerance", false, r.whole(&g.Tolerance, 100, 1000)},
		{"remeasure", false, r.duration(&g.Remeasure, "1s", "1h")},
	}, check{"bounds-crossed: want least <= start <= most", func() bool { return g.Least > g.Start || g.Start > g.Most }})
	return g
}

const maxDrill = 16

// drill reads the faults of a scope.
func (r *reader) drill(n *node, path string) *[]FaultRules {
	found := []FaultRules{}
	for _, e := range n.entries {
		at := below(path, e.key)
		if !isWord(e.key, 64, "_-") {
			r.fault(e.value.line, at, "not the name of a fault")
			continue
		}
		f := FaultRules{Name: e.key}
		r.mapping(e.value, at, []field{
			{"per_million", true, r.whole(&f.PerMillion, 1, 1_000_000)},
			{"delay", false, r.duration(&f.Delay, "1ns", "1h")},
			{"code", false, r.code(&f.Code)},
		}, check{"fault-empty: want delay or code", func() bool { return f.Delay == 0 && f.Code == OK }})
		found = append(found, f)
	}
	if len(n.entries) > maxDrill {
		r.fault(n.line, path, "has more than %d faults", maxDrill)
	}
	slices.SortFunc(found, func(a, b FaultRules) int { return strings.Compare(a.Name, b.Name) })
	return &found
}

// contradictions looks for what contradicts itself in what holds in a scope (policy.md 5.5).
func (r *reader) contradictions(f *File) {
	var widest []*scope
	if f.defaults != nil {
		widest = []*scope{f.defaults}
		r.contradiction(widest)
	}
	for _, s := range f.services {
		wider := append(slices.Clip(widest), &s.scope)
		r.contradiction(wider)
		for i := range s.methods {
			r.contradiction(append(slices.Clip(wider), &s.methods[i].scope))
		}
	}
}

// contradiction looks at the last scope, what the ones before say being known.
func (r *reader) contradiction(scopes []*scope) {
	s := scopes[len(scopes)-1]
	if s.timeout == 0 && s.idempotent == nil && s.retries == nil && s.hedging == nil {
		return
	}
	if s.retries != nil && s.retries.Rules != nil && s.hedging != nil && s.hedging.Rules != nil {
		r.fault(s.line, s.path, "retries-and-hedging: one scope has both")
	}
	p := effective(scopes)
	if p.Hedging != nil && !p.Idempotent {
		r.fault(s.line, s.path, "hedging-not-idempotent: hedging wants idempotent")
	}
	if p.Timeout > 0 && p.Retries != nil && p.Retries.Attempts > 1 && p.Timeout <= p.Retries.Backoff {
		r.fault(s.line, s.path, "timeout-below-backoff: timeout is not above backoff of retries")
	}
	if p.Timeout > 0 && p.Hedging != nil && p.Timeout <= p.Hedging.Delay {
		r.fault(s.line, s.path, "timeout-below-delay: timeout is not above delay of hedging")
	}
}
