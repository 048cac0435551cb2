package policy

import "time"

// Outcome is what an end means for a breaker or an endpoint.
type Outcome int

// The outcomes.
const (
	Neither Outcome = iota
	Success
	Failure
)

// Outcome judges how an attempt ended (policy.md 10).
func (t *TripRules) Outcome(e Ended) Outcome {
	switch {
	case e.Delivery == NotSent, e.Code == Cancelled, e.late():
		return Neither
	case t.Codes.Has(e.Code):
		return Failure
	case e.Delivery == Refused && e.RetryAfter == 0:
		return Neither
	}
	return Success
}

// trip counts successes and failures, and says when the failures are too many.
type trip struct {
	rules          *TripRules
	row            int64
	ends, failures window
}

func newTrip(rules *TripRules) trip {
	return trip{rules: rules, ends: newWindow(rules.Window), failures: newWindow(rules.Window)}
}

func (t *trip) clear() {
	t.row = 0
	t.ends.clear()
	t.failures.clear()
}

// ended counts an end and reports whether there are too many failures.
func (t *trip) ended(now time.Duration, outcome Outcome) bool {
	if outcome == Neither {
		return false
	}
	t.ends.add(now, 1)
	if outcome == Success {
		t.row = 0
		return false
	}
	t.failures.add(now, 1)
	t.row++
	if t.rules.Consecutive > 0 && t.row >= t.rules.Consecutive {
		return true
	}
	ends := t.ends.sum(now)
	return t.rules.Percent > 0 && ends >= t.rules.Calls && t.failures.sum(now)*100 >= t.rules.Percent*ends
}

// BreakerState is what a breaker does.
type BreakerState int

// The states of a breaker.
const (
	Closed BreakerState = iota
	Open
	HalfOpen
)

// Breaker decides whether attempts of a method are made (policy.md 10).
type Breaker struct {
	rules     *BreakerRules
	state     BreakerState
	number    int64         // of the state, from 1
	until     time.Duration // the end of Open; of HalfOpen when other probes are allowed
	trip      trip
	probes    int64 // allowed in this state
	successes int64 // of these
	clock     clock
}

// NewBreaker makes a breaker that is closed.
func NewBreaker(rules *BreakerRules) *Breaker {
	return &Breaker{rules: rules, number: 1, trip: newTrip(&rules.TripRules)}
}

// State is what the breaker did at its last event.
func (b *Breaker) State() BreakerState { return b.state }

// Ask reports whether an attempt may be made, and the number to tell its end with; else number is
// 0, and after is the time until it may be asked again.
func (b *Breaker) Ask(now time.Duration) (number int64, after time.Duration) {
	now = b.clock.at(now)
	if b.state == Closed {
		return b.number, 0
	}
	if now >= b.until {
		b.become(HalfOpen, now+b.rules.Open)
	}
	if b.state == HalfOpen && b.probes < b.rules.Probes {
		b.probes++
		return b.number, 0
	}
	return 0, b.until - now
}

// Ended tells how an attempt ended that was allowed with a number. Random is asked if the breaker
// opens.
func (b *Breaker) Ended(now time.Duration, number int64, outcome Outcome, random Random) {
	now = b.clock.at(now)
	if number != b.number {
		return
	}
	switch {
	case b.state == Open: // of which no attempt has the number
	case b.state == Closed:
		if b.trip.ended(now, outcome) {
			b.open(now, random)
		}
	case outcome == Failure:
		b.open(now, random)
	case outcome == Neither:
		b.probes--
	default:
		if b.successes++; b.successes == b.rules.Probes {
			b.become(Closed, 0)
		}
	}
}

func (b *Breaker) open(now time.Duration, random Random) {
	b.become(Open, now+b.rules.Open+part(b.rules.Open/5, random))
}

func (b *Breaker) become(state BreakerState, until time.Duration) {
	b.state, b.until, b.probes, b.successes = state, until, 0, 0
	b.number++
	b.trip.clear()
}

// Outliers decides which endpoints are left out (policy.md 11).
type Outliers struct {
	rules *OutlierRules
	order []*outlier
	byID  map[string]*outlier
	clock clock
}

// outlier is what is known of an endpoint.
type outlier struct {
	id    string
	trip  trip
	until time.Duration // ejected before; 0: never was
	times int64
}

// NewOutliers makes one that knows no endpoint.
func NewOutliers(rules *OutlierRules) *Outliers {
	return &Outliers{rules: rules, byID: map[string]*outlier{}}
}

// Endpoints tells which endpoints there are, by their identities, of which none comes twice.
func (o *Outliers) Endpoints(now time.Duration, ids []string) {
	o.clock.at(now)
	known := o.byID
	o.order, o.byID = make([]*outlier, 0, len(ids)), make(map[string]*outlier, len(ids))
	for _, id := range ids {
		one := known[id]
		if one == nil {
			one = &outlier{id: id, trip: newTrip(&o.rules.TripRules)}
		}
		o.order, o.byID[id] = append(o.order, one), one
	}
}

// Ejected are the endpoints that are left out, in order.
func (o *Outliers) Ejected(now time.Duration) []string {
	now = o.clock.at(now)
	var ids []string
	for _, one := range o.order {
		if now < one.until {
			ids = append(ids, one.id)
		}
	}
	return ids
}

// Ended tells how an attempt at an endpoint ended. If that ejects it, it gives until when, and has
// asked random; else -1.
func (o *Outliers) Ended(now time.Duration, id string, outcome Outcome, random Random) time.Duration {
	now = o.clock.at(now)
	one := o.byID[id]
	if one == nil || now < one.until || !one.trip.ended(now, outcome) {
		return -1
	}
	n, ejected := int64(len(o.order)), int64(len(o.Ejected(now)))
	if ejected >= max(1, n*o.rules.Cap/100) || ejected >= n-1 {
		return -1
	}
	back := time.Duration(0)
	if one.times > 0 {
		back = now - one.until
	}
	one.times = max(0, one.times-int64(back/o.rules.Eject)) + 1
	// More times than this make no difference, and must not overflow.
	lasts := min(o.rules.MaxEject, o.rules.Eject*time.Duration(min(one.times, int64(o.rules.MaxEject/o.rules.Eject)+1)))
	one.until = now + lasts + part(lasts/5, random)
	one.trip.clear()
	return one.until
}
