package main

import (
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

// step is an event of a core. Which fields count depends on the core and the event.
type step struct {
	At     time.Duration `json:"at"`
	Event  string        `json:"event"`
	Random []uint32      `json:"random"`

	Call, Attempt, Ask int
	Calls              int64
	Deadline           *time.Duration
	Code, Delivery     string
	RetryAfter         time.Duration `json:"retry_after"`
	Lost, Elsewhere    bool
	Endpoint           string
	Endpoints          []string
	Priority           string
	Took, Time, Left   time.Duration
	Total, Available   int64
	Others             int64

	number, drawn int
}

// random draws the numbers of the step; more than there are is a panic, which ends the program.
func (s *step) random() uint32 {
	s.drawn++
	return s.Random[s.drawn-1]
}

func (s *step) deadline() time.Duration {
	if s.Deadline == nil {
		return -1
	}
	return *s.Deadline
}

var deliveries = map[string]policy.Delivery{
	"executed": policy.Executed, "unknown": policy.DeliveryUnknown, "refused": policy.Refused, "not_sent": policy.NotSent,
}

func (s *step) ended() policy.Ended {
	e := policy.Ended{Delivery: deliveries[s.Delivery], RetryAfter: s.RetryAfter, Lost: s.Lost, Elsewhere: s.Elsewhere, Time: s.Time, Left: s.Left}
	for c := policy.OK; c <= 16; c++ {
		if c.String() == s.Code {
			e.Code = c
		}
	}
	return e
}

// cores begin each core, and give what carries out its steps: nil for an event that it does not have.
var cores = map[string]func(*policy.File, *policy.Policy) func(*step) told{
	"retries":     playRetries,
	"hedging":     playHedging,
	"breaker":     playBreaker,
	"outliers":    playOutliers,
	"rate":        playRate,
	"concurrency": playConcurrency,
	"zones":       playZones,
	"faults":      playFaults,
}

func budgetStep(b *policy.Budget, s *step) told {
	switch s.Event {
	case "made":
		b.Made(s.At, s.Calls)
		return told{}
	case "take":
		return told{"allowed": b.Take(s.At)}
	}
	return nil
}

func playRetries(f *policy.File, p *policy.Policy) func(*step) told {
	budget, calls := policy.NewBudget(f.Budget), map[int]*policy.Retries{}
	return func(s *step) told {
		switch s.Event {
		case "begin":
			begun := p.Retries.Begin(budget, p.Idempotent, s.At, s.deadline())
			calls[s.Call] = &begun
			return told{}
		case "ended":
			pause, end := calls[s.Call].Ended(s.At, s.ended(), s.random)
			if end != "" {
				return told{"end": end}
			}
			return told{"retry": pause}
		}
		return budgetStep(budget, s)
	}
}

func playHedging(f *policy.File, p *policy.Policy) func(*step) told {
	budget, calls := policy.NewBudget(f.Budget), map[int]*policy.Hedging{}
	return func(s *step) told {
		switch s.Event {
		case "begin":
			call, decision := p.Hedging.Begin(budget, s.At, s.deadline())
			calls[s.Call] = call
			return tellHedged(decision)
		case "look":
			return tellHedged(calls[s.Call].Look(s.At))
		case "ended":
			return tellHedged(calls[s.Call].Ended(s.At, s.Attempt, s.ended()))
		}
		return budgetStep(budget, s)
	}
}

func tellHedged(h policy.Hedged) told {
	t := told{}
	if h.Start > 0 {
		t["start"] = h.Start
	}
	if h.Look >= 0 {
		t["look"] = h.Look
	}
	if h.Finish > 0 {
		t["finish"] = h.Finish
		for name, delivery := range deliveries {
			if delivery == h.Delivery {
				t["delivery"] = name
			}
		}
	}
	return t
}

func playBreaker(_ *policy.File, p *policy.Policy) func(*step) told {
	breaker, numbers := policy.NewBreaker(p.Breaker), map[int]int64{}
	states := []string{policy.Closed: "closed", policy.Open: "open", policy.HalfOpen: "half_open"}
	return func(s *step) told {
		t := told{}
		switch s.Event {
		case "ask":
			number, after := breaker.Ask(s.At)
			if number > 0 {
				t["number"] = number
				numbers[s.number] = number
			} else {
				t["after"] = after
			}
		case "ended":
			breaker.Ended(s.At, numbers[s.Ask], p.Breaker.Outcome(s.ended()), s.random)
		default:
			return nil
		}
		t["state"] = states[breaker.State()]
		return t
	}
}

func playOutliers(_ *policy.File, p *policy.Policy) func(*step) told {
	rules := p.Outliers.Rules
	outliers := policy.NewOutliers(rules)
	return func(s *step) told {
		switch s.Event {
		case "endpoints":
			outliers.Endpoints(s.At, s.Endpoints)
			return told{}
		case "ended":
			if until := outliers.Ended(s.At, s.Endpoint, rules.Outcome(s.ended()), s.random); until >= 0 {
				return told{"until": until}
			}
			return told{}
		case "ejected":
			return told{"ejected": append([]string{}, outliers.Ejected(s.At)...)}
		}
		return nil
	}
}

func playRate(_ *policy.File, p *policy.Policy) func(*step) told {
	rate := policy.NewRate(p.Rate.Rules)
	return func(s *step) told {
		if s.Event != "take" {
			return nil
		}
		allowed, after := rate.Take(s.At, policy.PriorityOf(s.Priority))
		if allowed {
			return told{"allowed": true}
		}
		return told{"allowed": false, "after": after}
	}
}

func playConcurrency(_ *policy.File, p *policy.Policy) func(*step) told {
	concurrency, running := policy.NewConcurrency(p.Concurrency.Rules), 0
	return func(s *step) told {
		switch s.Event {
		case "enter":
			allowed := concurrency.Enter(s.At, policy.PriorityOf(s.Priority))
			if allowed {
				running++
			}
			return told{"allowed": allowed}
		case "leave":
			if running > 0 { // else nobody is there to leave
				running--
				concurrency.Leave(s.At, s.Took, policy.SampleOf(s.ended()), s.random)
			}
			return told{"limit": concurrency.Limit()}
		}
		return nil
	}
}

func playZones(_ *policy.File, p *policy.Policy) func(*step) told {
	places := []string{policy.AllZones: "all", policy.OwnZone: "own", policy.OtherZones: "others"}
	return func(s *step) told {
		if s.Event != "pick" {
			return nil
		}
		return told{"place": places[p.Zones.Pick(policy.Zoned{Total: s.Total, Available: s.Available, Calls: s.Calls, Others: s.Others}, s.random)]}
	}
}

func playFaults(_ *policy.File, p *policy.Policy) func(*step) told {
	return func(s *step) told {
		if s.Event != "draw" {
			return nil
		}
		injected := policy.Inject(p.Faults, s.random)
		t := told{"delay": injected.Delay}
		if injected.Code != policy.OK {
			t["code"], t["name"] = injected.Code.String(), injected.Name
		}
		return t
	}
}
