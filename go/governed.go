package trunkcall

import (
	"context"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Calls under a policy file.

// governedCall is one call under the rules of a policy file. Attempts of a call that is hedged run at once, so it
// is only read while they do, apart from tried.
type governedCall struct {
	rules   *methodRules
	retries *policy.Retries // nil: the call is not retried, or hedged
	tried   attempts
	last    error // how the last attempt ended
}

// clientLacks are the parts of a policy file that a client cannot do.
func clientLacks(p *policy.Policy) (parts []string) {
	for _, one := range []struct {
		name string
		said bool
	}{
		{"priority", p.Priority != nil},
		{"hedging", p.Hedging != nil},
		{"breaker", p.Breaker != nil},
		{"outliers", p.Outliers.Rules != nil},
		{"balancer", p.Balancer != nil},
		{"zones", p.Zones != nil},
		{"rate", p.Rate.Rules != nil},
		{"concurrency", p.Concurrency.Rules != nil},
		{"faults", len(p.Faults) > 0},
	} {
		if one.said {
			parts = append(parts, one.name)
		}
	}
	return parts
}

// underPolicy makes a unary or one-way call under its rules.
func (c *route) underPolicy(ctx context.Context, m *Method, request, response any, o *callOptions) error {
	g := &governedCall{rules: o.rules}
	own := *o
	own.governed = g
	g.begin(ctx)
	return g.tried.after(c.unary(ctx, m, request, response, &own))
}

// begin counts the call in the budget.
func (g *governedCall) begin(ctx context.Context) {
	if g.rules.Retries == nil {
		g.rules.repeats.made(elapsed(), 1)
		return
	}
	g.rules.repeats.with(func(b *policy.Budget) {
		g.retries = g.rules.Retries.Begin(b, g.rules.Idempotent, elapsed(), deadlineOf(ctx))
	})
}

// deadlineOf is when the context ends, by the clock of elapsed; below 0: never.
func deadlineOf(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return max(0, deadline.Sub(began))
	}
	return -1
}

// attempt begins an attempt.
func (g *governedCall) attempt() { g.tried.begin() }

// ended tells how an attempt ended, or why it was not made.
func (g *governedCall) ended(err error) {
	g.tried.end(err)
	g.last = err
}

// retried reports whether a call whose attempt has failed is made again, and waits until then.
func (c *route) retried(ctx context.Context, t *Method, e *wire.Ending, g *governedCall, first bool) bool {
	if g.retries == nil {
		return first && !g.rules.Once && repeatable(e) && c.pauseBefore(ctx, t, e)
	}
	end := endOf(e)
	end.Lost = end.Delivery == policy.NotSent && c.via == nil && ctx.Err() == nil
	end.Elsewhere = c.via == nil && c.severalConnections()
	var pause time.Duration
	var final string
	g.rules.repeats.with(func(*policy.Budget) { pause, final = g.retries.Ended(elapsed(), end, random) })
	if final != "" {
		return false
	}
	return c.waited(ctx, pause)
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
