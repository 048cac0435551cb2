package trunkcall

import (
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// limit has a call pass the limits of the server's policy file, before the user's admission is asked about it. It returns
// the call's place among those that run at once, nil where they are not limited. The error is the Status of one that is refused.
func (c *ServerCall) limit() (*limitedPlace, error) {
	if c.serving.callLimits == nil {
		return nil, nil //nolint:nilnil // no place, and no fault
	}
	rules, priority := c.serving.callLimits.current.Load().of(&c.handler.Method), priorityIn(c.Metadata)
	if after, why := rules.serverRate.take(priority); why != "" {
		return nil, usedUp(why, after)
	}
	if rules.serverConcurrency == nil {
		return nil, nil //nolint:nilnil // as above
	}
	entered, why := rules.serverConcurrency.enter(priority)
	if why != "" {
		return nil, usedUp(why, time.Millisecond)
	}
	p := limitedPlaces.Get().(*limitedPlace) //nolint:forcetypeassert // the pool holds nothing else
	p.in, p.entered, p.code, p.told, p.unbegun = rules.serverConcurrency, entered, OK, false, false
	p.stream = c.handler.Unary == nil
	return p, nil
}

func usedUp(why string, after time.Duration) error {
	return Status{Code: ResourceExhausted, Message: why, RetryAfter: after}.Err()
}

// limitedPlace is a call among those that run at once. Only its handler's goroutine uses it. It is used again once the call is
// over, when others may still read the admission of the call, which therefore never changes: one that the user's
// admission has returned lies elsewhere.
type limitedPlace struct {
	admission Admission // of calls that only the limits let in
	in        *concurrencyState
	entered   time.Duration
	code      Code
	told      bool // how the call ended; it has not if its handler panicked
	unbegun   bool // its handler did not begin
	stream    bool
}

var limitedPlaces = sync.Pool{New: func() any {
	p := &limitedPlace{}
	p.admission.place = p
	return p
}}

// ended notes how the handler ended. Inlined, its 300 bytes would stand on the stack below every
// handler, whose requests are decoded on 4 KiB (decision 0050).
//
//go:noinline
func (p *limitedPlace) ended(c *ServerCall, err error) {
	p.told = true
	if err != nil {
		p.code, p.unbegun = StatusOf(err).Code, c.delivery(err) == Refused
	}
}

// leave gives up the place of a call that is over.
func (p *limitedPlace) leave() {
	if p.unbegun {
		p.refused()
		return
	}
	if !p.told {
		p.code = Internal
	}
	sample := policy.SampleOf(endOf(&wire.Ending{Code: p.code, Delivery: Executed}))
	if p.stream {
		sample = sample.OfStream()
	}
	p.in.leave(p.entered, sample)
	limitedPlaces.Put(p)
}

// refused gives up the place of a call whose handler did not begin.
func (p *limitedPlace) refused() {
	p.in.leave(p.entered, policy.NoSample)
	limitedPlaces.Put(p)
}
