package trunkcall

import (
	"context"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// hedging is one call whose attempts may run at once (policy.md 9). Its own goroutine decides; each attempt has
// another one, all of which have ended when the call has.
type hedging struct {
	route    *route
	ctx      context.Context //nolint:containedctx // it is the call's, and ends all attempts
	method   *Method
	options  *callOptions
	codec    Codec
	request  []byte
	core     *policy.Hedging
	attempts []*hedge // by number, from 1
	ended    chan *hedge
	last     *hedge   // that ended last, of those that no breaker refused if there is one
	least    Delivery // that promises least, of the attempts that have ended
}

// hedge is one attempt.
type hedge struct {
	number int
	call   *unaryCall
	err    error // why it could not be made; nil: the call's Ending says how it ended
	barred bool  // a breaker has refused it
	opened chan *EndpointState
	place  *EndpointState // what came from there
}

// hedged makes a unary or one-way call, and makes it again elsewhere while it is not answered.
func (c *route) hedged(ctx context.Context, m *Method, request, response any, o *callOptions) error {
	codec, err := c.options.codecOf(o)
	if err != nil {
		return err
	}
	encoded, err := codec.Append(nil, request)
	if err != nil {
		return notSent(uncarried(Internal, "request", codec, err))
	}
	ctx, cancel := context.WithCancel(ctx)
	h := &hedging{
		route: c, ctx: ctx, method: m, options: o, codec: codec, request: encoded,
		attempts: make([]*hedge, 1), ended: make(chan *hedge), least: NotSent,
	}
	running := 0
	defer func() {
		cancel()
		for ; running > 0; running-- {
			<-h.ended
		}
		for _, one := range h.attempts[1:] {
			one.call.Reset()
			c.calls.Put(one.call)
		}
	}()
	g := o.governed
	var d policy.Hedged
	g.rules.repeats.with(func(b *policy.Budget) { h.core, d = g.rules.Hedging.Begin(b, elapsed(), deadlineOf(ctx)) })
	for {
		if d.Start > 0 {
			running++
			h.start(d.Start)
		}
		var ended bool
		if ended, d = h.next(d.Look, running == 0); ended {
			running--
		}
		over := ctx.Err() != nil && (ended || running == 0)
		for ; over && d.Finish == 0 && running > 0; running-- { // with the call, of which they say whether any was sent
			one := <-h.ended
			if h.last.barred {
				h.last = one
			}
			h.least = leastPromise(h.least, one.delivery())
		}
		if over || d.Finish > 0 || d.Start == 0 && d.Look < 0 && running == 0 {
			return h.finish(response, d.Finish, running > 0)
		}
	}
}

// places are where attempts are, or were.
func (h *hedging) places() (all []*EndpointState) {
	for _, one := range h.attempts[1:] {
		select {
		case one.place = <-one.opened:
		default:
		}
		if one.place != nil {
			all = append(all, one.place)
		}
	}
	return all
}

// start has an attempt run on a goroutine of its own, at an endpoint where none of the call is or was if one is available.
func (h *hedging) start(number int) {
	tried := h.places()
	one := &hedge{number: number, call: h.route.calls.Get().(*unaryCall), opened: make(chan *EndpointState, 1)} //nolint:forcetypeassert // the pool holds nothing else
	h.attempts = append(h.attempts, one)
	var next *nextAttempt
	if number > 1 {
		next = &nextAttempt{own: wire.Own{Attempt: uint32(number)}, tried: tried}
		if len(tried) > 0 {
			next.not = tried[len(tried)-1]
		}
		one.call.number++
	}
	go func() {
		h.route.carryOut(h, one, next)
		h.ended <- one
	}()
}

// carryOut makes an attempt and waits for its end.
func (c *route) carryOut(h *hedging, one *hedge, next *nextAttempt) {
	call := one.call
	p := &passage{}
	if one.err = h.options.governed.pass(p, elapsed()); one.err != nil {
		one.barred = true
		return
	}
	call.Buf = append(call.Buf[:0], h.request...)
	if one.err = c.start(h.ctx, call, h.method, h.codec, h.options, next, p, 0); one.err != nil {
		p.unmade(one.err)
		return
	}
	one.opened <- c.endpointOf(&call.Call)
	call.await(h.ctx, h.method, h.options)
	if call.watching != nil {
		call.watching.end(&call.Ending)
		call.watching = nil
	}
}

// next waits until an attempt has ended, or it is time to look, and decides what follows. While none runs it waits
// no longer than the call and the client last.
func (h *hedging) next(look time.Duration, paused bool) (ended bool, d policy.Hedged) {
	var over, closed <-chan struct{}
	if paused {
		over, closed = h.ctx.Done(), h.route.done.Done()
	}
	var due <-chan time.Time
	if look >= 0 {
		t := time.NewTimer(look - elapsed())
		defer t.Stop()
		due = t.C
	}
	r := h.options.governed.rules.repeats
	select {
	case <-due:
		r.with(func(*policy.Budget) { d = h.core.Look(elapsed()) })
	case one := <-h.ended:
		if h.last == nil || !one.barred {
			h.last = one
		}
		h.least = leastPromise(h.least, one.delivery())
		if h.ctx.Err() != nil {
			return true, policy.Hedged{} // the call is over, and nothing follows
		}
		end := h.end(one)
		r.with(func(*policy.Budget) { d = h.core.Ended(elapsed(), one.number, end) })
		return true, d
	case <-over:
		d.Look = -1
	case <-closed:
		d.Look = -1
	}
	return false, d
}

// delivery is what is known of whether an attempt that has ended ran.
func (o *hedge) delivery() Delivery {
	if o.err != nil {
		return StatusOf(o.err).Delivery
	}
	return o.call.Ending.Delivery
}

// end is how an attempt ended, as the core knows it.
func (h *hedging) end(one *hedge) policy.Ended {
	if one.err == nil {
		return h.route.ending(h.ctx, &one.call.Ending)
	}
	s := StatusOf(one.err)
	return endOf(&wire.Ending{Code: s.Code, Delivery: s.Delivery})
}

// finish ends the call with an attempt: the one that decided or, where the call's own time is over or a breaker refused
// that one, the last that ended.
func (h *hedging) finish(response any, decided int, running bool) error {
	last := h.last
	if decided > 0 && !h.attempts[decided].barred {
		last = h.attempts[decided]
	}
	err := last.err
	if err == nil {
		_, err = h.route.conclude(h.ctx, &last.call.Call, h.method, h.codec, response, h.options)
	}
	if err == nil {
		return nil
	}
	s := StatusOf(err)
	if s.Delivery = leastPromise(s.Delivery, h.least); running {
		s.Delivery = leastPromise(s.Delivery, DeliveryUnknown)
	}
	return s.Err()
}
