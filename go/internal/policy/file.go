package policy

import (
	"slices"
	"time"
)

// Code is a status code by its number (status.md 1).
type Code int

// The codes that this package knows by themselves.
const (
	OK                Code = 0
	Cancelled         Code = 1
	Unknown           Code = 2
	DeadlineExceeded  Code = 4
	ResourceExhausted Code = 8
	Unavailable       Code = 14
)

// codeNames are the names of the codes in files, by number.
var codeNames = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
	"PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
	"INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
}

func (c Code) String() string { return codeNames[c] }

// Codes is a set of codes: bit n is code n.
type Codes uint32

func codesOf(codes ...Code) Codes {
	var s Codes
	for _, c := range codes {
		s |= 1 << c
	}
	return s
}

// Has reports whether a code is in the set.
func (s Codes) Has(c Code) bool { return c >= 0 && c < 32 && s>>c&1 == 1 }

// Priority is how much a call matters, the highest first (policy.md 7).
type Priority int

// The priorities.
const (
	Critical Priority = iota
	High
	Normal
	Low
)

var priorityNames = [...]string{"critical", "high", "normal", "low"}

func (p Priority) String() string { return priorityNames[p] }

// PriorityOf is the priority of a name; Normal of any other text.
func PriorityOf(name string) Priority {
	for p, known := range priorityNames {
		if name == known {
			return Priority(p)
		}
	}
	return Normal
}

// Shares are what calls of each priority may fill of a limit, in percent.
type Shares [4]int64

// of is the part of a limit that a priority may fill.
func (s *Shares) of(limit int64, p Priority) int64 { return max(1, limit*s[p]/100) }

// The groups of a file (policy.md 3.3). Numbers that are 0 and durations that are 0 were not said
// where the table has no default.
type (
	// BudgetRules bound all repetitions and hedges of a client.
	BudgetRules struct{ Percent, Least int64 }

	// RetryRules are those of retries.
	RetryRules struct {
		Attempts            int64
		Backoff, MaxBackoff time.Duration
		Multiplier, Jitter  int64 // percent
		Codes               Codes
	}

	// HedgeRules are those of hedging.
	HedgeRules struct {
		Delay    time.Duration
		Attempts int64
		Stop     Codes
	}

	// TripRules say when failures are too many.
	TripRules struct {
		Consecutive, Percent, Calls int64
		Window                      time.Duration
		Codes                       Codes
	}

	// BreakerRules are those of a breaker.
	BreakerRules struct {
		TripRules
		Open   time.Duration
		Probes int64
	}

	// OutlierRules are those of outlier ejection.
	OutlierRules struct {
		TripRules
		Eject, MaxEject time.Duration
		Cap             int64 // percent
	}

	// BalancerRules name a balancer and its key.
	BalancerRules struct{ Name, Key string }

	// ZoneRules are those of zone preference.
	ZoneRules struct{ Healthy, OverflowCalls int64 }

	// RateRules are those of a rate.
	RateRules struct {
		PerSecond, Burst int64
		Shares           Shares
	}

	// ConcurrencyRules are those of calls at once: Limit, or Adaptive.
	ConcurrencyRules struct {
		Limit    int64
		Adaptive *AdaptiveRules
		Shares   Shares
	}

	// AdaptiveRules are those of a limit that follows latency.
	AdaptiveRules struct {
		Least, Most, Start, Samples int64
		Window, Remeasure           time.Duration
		Tolerance                   int64 // percent
	}

	// FaultRules are those of a fault for drills. Code is OK where it has none.
	FaultRules struct {
		Name       string
		PerMillion int64
		Delay      time.Duration
		Code       Code
	}
)

// Said is a group that a scope says. Rules is nil where it says none.
type Said[G any] struct{ Rules *G }

// scope is what a scope says: nil is nothing.
type scope struct {
	line              int
	ofMethod          bool
	path              string
	timeout           time.Duration // 0: nothing
	waits, idempotent *bool
	priority          *Priority
	retries           *Said[RetryRules]
	hedging           *Said[HedgeRules]
	breaker           *Said[BreakerRules]
	outliers          *Said[OutlierRules]
	balancer          *Said[BalancerRules]
	zones             *Said[ZoneRules]
	rate              *Said[RateRules]
	concurrency       *Said[ConcurrencyRules]
	serverRate        *Said[RateRules]
	serverConcurrency *Said[ConcurrencyRules]
	faults            *Said[[]FaultRules] // by name
}

type service struct {
	scope
	name    string
	methods []method
}

type method struct {
	scope
	name string
}

// File is a policy file. It does not change.
type File struct {
	Budget   BudgetRules
	defaults *scope
	services []*service
}

// Parse reads a policy file in JSON or YAML. The error is a *BadFile.
func Parse(data []byte) (*File, error) {
	root, refused := read(data)
	if refused != nil {
		return nil, refused
	}
	r := &reader{}
	f := r.file(root)
	if r.count == 0 {
		r.contradictions(f)
	}
	if r.count > 0 {
		return nil, &BadFile{r.faults}
	}
	return f, nil
}

// Scoped is a group whose state the methods of a scope share. Rules is nil where none holds.
type Scoped[G any] struct {
	Rules *G
	Scope string // the path of the scope that says it
}

// Policy is what holds for a method (policy.md 4). Pointers are nil where nothing holds.
type Policy struct {
	Timeout           time.Duration // 0: none
	StreamTimeout     time.Duration // of a streaming method; 0: none
	WaitForReady      *bool
	Idempotent        bool
	Priority          *Priority
	Once              bool // by retries: none
	Retries           *RetryRules
	Hedging           *HedgeRules
	Breaker           *BreakerRules
	Outliers          Scoped[OutlierRules]
	Balancer          *BalancerRules
	Zones             *ZoneRules
	Rate              Scoped[RateRules]
	Concurrency       Scoped[ConcurrencyRules]
	ServerRate        Scoped[RateRules]
	ServerConcurrency Scoped[ConcurrencyRules]
	Faults            []FaultRules
}

// For gives what holds for a method.
func (f *File) For(serviceName, methodName string) *Policy {
	return effective(f.scopes(serviceName, methodName))
}

// Each visits the scopes of the file in its order, defaults first, with what holds in each.
func (f *File) Each(visit func(line int, path string, p *Policy)) {
	var widest []*scope
	if f.defaults != nil {
		widest = []*scope{f.defaults}
		visit(f.defaults.line, f.defaults.path, effective(widest))
	}
	for _, s := range f.services {
		wider := append(slices.Clip(widest), &s.scope)
		visit(s.line, s.path, effective(wider))
		for i := range s.methods {
			m := &s.methods[i].scope
			visit(m.line, m.path, effective(append(slices.Clip(wider), m)))
		}
	}
}

// scopes are those of a method, the widest first.
func (f *File) scopes(serviceName, methodName string) []*scope {
	var found []*scope
	if f.defaults != nil {
		found = append(found, f.defaults)
	}
	for _, s := range f.services {
		if s.name != serviceName {
			continue
		}
		found = append(found, &s.scope)
		for i := range s.methods {
			if s.methods[i].name == methodName {
				found = append(found, &s.methods[i].scope)
			}
		}
	}
	return found
}

// effective merges scopes, the widest first.
func effective(scopes []*scope) *Policy {
	p := &Policy{}
	retriesAt, hedgingAt := 0, 0
	for i, s := range scopes {
		if s.timeout > 0 {
			p.Timeout = s.timeout
		}
		if s.waits != nil {
			p.WaitForReady = s.waits
		}
		if s.idempotent != nil {
			p.Idempotent = *s.idempotent
		}
		if s.priority != nil {
			p.Priority = s.priority
		}
		if s.retries != nil {
			p.Retries, p.Once, retriesAt = s.retries.Rules, s.retries.Rules == nil, i
		}
		if s.hedging != nil {
			p.Hedging, hedgingAt = s.hedging.Rules, i
		}
		taken(&p.Breaker, s.breaker)
		taken(&p.Balancer, s.balancer)
		taken(&p.Zones, s.zones)
		shared(&p.Outliers, s.outliers, s.path)
		shared(&p.Rate, s.rate, s.path)
		shared(&p.Concurrency, s.concurrency, s.path)
		shared(&p.ServerRate, s.serverRate, s.path)
		shared(&p.ServerConcurrency, s.serverConcurrency, s.path)
		if s.faults != nil {
			p.Faults = nil
			if s.faults.Rules != nil {
				p.Faults = *s.faults.Rules
			}
		}
	}
	if n := len(scopes); n > 0 && scopes[n-1].ofMethod {
		p.StreamTimeout = scopes[n-1].timeout
	}
	switch {
	case p.Retries == nil || p.Hedging == nil:
	case retriesAt > hedgingAt:
		p.Hedging = nil
	case hedgingAt > retriesAt:
		p.Retries = nil
	}
	return p
}

func taken[G any](to **G, said *Said[G]) {
	if said != nil {
		*to = said.Rules
	}
}

func shared[G any](to *Scoped[G], said *Said[G], path string) {
	switch {
	case said == nil:
	case said.Rules == nil:
		*to = Scoped[G]{}
	default:
		*to = Scoped[G]{said.Rules, path}
	}
}
