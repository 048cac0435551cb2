package policy

import (
	"math/rand/v2"
	"testing"
	"time"
)

// Laws of the cores that hold whatever happens. Where the cases of spec/vectors/policy show single
// steps, these play many.

func seeded(t *testing.T, plays int, play func(r *rand.Rand)) {
	t.Helper()
	for seed := range plays {
		play(rand.New(rand.NewPCG(uint64(seed), 1)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// endings are ways in which an attempt ends.
var endings = []Ended{
	{Code: OK, Delivery: Executed}, {Code: Unavailable}, {Code: 5, Delivery: Executed}, {Code: Unavailable, Delivery: NotSent, Lost: true},
	{Code: ResourceExhausted, Delivery: Refused, RetryAfter: time.Millisecond}, {Code: Cancelled}, {Code: Unavailable, Delivery: Refused},
}

func TestABudgetBoundsRetriesAndHedges(t *testing.T) {
	seeded(t, 100, func(r *rand.Rand) {
		rules := BudgetRules{Percent: r.Int64N(101), Least: r.Int64N(3)}
		budget := NewBudget(rules)
		retries := &RetryRules{Attempts: 10, Backoff: 1, MaxBackoff: 1, Multiplier: 100, Codes: 1<<17 - 1}
		hedges := &HedgeRules{Delay: time.Millisecond, Attempts: 5, Stop: codesOf(5)}
		calls, repeated, now := int64(0), int64(0), time.Duration(0)
		for range 300 {
			calls++
			if r.IntN(2) == 0 {
				call := retries.Begin(budget, true, now, -1)
				for attempts := 1; ; attempts++ {
					if attempts > 10 {
						t.Errorf("attempt %d", attempts)
					}
					if _, end := call.Ended(now, endings[r.IntN(len(endings))], r.Uint32); end != "" {
						break
					}
					repeated++
				}
			} else {
				call, _ := hedges.Begin(budget, now, -1)
				for range 10 {
					now += time.Duration(r.Int64N(int64(time.Millisecond)))
					if decision := call.Look(now); decision.Start > 0 {
						repeated++
					}
				}
			}
		}
		// All of it in one window: 3,000 ms at most.
		if repeated > max(10*rules.Least, calls*rules.Percent/100) {
			t.Errorf("%d repetitions of %d calls: %+v", repeated, calls, rules)
		}
	})
}

func TestAHedgedCallEndsOnce(t *testing.T) {
	seeded(t, 300, func(r *rand.Rand) {
		rules := &HedgeRules{Delay: time.Duration(1 + r.Int64N(20)), Attempts: 2 + r.Int64N(4), Stop: codesOf(5)}
		deadline := time.Duration(r.Int64N(100)) - 1
		call, decision := rules.Begin(NewBudget(BudgetRules{Percent: 100, Least: r.Int64N(2)}), 0, deadline)
		running, finished, now := map[int]bool{1: true}, 0, time.Duration(0)
		for len(running) > 0 || decision.Look >= 0 && finished == 0 {
			now++
			attempt := 1 + r.IntN(5)
			if len(running) == 0 {
				now = max(now, decision.Look)
			}
			if running[attempt] && r.IntN(3) == 0 {
				delete(running, attempt)
				decision = call.Ended(now, attempt, endings[r.IntN(len(endings))])
			} else {
				decision = call.Look(now)
			}
			if decision.Start > 0 {
				if deadline >= 0 && now >= deadline || finished > 0 {
					t.Errorf("attempt %d starts at %d, finished: %d, the deadline is %d", decision.Start, now, finished, deadline)
				}
				running[decision.Start] = true
			}
			if decision.Finish > 0 {
				finished++
			}
		}
		if finished != 1 {
			t.Errorf("it finished %d times", finished)
		}
	})
}

func TestABreakerAlwaysLetsSomebodyTry(t *testing.T) {
	seeded(t, 200, func(r *rand.Rand) {
		b := NewBreaker(&BreakerRules{
			TripRules: TripRules{Consecutive: 1 + r.Int64N(5), Percent: r.Int64N(101), Calls: 5, Window: time.Second, Codes: codesOf(Unavailable)},
			Open:      time.Duration(1 + r.Int64N(int64(time.Minute))), Probes: 1 + r.Int64N(3),
		})
		now := time.Duration(0)
		probes := map[int64]int64{} // by the number of a state that is half open, less those that said nothing
		var numbers []int64
		for range 500 {
			number, after := b.Ask(now)
			switch {
			case number == 0 && (after <= 0 || after > b.rules.Open+b.rules.Open/5):
				t.Errorf("refused for %v", after)
			case number == 0:
				now += after
				if number, _ = b.Ask(now); number == 0 {
					t.Errorf("refused again after %v", after)
				}
			}
			if b.State() == HalfOpen {
				if probes[number]++; probes[number] > b.rules.Probes {
					t.Errorf("%d probes", probes[number])
				}
			}
			if r.IntN(4) > 0 { // some ends are never told
				numbers = append(numbers, number)
			}
			if len(numbers) > 0 && r.IntN(2) == 0 {
				outcome := Outcome(r.IntN(3))
				if outcome == Neither {
					probes[numbers[0]]--
				}
				b.Ended(now, numbers[0], outcome, r.Uint32)
				numbers = numbers[1:]
			}
		}
	})
}

func TestOutliersStayBelowTheirCap(t *testing.T) {
	seeded(t, 200, func(r *rand.Rand) {
		o := NewOutliers(&OutlierRules{
			TripRules: TripRules{Consecutive: 1 + r.Int64N(3), Window: time.Second, Codes: codesOf(Unavailable)},
			Eject:     time.Second, MaxEject: 24 * time.Hour, Cap: 1 + r.Int64N(100),
		})
		ids := []string{"a", "b", "c", "d", "e", "f"}[:1+r.IntN(6)]
		o.Endpoints(0, ids)
		now := time.Duration(0)
		for range 1000 {
			now += time.Duration(r.Int64N(int64(time.Second)))
			until := o.Ended(now, ids[r.IntN(len(ids))], Outcome(r.IntN(3)), r.Uint32)
			if until >= 0 && (until < now+time.Second || until > now+24*time.Hour*6/5) {
				t.Errorf("ejected at %v until %v", now, until)
			}
			n := len(ids)
			if ejected := len(o.Ejected(now)); ejected > max(1, n*int(o.rules.Cap)/100) || ejected >= n {
				t.Errorf("%d of %d are ejected", ejected, n)
			}
		}
	})
}

func TestARateIsKept(t *testing.T) {
	seeded(t, 200, func(r *rand.Rand) {
		rules := &RateRules{PerSecond: 1 + r.Int64N(1_000_000), Burst: 1 + r.Int64N(1000), Shares: Shares{100, 100, 100, 50}}
		rate := NewRate(rules)
		now, taken := time.Duration(0), int64(0)
		for range 2000 {
			allowed, after := rate.Take(now, Priority(r.IntN(4)))
			if allowed {
				taken++
			} else if after <= 0 {
				t.Errorf("refused for %v", after)
			}
			now += time.Duration(r.Int64N(2*billion) / rules.PerSecond)
			if most := rules.Burst + int64(now)/(billion/rules.PerSecond) + 1; taken > most {
				t.Errorf("%d calls in %v, want at most %d", taken, now, most)
			}
		}
	})
}

func TestAnAdaptiveLimitFindsWhatAServerCanDo(t *testing.T) {
	// A server works on so many calls at a time, for 10 ms on each. Others wait in its queue.
	const workers, work = 8, 10 * time.Millisecond
	c := NewConcurrency(&ConcurrencyRules{
		Shares:   Shares{100, 100, 100, 50},
		Adaptive: &AdaptiveRules{Least: 1, Most: 1000, Start: 20, Samples: 20, Window: 100 * time.Millisecond, Remeasure: 10 * time.Second, Tolerance: 150},
	})
	r := rand.New(rand.NewPCG(1, 1))
	type call struct{ began, ends time.Duration }
	var running []call
	free := [workers]time.Duration{}
	worst := 0
	for now := time.Duration(0); now < 120*time.Second; now += time.Millisecond {
		for len(running) > 0 && running[0].ends <= now {
			c.Leave(now, now-running[0].began, Measured, r.Uint32)
			running = running[1:]
		}
		for c.Enter(now, Normal) { // there are always more callers
			first := 0
			for i := range free {
				if free[i] < free[first] {
					first = i
				}
			}
			free[first] = max(free[first], now) + work
			running = append(running, call{now, free[first]})
		}
		if now > 30*time.Second {
			worst = max(worst, len(running))
		}
	}
	if worst < workers || worst > 5*workers {
		t.Errorf("%d calls at once, of which %d can run", worst, workers)
	}
}
