package trunkcall

import (
	"context"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Asynchronous calls. Such a call is an object. It is run, as a task of the client's or server's
// pool, whenever what it waited for has happened: a connection, a slot, the end of a pause, its own
// end. No goroutine waits for it, and the user's code never runs on the goroutine that reads.

// sink takes the outcome of an asynchronous call, once.
type sink interface{ done(response any, err error) }

// asyncState is what a call that is run is to do.
type asyncState uint8

const (
	asyncOpening asyncState = iota // make the call: its turn has come
	asyncPausing                   // make it again: the pause is over
	asyncOpen                      // the call has ended
	asyncFailed                    // it could not be opened
	asyncOver                      // nothing: the outcome was told
)

// asyncCall is one asynchronous call.
type asyncCall struct {
	call     *transport.Call
	request  any
	response any
	metadata Metadata
	sink     sink
	number   uint32 // of the connection
	uses     uint32

	mu      sync.Mutex // taken before a Conn's lock
	state   asyncState
	opening opening
	waiter  waiter
	attempt attempt
	codec   Codec
	second  *nextAttempt
	failure error       // how it failed, or why it could not be opened
	reused  bool        // nothing that knows of it may come later
	stop    func() bool // stops watching ctx
	cancel  func()      // of a policy's timeout
}

// launch makes a call and returns; out is told how it ended. The request must
// not be changed until then.
func (c *route) launch(ctx context.Context, t *Method, request, response any, o *callOptions, out sink) {
	if len(c.interceptors) > 0 || o.prioritised || c.policies != nil && c.policies.file != nil {
		c.pool.Do(&interceptedCall{c, ctx, t, request, response, o, out})
		return
	}
	a, _ := c.asyncs.Get().(*asyncCall)
	if a == nil {
		a = &asyncCall{number: c.next.Add(1)}
		a.call = transport.NewAsyncCall(a)
		a.waiter.turn.Task = a
	}
	ctx, a.cancel = c.within(ctx, t, o, time.Time{})
	a.opening = opening{route: c, ctx: ctx, call: a.call, method: t, options: o, waiter: &a.waiter, attempt: &a.attempt, async: true}
	a.request, a.response, a.sink = request, response, out
	a.metadata = outgoing(ctx)
	if a.uses++; a.uses%countedTogether == 0 {
		c.repeats.made(elapsed(), countedTogether)
	}
	a.reused = true
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.open(); err != nil {
		a.state, a.failure = asyncFailed, err
		c.pool.Do(a) // the caller may hold locks that the callback wants
	} else if ctx.Done() != nil {
		a.stop = context.AfterFunc(ctx, a.expired)
	}
}

// Run goes on with the call.
func (a *asyncCall) Run() {
	a.mu.Lock()
	judged := false
	defer func() {
		if !judged { // the codec has panicked, or has ended this goroutine
			delivery := NotSent
			if a.state == asyncOpen {
				delivery = Executed // its answer is being decoded
			}
			a.failure, a.reused = broken(a.opening.route.options.journal, a.opening.method, recover(), delivery), false
			a.finish()
		}
	}()
	over := a.step()
	judged = true
	if !over {
		a.mu.Unlock()
		return
	}
	a.finish()
}

// step goes on with the call. It reports whether it has ended, as failure says; the
// lock is held.
func (a *asyncCall) step() (over bool) {
	switch a.state {
	case asyncOpening:
		a.failure = a.try()
		return a.failure != nil
	case asyncPausing:
		a.failure = a.open()
		return a.failure != nil
	case asyncOpen:
		o := &a.opening
		o.ended()
		failed, err := o.route.conclude(o.ctx, a.call, o.method, a.codec, a.response, o.options)
		if failed && repeatable(&a.call.Ending) && a.repeat() {
			return false
		}
		a.failure = err
		return true
	case asyncFailed:
		return true
	}
	return false
}

// open encodes the call and makes it as far as it goes without waiting. It fails if that
// cannot lead to a call; the lock is held.
func (a *asyncCall) open() error {
	o := &a.opening
	codec, err := o.route.encode(a.call, a.request, o.options)
	if err != nil {
		return err
	}
	a.codec = codec
	o.asked = o.route.now()
	o.number = a.number
	o.carry(a.call.Buf, codec, a.metadata)
	if a.second != nil {
		o.follows(a.second)
	}
	return a.try()
}

// try makes the call, or has it run again when its turn has come.
func (a *asyncCall) try() error {
	a.state = asyncOpening
	a.opening.now = 0
	wait, err := a.opening.try()
	if err == nil && !wait {
		a.state = asyncOpen
	}
	return err
}

// after has the call made again later, or when the client is closed.
func (a *asyncCall) after(d time.Duration) {
	a.state, a.reused = asyncPausing, false
	c, again := a.opening.route, &resumption{a}
	stop := context.AfterFunc(c.done, func() { c.pool.Do(again) })
	time.AfterFunc(d, func() {
		if stop() {
			c.pool.Do(again)
		}
	})
}

// resumption makes a call again, unless it has ended meanwhile.
type resumption struct{ call *asyncCall }

// Run goes on with the call.
func (r *resumption) Run() {
	r.call.mu.Lock()
	pausing := r.call.state == asyncPausing
	r.call.mu.Unlock()
	if pausing {
		r.call.Run() // nobody else runs it, apart from its end
	}
}

// repeat makes the call once more, if that is worth it. It reports false if not.
func (a *asyncCall) repeat() bool {
	if a.second != nil {
		return false
	}
	c := a.opening.route
	wait, ok := c.pause(a.opening.ctx, a.opening.method, &a.call.Ending)
	if !ok {
		return false
	}
	a.second = &nextAttempt{own: wire.Own{Attempt: 2}, not: c.endpointOf(a.call)}
	a.number++ // elsewhere, if there is more than one connection
	a.call.Reset()
	if wait > 0 {
		a.after(wait)
		return true
	}
	if a.failure = a.open(); a.failure != nil {
		a.state = asyncFailed
		c.pool.Do(a)
	}
	return true
}

// expired ends the call because its context has ended, on a goroutine of its own.
func (a *asyncCall) expired() {
	a.mu.Lock()
	o := &a.opening
	switch a.state {
	case asyncOpen:
		reason, ending := giveUp(o.ctx, o.method.Name)
		if !a.call.Cut(reason, ending) {
			a.mu.Unlock()
			return // it has ended
		}
		a.reused = false
		o.ended()
		_, a.failure = o.route.conclude(o.ctx, a.call, o.method, a.codec, a.response, o.options)
	case asyncOpening:
		if a.failure = o.expire(); a.failure == nil {
			a.mu.Unlock()
			return // its turn has come: there it is seen that the time is over
		}
	case asyncPausing:
		a.failure = notSent(o.ctx.Err())
	default:
		a.mu.Unlock()
		return
	}
	a.finish()
}

// finish tells the outcome. It releases the lock.
func (a *asyncCall) finish() {
	a.state = asyncOver
	out, response, err, c := a.sink, a.response, a.failure, a.opening.route
	if a.stop != nil && !a.stop() {
		a.reused = false // ctx has ended just now
	}
	if a.cancel != nil {
		a.cancel()
	}
	a.call.Reset()
	a.opening = opening{}
	a.request, a.response, a.metadata, a.sink = nil, nil, nil, nil
	a.second, a.failure, a.stop, a.cancel, a.codec = nil, nil, nil, nil, nil
	reused := a.reused
	a.mu.Unlock()
	if reused {
		c.asyncs.Put(a)
	}
	tell(c.options.journal, out, response, err)
}

// tell hands an outcome over; what a callback panics with is logged.
func tell(log *journal, out sink, response any, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.panicked("callback panicked", p)
		}
	}()
	out.done(response, err)
}

// broken is the status of a call whose interceptor or codec panicked with p, or ended
// its goroutine.
func broken(log *journal, t *Method, p any, delivery Delivery) error {
	log.panicked("asynchronous call panicked", p, "method", t.Name)
	return local(Errorf(Internal, "an interceptor or a codec of the caller's panicked"), delivery)
}

// interceptedCall is an asynchronous call with interceptors, or under a policy file. They return when the
// call has ended, so it needs a goroutine until then.
type interceptedCall struct {
	route             *route
	ctx               context.Context
	method            *Method
	request, response any
	options           *callOptions
	sink              sink
}

// Run makes the call.
func (i *interceptedCall) Run() {
	judged := false
	defer func() {
		if !judged {
			tell(i.route.options.journal, i.sink, i.response, broken(i.route.options.journal, i.method, recover(), DeliveryUnknown))
		}
	}()
	err := i.route.around(i.ctx, i.method, i.request, i.response, i.options)
	judged = true
	tell(i.route.options.journal, i.sink, i.response, err)
}
