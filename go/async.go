package trunkcall

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Calls that nobody waits for. Such a call is an object that is run, as a task of
// the client's or server's goroutines, whenever what it waited for has happened:
// a connection, a slot, a pause before it is made again, its end. No goroutine is
// parked for it, and the goroutine that reads never runs what is the user's.

// sink takes the outcome of an asynchronous call, once.
type sink interface{ done(response any, err error) }

// asyncState is what a call that is run is to do.
type asyncState uint8

const (
	asyncOpening asyncState = iota // make the call: a connection is there, or a pause is over
	asyncQueued                    // its turn for a slot has come
	asyncOpen                      // the call has ended
	asyncFailed                    // it could not be opened
	asyncOver                      // nothing: the outcome was told
)

// asyncCall is one asynchronous call.
type asyncCall struct {
	call     *transport.Call
	route    *route
	ctx      context.Context
	method   *Method
	request  any
	response any
	metadata Metadata
	options  *callOptions
	sink     sink
	line     uint32
	uses     uint32

	mu      sync.Mutex // taken before a Conn's lock
	state   asyncState
	codec   Codec
	own     *wire.Own // of a second attempt
	turn    transport.Turn
	queue   *transport.SlotQueue // that turn stands in
	waiting bool                 // it counts as a waiting call
	attempt *attempt             // to connect, that it waits for
	failure error                // how it failed, or why it could not be opened
	stage   int                  // how often it was tried to open it
	reused  bool                 // nothing that knows of it may come later
	stop    func() bool          // stops watching ctx
}

// launch makes a call and returns; out is told how it ended. The request must
// not be changed until then.
func (c *route) launch(ctx context.Context, t *Method, request, response any, o *callOptions, out sink) {
	if len(c.interceptors) > 0 {
		c.pool.Do(&interceptedCall{c, ctx, t, request, response, o, out})
		return
	}
	a, _ := c.asyncs.Get().(*asyncCall)
	if a == nil {
		a = &asyncCall{line: c.next.Add(1)}
		a.call = transport.NewAsyncCall(a)
		a.turn.Task = a
	}
	a.route, a.ctx, a.method, a.request, a.response, a.options, a.sink = c, ctx, t, request, response, o, out
	a.metadata = outgoing(ctx)
	if a.uses++; a.uses%countedTogether == 0 {
		c.repeats.made(thisSecond(), countedTogether)
	}
	a.state, a.reused = asyncOpening, true
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
			a.failure, a.reused = broken(a.route.options.journal, a.method, recover(), delivery), false
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
	case asyncOver:
		return false
	case asyncOpening, asyncQueued:
		if a.attempt != nil && a.attempt.err != nil && !a.options.waitForReady && a.ctx.Err() == nil {
			a.failure = a.route.unreachable(a.ctx, a.attempt.err)
		} else if a.failure = a.open(); a.failure == nil {
			return false
		}
	case asyncOpen:
		again, err := a.route.conclude(a.ctx, a.call, a.method, a.codec, a.response, a.options)
		if again && a.repeat() {
			return false
		}
		a.failure = err
	case asyncFailed:
	}
	return true
}

// open makes the call as far as it goes without waiting. It fails if that cannot
// lead to a call; the lock is held.
func (a *asyncCall) open() (err error) {
	a.stage++
	var conn *Connection
	promised := a.state == asyncQueued && a.turn.Conn != nil
	if promised {
		conn = connectionOf(a.turn.Conn)
	}
	a.leaveQueue()
	a.attempt, a.state = nil, asyncOpening
	defer func() {
		if promised {
			conn.conn.Decline()
		}
	}()
	out, err := a.prepare()
	for err == nil {
		if conn == nil {
			var wait bool
			if conn, wait, err = a.pick(); wait || err != nil {
				return err
			}
		}
		if err := a.route.fit(conn, out, a.call.Buf); err != nil {
			return err
		}
		packed := (*transport.Buffer)(nil)
		if order := a.route.options.order(a.options); len(order) > 0 {
			packed = a.route.options.packCall(conn, out, a.call.Buf, order)
		}
		if deadline, ok := a.ctx.Deadline(); ok {
			left := time.Until(deadline)
			if left <= 0 {
				return notSent(context.DeadlineExceeded)
			}
			out.Remaining = wire.Remaining(int64(left))
		}
		refused := conn.conn.Open(a.call, out, promised)
		promised = false
		if packed != nil && (refused != nil || !a.call.Keeps()) {
			packed.Free()
		}
		if refused == nil {
			a.state = asyncOpen
			return nil
		}
		wait := false
		if conn, wait, err = a.notOpened(conn, refused); wait {
			return nil
		}
	}
	return err
}

// prepare encodes the call.
func (a *asyncCall) prepare() (*wire.Outgoing, error) {
	if err := checkName(a.method.wire()); err != nil {
		return nil, err
	}
	if err := a.ctx.Err(); err != nil {
		return nil, notSent(err)
	}
	codec, err := a.route.encode(a.call, a.method, a.request, a.options)
	if err != nil {
		return nil, err
	}
	a.codec = codec
	out := outgoingOf(a.method, codec, a.metadata, a.own, a.call.Buf)
	return &out, nil
}

// pick finds a connection; or it sees to it that the call is run again when there
// may be one.
func (a *asyncCall) pick() (conn *Connection, wait bool, err error) {
	c := a.route
	if c.via != nil {
		if c.via.conn == nil {
			return nil, false, c.via.foreign()
		}
		return c.via, false, nil
	}
	l, conn := c.find(a.line)
	if conn != nil {
		return conn, false, nil
	}
	if err := a.enterQueue(); err != nil {
		return nil, false, err
	}
	a.reused = false
	conn, attempt, err := l.attend(a)
	switch {
	case conn != nil:
		a.leaveQueue()
		return conn, false, nil
	case attempt != nil:
		a.attempt = attempt
	case a.options.waitForReady && c.done.Err() == nil && c.options.fault == nil:
		a.after(l.pause())
	default:
		a.leaveQueue()
		return nil, false, c.unreachable(a.ctx, err)
	}
	return nil, true, nil
}

// notOpened sees to a call that a connection does not take now: another may, nil if one
// is to be picked.
func (a *asyncCall) notOpened(conn *Connection, why error) (other *Connection, wait bool, err error) {
	switch {
	case errors.Is(why, transport.ErrNoSlot):
		if other = a.route.elsewhere(conn); other != nil {
			return other, false, nil
		}
		if err := a.enterQueue(); err != nil {
			return nil, false, err
		}
		a.queue, a.state = conn.conn.Slots(), asyncQueued
		a.route.queue(a.queue, &a.turn)
		if a.route.admit() || !a.queue.Leave(&a.turn) {
			return nil, true, nil
		}
		a.state = asyncOpening
		a.leaveQueue()
	case a.route.via != nil:
		return nil, false, conn.unusable(why)
	default:
		conn.line.retire(conn)
	}
	return nil, false, nil
}

// enterQueue counts the call among those that wait, which are bounded.
func (a *asyncCall) enterQueue() error {
	err := a.route.enterQueue()
	a.waiting = err == nil
	return err
}

func (a *asyncCall) leaveQueue() {
	if a.waiting {
		a.waiting = false
		a.route.waiting.Add(-1)
	}
	a.queue = nil
}

// after has the call run again later, or when the client is closed.
func (a *asyncCall) after(d time.Duration) {
	a.reused = false
	pool, again := a.route.pool, &resumption{a, a.stage}
	stop := context.AfterFunc(a.route.done, func() { pool.Do(again) })
	time.AfterFunc(d, func() {
		if stop() {
			pool.Do(again)
		}
	})
}

// resumption runs a call again, unless it has gone on meanwhile.
type resumption struct {
	call  *asyncCall
	stage int
}

// Run goes on with the call.
func (r *resumption) Run() {
	r.call.mu.Lock()
	current := r.call.stage == r.stage && r.call.state == asyncOpening
	r.call.mu.Unlock()
	if current {
		r.call.Run() // nobody else runs it, apart from its end
	}
}

// repeat makes the call once more, if that is worth it. It reports false if not.
func (a *asyncCall) repeat() bool {
	if a.own != nil {
		return false
	}
	wait, ok := a.route.pause(a.ctx, &a.call.Ending)
	if !ok {
		return false
	}
	a.own = &wire.Own{Attempt: 2}
	a.line++ // elsewhere, if there is more than one connection
	a.call.Reset()
	a.state = asyncOpening
	if wait > 0 {
		a.after(wait)
		return true
	}
	a.failure = a.open()
	if a.failure != nil {
		a.state = asyncFailed
		a.route.pool.Do(a)
	}
	return true
}

// expired ends the call because its context has ended, on a goroutine of its own.
func (a *asyncCall) expired() {
	a.mu.Lock()
	switch a.state {
	case asyncOpen:
		reason, ending := giveUp(a.ctx)
		if !a.call.Cut(reason, ending) {
			a.mu.Unlock()
			return // it has ended
		}
		a.reused = false
		_, a.failure = a.route.conclude(a.ctx, a.call, a.method, a.codec, a.response, a.options)
	case asyncQueued:
		if !a.queue.Leave(&a.turn) {
			a.mu.Unlock()
			return // its turn has come: there it is seen that the time is over
		}
		a.failure = notSent(a.ctx.Err())
	case asyncOpening:
		a.failure = notSent(a.ctx.Err())
	default:
		a.mu.Unlock()
		return
	}
	a.finish()
}

// finish tells the outcome. It releases the lock.
func (a *asyncCall) finish() {
	a.state = asyncOver
	a.leaveQueue()
	out, response, err, c := a.sink, a.response, a.failure, a.route
	if a.stop != nil && !a.stop() {
		a.reused = false // ctx has ended just now
	}
	a.call.Reset()
	a.route, a.ctx, a.method, a.request, a.response, a.metadata, a.options, a.sink = nil, nil, nil, nil, nil, nil, nil, nil
	a.own, a.failure, a.stop, a.codec, a.attempt = nil, nil, nil, nil, nil
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

// interceptedCall is an asynchronous call with interceptors. They return when the
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
	err := i.route.invoke(i.ctx, i.method, i.request, i.response, i.options)
	judged = true
	tell(i.route.options.journal, i.sink, i.response, err)
}
