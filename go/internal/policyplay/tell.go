package main

import "github.com/trunkcall/trunkcall/go/internal/policy"

// tellPolicy tells what holds for a method as the vectors have it: fields by their names in files,
// durations in nanoseconds.
func tellPolicy(p *policy.Policy) told {
	t := told{}
	if p.Timeout > 0 {
		t["timeout"] = p.Timeout
	}
	if p.StreamTimeout > 0 {
		t["stream_timeout"] = p.StreamTimeout
	}
	if p.WaitForReady != nil {
		t["wait_for_ready"] = *p.WaitForReady
	}
	if p.Idempotent {
		t["idempotent"] = true
	}
	if p.Priority != nil {
		t["priority"] = p.Priority.String()
	}
	if p.Once {
		t["retries"] = "none"
	}
	if r := p.Retries; r != nil {
		t["retries"] = told{
			"attempts": r.Attempts, "backoff": r.Backoff, "max_backoff": r.MaxBackoff,
			"multiplier": r.Multiplier, "jitter": r.Jitter, "codes": names(r.Codes),
		}
	}
	if h := p.Hedging; h != nil {
		t["hedging"] = told{"delay": h.Delay, "attempts": h.Attempts, "stop": names(h.Stop)}
	}
	if b := p.Breaker; b != nil {
		t["breaker"] = tellTrip(&b.TripRules, told{"open": b.Open, "probes": b.Probes})
	}
	if o := p.Outliers; o.Rules != nil {
		t["outliers"] = tellTrip(&o.Rules.TripRules, told{
			"scope": o.Scope, "eject": o.Rules.Eject, "max_eject": o.Rules.MaxEject, "cap": o.Rules.Cap,
		})
	}
	if b := p.Balancer; b != nil {
		t["balancer"] = told{"name": b.Name, "key": b.Key}
	}
	if z := p.Zones; z != nil {
		t["zones"] = told{"healthy": z.Healthy, "overflow_calls": z.OverflowCalls}
	}
	tellLimits(p, t)
	if p.Faults != nil {
		faults := []told{}
		for _, f := range p.Faults {
			faults = append(faults, told{"name": f.Name, "per_million": f.PerMillion, "delay": f.Delay, "code": f.Code.String()})
		}
		t["faults"] = faults
	}
	return t
}

func tellTrip(r *policy.TripRules, t told) told {
	t["codes"] = names(r.Codes)
	if r.Consecutive > 0 {
		t["consecutive"] = r.Consecutive
	}
	if r.Percent > 0 {
		t["percent"], t["calls"], t["window"] = r.Percent, r.Calls, r.Window
	}
	return t
}

func tellLimits(p *policy.Policy, t told) {
	for name, rate := range map[string]policy.Scoped[policy.RateRules]{"rate": p.Rate, "server_rate": p.ServerRate} {
		if r := rate.Rules; r != nil {
			t[name] = told{"scope": rate.Scope, "per_second": r.PerSecond, "burst": r.Burst, "shares": tellShares(r.Shares)}
		}
	}
	for name, at := range map[string]policy.Scoped[policy.ConcurrencyRules]{
		"concurrency": p.Concurrency, "server_concurrency": p.ServerConcurrency,
	} {
		r := at.Rules
		if r == nil {
			continue
		}
		one := told{"scope": at.Scope, "shares": tellShares(r.Shares)}
		if a := r.Adaptive; a != nil {
			one["adaptive"] = told{
				"least": a.Least, "most": a.Most, "start": a.Start, "samples": a.Samples,
				"window": a.Window, "tolerance": a.Tolerance, "remeasure": a.Remeasure,
			}
		} else {
			one["limit"] = r.Limit
		}
		t[name] = one
	}
}

func tellShares(s policy.Shares) told {
	t := told{}
	for p, share := range s {
		t[policy.Priority(p).String()] = share
	}
	return t
}

func names(codes policy.Codes) []string {
	var told []string
	for c := policy.OK; c <= 16; c++ {
		if codes.Has(c) {
			told = append(told, c.String())
		}
	}
	return told
}
