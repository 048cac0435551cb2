package policy

import "time"

// Budget bounds all repetitions and hedges of a client (policy.md 8.1).
type Budget struct {
	rules           BudgetRules
	clock           clock
	calls, repeated window
}

const budgetWindow = 10 * time.Second

// NewBudget makes a budget of which nothing is used.
func NewBudget(rules BudgetRules) *Budget {
	return &Budget{rules: rules, calls: newWindow(budgetWindow), repeated: newWindow(budgetWindow)}
}

// Made counts calls.
func (b *Budget) Made(now time.Duration, calls int64) { b.calls.add(b.clock.at(now), calls) }

// Take reports whether one more attempt is allowed, and counts it.
func (b *Budget) Take(now time.Duration) bool {
	now = b.clock.at(now)
	seconds := int64(budgetWindow / time.Second)
	if b.repeated.sum(now) >= max(seconds*b.rules.Least, b.calls.sum(now)*b.rules.Percent/100) {
		return false
	}
	b.repeated.add(now, 1)
	return true
}

// Delivery is what is known of whether a call ran (status.md 2). A greater one promises more.
type Delivery int

// The deliveries.
const (
	Executed        Delivery = -1
	DeliveryUnknown Delivery = 0
	Refused         Delivery = 1
	NotSent         Delivery = 2
)

// Ended is how an attempt ended.
type Ended struct {
	Code       Code
	Delivery   Delivery
	RetryAfter time.Duration // of one that was refused
	Lost       bool          // the connection ended before a byte of the call was passed on
	Elsewhere  bool          // another connection or endpoint can take the call
	Time       time.Duration // what its call had when it began; 0: it has no deadline
	Left       time.Duration // what was left of that when the attempt was given to its connection
}

// late reports whether it ran out of time after its call had spent most of that on this side (policy.md 10).
func (e *Ended) late() bool { return e.Code == DeadlineExceeded && e.Left < e.Time-e.Left }

// forever is the deadline of a call that has none.
const forever = time.Duration(1<<63 - 1)

// Retries decides about the attempts of one call (policy.md 8).
type Retries struct {
	rules      *RetryRules
	idempotent bool
	budget     *Budget
	deadline   time.Duration
	attempts   int64
	step       time.Duration
	clock      clock
}

// Begin begins a call: its first attempt is made. A deadline below 0 is none.
func (r *RetryRules) Begin(budget *Budget, idempotent bool, now, deadline time.Duration) Retries {
	if deadline < 0 {
		deadline = forever
	}
	budget.Made(now, 1)
	return Retries{rules: r, idempotent: idempotent, budget: budget, deadline: deadline, attempts: 1, clock: clock{now}}
}

// Ended decides about the attempt that has ended: why the call ends, or, if that is empty, after
// which pause the next attempt is made. Random is asked at most once.
func (r *Retries) Ended(now time.Duration, e Ended, random Random) (pause time.Duration, end string) {
	now = r.clock.at(now)
	if end = r.final(e); end != "" {
		return 0, end
	}
	first := r.attempts == 1
	atOnce := e.Delivery == NotSent || e.Delivery == Refused && e.Code == Unavailable && e.Elsewhere
	r.climb()
	if !first || !atOnce {
		pause = r.step - part(r.step*time.Duration(r.rules.Jitter)/100, random)
		if e.Delivery == Refused {
			pause = max(pause, e.RetryAfter)
		}
	}
	if now >= r.deadline || pause >= r.deadline-now {
		return 0, "time"
	}
	if !r.budget.Take(now) {
		return 0, "budget"
	}
	r.attempts++
	return pause, ""
}

// final is why no attempt may follow, whatever time and budget allow.
func (r *Retries) final(e Ended) string {
	switch {
	case e.Code == OK:
		return "ok"
	case r.attempts >= r.rules.Attempts:
		return "attempts"
	case e.Delivery == NotSent:
		if !e.Lost {
			return "not_sent"
		}
		return ""
	case e.Delivery == Refused && e.RetryAfter <= 0:
		return "refused"
	case e.Delivery == Executed && !r.idempotent:
		return "executed"
	case e.Delivery == DeliveryUnknown && !r.idempotent:
		return "unknown"
	case !r.rules.Codes.Has(e.Code):
		return "code"
	case e.Delivery == Refused && e.RetryAfter > r.rules.MaxBackoff:
		return "retry_after"
	}
	return ""
}

// climb goes to the pause of the next repetition (policy.md 8.2).
func (r *Retries) climb() {
	if r.step == 0 {
		r.step = r.rules.Backoff
		return
	}
	r.step = min(r.rules.MaxBackoff, r.step*time.Duration(r.rules.Multiplier)/100)
}

// Hedging decides about the attempts of one call that is hedged (policy.md 9). Attempts are
// numbered from 1.
type Hedging struct {
	rules    *HedgeRules
	budget   *Budget
	deadline time.Duration
	next     time.Duration // when the next attempt may start
	over     bool          // no further attempt starts
	started  int
	running  map[int]bool
	least    Delivery // of the attempts that have ended
	last     int      // the attempt that ended last, and how
	lastEnd  Ended
	finished bool
	clock    clock
}

// Hedged is a decision of Hedging.
type Hedged struct {
	Start    int           // an attempt that starts; 0: none
	Look     time.Duration // when to look again; -1: not
	Finish   int           // the attempt that the call ends with; 0: it goes on
	Delivery Delivery      // of a call that is finished
}

// Begin begins a call: its first attempt starts. A deadline below 0 is none.
func (h *HedgeRules) Begin(budget *Budget, now, deadline time.Duration) (*Hedging, Hedged) {
	if deadline < 0 {
		deadline = forever
	}
	budget.Made(now, 1)
	started := &Hedging{
		rules: h, budget: budget, deadline: deadline, next: now + h.Delay, started: 1,
		running: map[int]bool{1: true}, least: NotSent, clock: clock{now},
	}
	return started, Hedged{Start: 1, Look: started.look()}
}

// Look starts an attempt if it is time for one. It finishes the call if none runs and none can start any more.
func (h *Hedging) Look(now time.Duration) Hedged {
	now = h.clock.at(now)
	if h.finished {
		return Hedged{Look: -1}
	}
	return h.goOn(now)
}

// goOn starts an attempt, or finishes the call with the one that ended last if none can come.
func (h *Hedging) goOn(now time.Duration) Hedged {
	start := h.start(now)
	if len(h.running) == 0 && h.look() < 0 {
		return h.finish(h.last, h.lastEnd)
	}
	return Hedged{Start: start, Look: h.look()}
}

// Ended decides when an attempt has ended. What is told of a call that is finished, or of an
// attempt that does not run, changes nothing.
func (h *Hedging) Ended(now time.Duration, attempt int, e Ended) Hedged {
	now = h.clock.at(now)
	if h.finished || !h.running[attempt] {
		return Hedged{Look: h.look()}
	}
	delete(h.running, attempt)
	h.last, h.lastEnd = attempt, e
	h.least = min(h.least, e.Delivery)
	if e.Code == OK || h.rules.Stop.Has(e.Code) {
		return h.finish(attempt, e)
	}
	h.next = now
	switch {
	case e.Delivery == Refused && e.RetryAfter > 0:
		h.next += e.RetryAfter
	case e.Delivery == Refused, e.Delivery == NotSent && !e.Lost:
		h.over = true
	}
	return h.goOn(now)
}

func (h *Hedging) finish(attempt int, e Ended) Hedged {
	h.finished = true
	if e.Code == OK {
		return Hedged{Finish: attempt, Look: -1, Delivery: e.Delivery}
	}
	least := h.least
	if len(h.running) > 0 {
		least = min(least, DeliveryUnknown)
	}
	return Hedged{Finish: attempt, Look: -1, Delivery: least}
}

// start starts an attempt if one may start now.
func (h *Hedging) start(now time.Duration) int {
	if now < h.next || h.look() < 0 {
		return 0
	}
	if now >= h.deadline || !h.budget.Take(now) {
		h.over = true
		return 0
	}
	h.started++
	h.running[h.started] = true
	h.next = now + h.rules.Delay
	return h.started
}

// look is when an attempt can start next; -1 if none can.
func (h *Hedging) look() time.Duration {
	if h.finished || h.over || int64(h.started) >= h.rules.Attempts || h.next >= h.deadline {
		return -1
	}
	return h.next
}
