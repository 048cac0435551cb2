package trunkcall

import (
	"context"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Calls under a policy file.

// governedCall is one call under the rules of a policy file.
type governedCall struct {
	rules   *methodRules
	options callOptions    // its own
	retries policy.Retries // unless the call is not retried, or hedged
	tried   attempts
	first   passage       // that of the first attempt, unless the call is hedged
	last    error         // how the last attempt ended; not for calls that are hedged
	entered time.Duration // when it passed the limit of calls at once
	time    time.Duration // what it had when it began, if a breaker or ejection is to know; 0: it has no deadline
	bound   *bounded      // for the next call with a time of its own that uses this, nil: there is none
}

// unbind says that the call is over. What somebody else may still ask is not used again.
func (g *governedCall) unbind() {
	if b := g.options.within; b != nil {
		if g.options.within = nil; !b.end() {
			g.bound = nil
		}
	}
}

var governedCalls = sync.Pool{New: func() any { return &governedCall{} }}

// underPolicy makes a unary or one-way call under its rules.
func (c *route) underPolicy(ctx context.Context, m *Method, request, response any, o *callOptions, g *governedCall) error {
	err := c.enter(ctx, o, g)
	if err != nil {
		return err
	}
	own := &g.options
	left := false
	defer func() {
		if !left { // a codec has panicked
			g.leave(nil)
		}
	}()
	if g.begin(ctx); g.rules.Hedging != nil {
		err = c.hedged(ctx, m, request, response, own)
	} else {
		err = g.tried.after(c.unary(ctx, m, request, response, own))
	}
	left = true
	g.leave(err)
	return err
}

// enter has a call pass what stands before all its attempts: faults for drills and limits. It is made with
// g's own options then.
func (c *route) enter(ctx context.Context, o *callOptions, g *governedCall) error {
	g.rules = o.rules
	if g.rules.breaker != nil || g.rules.outliers != nil {
		if b := o.bound(ctx); b != nil {
			g.time = b.by.had
		} else if deadline, ok := ctx.Deadline(); ok {
			g.time = time.Until(deadline)
		}
	}
	if len(g.rules.Faults) > 0 {
		o.began = 0 // it may wait
		if err := c.injected(ctx, g.rules); err != nil {
			return err
		}
	}
	priority := priorityOf(ctx, o)
	_, why := g.rules.rate.take(priority)
	if why == "" {
		g.entered, why = g.rules.concurrency.enter(priority)
	}
	if why != "" {
		return notSent(Errorf(ResourceExhausted, "%s", why))
	}
	if own := &g.options; own != o {
		*own = *o
	}
	g.options.governed = g
	g.options.metadata, g.options.intercepted = withPriority(o.sent(ctx), priority), true
	return nil
}

// injected does to a call what faults for drills say.
func (c *route) injected(ctx context.Context, rules *methodRules) error {
	fault := policy.Inject(rules.Faults, random)
	if !c.waited(ctx, fault.Delay) {
		if ctx.Err() == nil {
			return c.unreachable(ctx, ErrClientClosed)
		}
		s := StatusOf(ctx.Err())
		if s.Code == DeadlineExceeded {
			s.Message = "the deadline passed while a fault of the policy held the call up: " + rules.method
		}
		return notSent(s.Err())
	}
	if fault.Code != policy.OK {
		return notSent(Errorf(Code(fault.Code), "fault %s of the policy", fault.Name))
	}
	return nil
}

// leave tells the limit of calls at once that the call is over.
func (g *governedCall) leave(err error) {
	if g.rules.concurrency == nil {
		return
	}
	s := StatusOf(err)
	end := wire.Ending{Code: s.Code, Delivery: s.Delivery}
	g.rules.concurrency.leave(g.entered, policy.SampleOf(endOf(&end)))
}

// begin counts the call in the budget; hedging does that by itself.
func (g *governedCall) begin(ctx context.Context) {
	switch {
	case g.rules.Hedging != nil:
	case g.rules.Retries != nil:
		g.rules.repeats.with(func(b *policy.Budget) {
			g.retries = g.rules.Retries.Begin(b, g.rules.Idempotent, elapsedAt(g.options.time()), g.options.deadline(ctx))
		})
	default:
		g.rules.repeats.made(elapsedAt(g.options.time()), 1)
	}
}

// time is when the call began, if that is still the time, else the time.
func (o *callOptions) time() int64 {
	if o.began == 0 {
		return roles.Clock()
	}
	return o.began
}

// deadline is when the context of the call ends, by the clock of elapsed; below 0: never.
func (o *callOptions) deadline(ctx context.Context) time.Duration {
	if b := o.bound(ctx); b != nil {
		return elapsedAt(b.deadline)
	}
	return deadlineOf(ctx)
}

// deadlineOf is when the context ends, by the clock of elapsed; below 0: never.
func deadlineOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(0, deadline.Sub(origin))
	}
	return -1
}

// attempt begins an attempt, if the breaker allows it.
func (g *governedCall) attempt(now time.Duration) (*passage, error) {
	p := &g.first
	if p.call != nil { // it is not the first
		p = &passage{}
	}
	if err := g.pass(p, now); err != nil {
		if g.last != nil {
			err = g.last
		}
		return nil, err
	}
	g.tried.begin()
	return p, nil
}

// ended tells how an attempt ended, or why it was not made.
func (g *governedCall) ended(err error) {
	g.tried.end(err)
	g.last = err
}

// passage is an attempt that has passed the breaker.
type passage struct {
	call   *governedCall
	number int64         // of the state in which the breaker allowed it
	left   time.Duration // of the call's time, when it was given to its connection
	leaves bool          // the call ends with it: it is a stream's
}

// pass asks the breaker about an attempt.
func (g *governedCall) pass(p *passage, now time.Duration) error {
	p.call = g
	if b := g.rules.breaker; b != nil {
		if p.number = b.ask(now); p.number == 0 {
			return notSent(Errorf(Unavailable, "breaker of %s is open", g.rules.method))
		}
	}
	return nil
}

// unmade tells that the attempt could not be made.
func (p *passage) unmade(err error) {
	if b := p.call.rules.breaker; b != nil {
		b.ended(elapsed(), p.number, policy.Neither)
	}
	if p.leaves {
		p.call.leave(err)
	}
}

// ended tells how the attempt ended, at an endpoint.
func (p *passage) ended(e *wire.Ending, at *EndpointState, now time.Duration) {
	end := endOf(e)
	end.Time, end.Left = p.call.time, p.left
	if b := p.call.rules.breaker; b != nil {
		b.ended(now, p.number, b.rules.Outcome(end))
	}
	if o := p.call.rules.outliers; o != nil && at != nil {
		o.ended(at, end)
	}
	if p.leaves {
		p.call.rules.concurrency.leave(p.call.entered, policy.SampleOf(end).OfStream())
	}
}

// governStream has a stream pass what stands before it, and go on under its rules.
func (c *route) governStream(o *opening) error {
	g := &governedCall{}
	if err := c.enter(o.ctx, o.options, g); err != nil {
		return err
	}
	p := &g.first
	if err := g.pass(p, elapsed()); err != nil {
		g.leave(err)
		return err
	}
	p.leaves = true
	o.options, o.out.Metadata, o.passage = &g.options, g.options.metadata, p
	g.rules.repeats.made(elapsed(), 1)
	return nil
}

// retried reports whether a call whose attempt has failed is made again, and waits until then.
func (c *route) retried(ctx context.Context, t *Method, e *wire.Ending, g *governedCall, first bool) bool {
	if g.rules.Retries == nil {
		return first && !g.rules.Once && repeatable(e) && c.pauseBefore(ctx, t, e)
	}
	end := c.ending(ctx, e)
	var pause time.Duration
	var final string
	g.rules.repeats.with(func(*policy.Budget) { pause, final = g.retries.Ended(elapsed(), end, random) })
	return final == "" && c.waited(ctx, pause)
}

// ending is how an attempt ended, as the cores know it.
func (c *route) ending(ctx context.Context, e *wire.Ending) policy.Ended {
	end := endOf(e)
	end.Lost = end.Delivery == policy.NotSent && c.via == nil && ctx.Err() == nil
	end.Elsewhere = c.via == nil && c.severalConnections()
	return end
}

// waited waits for a time, and reports whether neither the call nor the client has ended by then.
func (c *calling) waited(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		case <-c.done.Done():
		}
	}
	return ctx.Err() == nil && c.done.Err() == nil
}
