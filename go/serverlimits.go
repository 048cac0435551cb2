package trunkcall

import (
	"context"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// admit decides about a call at a server.
type admit = func(context.Context, *Arrival) (Admission, error)

// limited has the limits of a policy file stand before another admission, nil: there is none.
func (f *policyFile) limited(next admit) admit {
	return func(ctx context.Context, call *Arrival) (Admission, error) {
		rules, priority := f.current.Load().of(&call.Method), priorityIn(call.Metadata)
		if after, why := rules.serverRate.take(priority); why != "" {
			return Admission{}, usedUp(why, after)
		}
		entered, why := rules.serverConcurrency.enter(priority)
		if why != "" {
			return Admission{}, usedUp(why, time.Millisecond)
		}
		place := &limitedPlace{in: rules.serverConcurrency, entered: entered}
		if next == nil {
			return Admission{Release: place.leave, place: place}, nil
		}
		admitted := false
		defer func() {
			if !admitted {
				place.refused()
			}
		}()
		a, err := next(ctx, call)
		if err != nil {
			return a, err
		}
		admitted, a.place = true, place
		release := a.Release
		a.Release = func() {
			place.leave()
			if release != nil {
				release()
			}
		}
		return a, nil
	}
}

func usedUp(why string, after time.Duration) error {
	return Status{Code: ResourceExhausted, Message: why, RetryAfter: after}.Err()
}

// limitedPlace is a call among those that run at once. Only its handler's goroutine uses it.
type limitedPlace struct {
	in      *concurrencyState
	entered time.Duration
	code    Code
	told    bool // how the call ended; it has not if its handler panicked
	unbegun bool // its handler did not begin
}

// ended notes how the handler ended. Inlined, its 300 bytes would stand on the stack below every
// handler, whose requests are decoded on 4 KiB (decision 0050).
//
//go:noinline
func (p *limitedPlace) ended(c *ServerCall, err error) {
	p.code, p.told, p.unbegun = StatusOf(err).Code, true, err != nil && c.delivery(err) == Refused
}

func (p *limitedPlace) leave() {
	if p.unbegun {
		p.refused()
		return
	}
	if !p.told {
		p.code = Internal
	}
	p.in.leave(p.entered, policy.SampleOf(endOf(&wire.Ending{Code: p.code, Delivery: Executed})))
}

// refused gives up the place of a call whose handler did not begin.
func (p *limitedPlace) refused() { p.in.leave(p.entered, policy.NoSample) }
