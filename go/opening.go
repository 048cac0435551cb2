package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// opening is a call that has no connection yet. Blocking calls, asynchronous calls and streams all
// use it; they differ in how they wait.
type opening struct {
	route    *route
	ctx      context.Context //nolint:containedctx // it is the call's, and goes with it
	call     *transport.Call
	method   *Method
	options  *callOptions
	out      wire.Outgoing
	plain    []byte            // the request as it was encoded
	number   uint32            // which of an endpoint's connections is preferred
	not      *EndpointState    // better avoided
	tried    []*EndpointState  // of a hedge: chosen only if no other is available
	chose    *snapshot         // what the endpoint was last chosen from; nil: the caller said the connection
	picked   bool              // by its picker, and not by the policy file
	waiter   *waiter           // nil until it has to wait
	packed   *transport.Buffer // the request as it is sent, if that is compressed
	asked    int64             // when, if attempts are told of, as roles.Clock has it; so is now
	now      int64             // when it was last tried, 0: nobody asked yet
	attempt  *attempt          // memory for what is told of it; nil: none so far
	watching *attempt          // that, once the call is open, if somebody wants to know of it
	upTo     uint64            // attempts to connect that were under way when it first waited; 0: it has not
	attempts int               // which attempt of the call it is; 0: the first
	passage  *passage          // under a policy file, else nil
	async    bool              // nobody waits: it counts as waiting also while it has no connection
}

// waiter is what a call needs only if a picker chooses for it, or if it has to wait.
type waiter struct {
	turn    transport.Turn
	pick    Pick
	place   place // where turn stands, nil: nowhere
	counted bool  // among the calls that wait
}

// place is where calls wait for their turn.
type place interface {
	// Leave reports false if the turn has come.
	Leave(t *transport.Turn) bool
}

// carry gives it what a unary call sends: the request as codec has encoded it, and metadata.
func (o *opening) carry(request []byte, codec Codec, m Metadata) {
	o.plain = request
	out := &o.out // field by field: a literal would be made beside it and copied
	out.Method, out.Codec, out.Metadata = o.method.wire(), codec.Number(), m
	out.Payload, out.HasMessage, out.End, out.OneWay = request, true, true, o.method.Kind == KindOneWay
}

// follows makes it a further attempt of a call.
func (o *opening) follows(next *nextAttempt) {
	o.out.Own, o.not, o.tried = &next.own, next.not, next.tried
	o.attempts = int(next.own.Attempt)
}

// wait waits for the call's turn and tries again, until it is open or its context ends. Whatever fails
// here was not sent.
func (o *opening) wait() error {
	for {
		select {
		case <-o.waiter.turn.Come():
		case <-o.ctx.Done():
			if err := o.expire(); err != nil {
				return err
			}
			<-o.waiter.turn.Come()
		}
		o.now = 0
		if wait, err := o.try(); err != nil || !wait {
			return err
		}
	}
}

// ended tells observers and pickers how the call ended. Streams do that themselves.
func (o *opening) ended() {
	if o.watching != nil {
		o.watching.end(&o.call.Ending)
		o.watching = nil
	}
}

// try goes as far as it can without waiting. It reports whether the call has to wait for
// its turn; else it is open, or has failed.
func (o *opening) try() (wait bool, err error) {
	conn, promised := o.turnCame()
	if err = checkName(o.out.Method); err == nil {
		if over := o.over(); over != nil {
			err = notSent(over)
		}
	}
	for err == nil {
		if conn == nil {
			if conn, wait, err = o.pick(); conn == nil {
				break
			}
		}
		if err = o.fit(conn); err != nil {
			break
		}
		watched := o.watched(conn)
		refused := conn.conn.Open(o.call, &o.out, promised)
		promised = false
		if watched != nil {
			watched.opened(conn, o, refused == nil)
		}
		switch {
		case refused == nil:
			if o.packed != nil && o.call.Keeps() {
				o.packed = nil
			}
			o.unpack()
			return false, nil
		case errors.Is(refused, transport.ErrNoSlot):
			if conn, wait, err = o.awaitSlot(conn); wait {
				return true, nil
			}
		case o.route.via != nil:
			err = conn.unusable(refused)
		default:
			conn.redialer.retire(conn, refused)
			conn = nil
		}
	}
	if promised {
		conn.conn.Decline()
	}
	o.unpack()
	return wait, err
}

func (o *opening) unpack() {
	if o.packed != nil {
		o.packed.Free()
		o.packed = nil
	}
}

// fit makes the call ready for a connection, or refuses it if its peer would.
func (o *opening) fit(conn *Connection) error {
	r := o.route
	if err := r.fit(conn, &o.out, o.plain); err != nil {
		return err
	}
	if order := r.options.order(o.options); len(order) > 0 {
		o.unpack()
		o.packed = r.options.packCall(conn, &o.out, o.plain, order)
	}
	var left time.Duration
	if b := o.options.bound(o.ctx); b != nil {
		left = time.Duration(b.deadline - o.time())
		o.out.Deadline = b.deadline
	} else if deadline, ok := o.ctx.Deadline(); ok {
		left = time.Until(deadline)
	} else {
		return nil
	}
	if left <= 0 {
		return notSent(context.DeadlineExceeded)
	}
	o.out.Remaining = wire.Remaining(int64(left))
	if o.passage != nil {
		o.passage.left = left
	}
	return nil
}

// pick finds a connection, or has the call wait until there may be one.
func (o *opening) pick() (conn *Connection, wait bool, err error) {
	if via := o.route.via; via != nil {
		if via.conn == nil {
			return nil, false, via.foreign()
		}
		return via, false, nil
	}
	s := o.route.endpoints
	if only := s.current.Load(); only.only != nil { // as most calls find it
		if conn := only.only.connection(o.number); conn != nil {
			o.chose = only
			return conn, false, nil
		}
	}
	for {
		version := s.version.Load()
		e, err := o.choose(s.current.Load())
		if err != nil {
			return nil, false, err
		}
		if e != nil {
			if conn := e.connection(o.number); conn != nil {
				return conn, false, nil
			}
		}
		switch wait, err := s.await(o, e, version); {
		case err != nil:
			return nil, false, o.route.unreachable(o.ctx, err)
		case wait:
			return nil, true, nil
		}
	}
}

// choose returns the endpoint of the call, nil: none for now.
func (o *opening) choose(s *snapshot) (*EndpointState, error) {
	o.chose, o.picked = s, false
	if s.only != nil {
		return s.only, nil
	}
	if s.picker == nil {
		return nil, nil //nolint:nilnil // none, and no fault: the call waits
	}
	var among *chooser
	if o.options.rules != nil {
		among = o.options.rules.chooser
	}
	if turns, ours := s.picker.(*turnPicker); ours && among == nil && len(o.tried) == 0 && !s.kept {
		// As most do, for which no Pick need be made. A balancer of the user's may hand on a picker of another set.
		if e := turns.next(o.not); e == nil || (e.of == s.of && !s.left(e)) {
			return s.usable(e), nil
		}
	}
	w := o.waits()
	o.show()
	w.pick = Pick{Context: o.ctx, Method: *o.method, Metadata: o.out.Metadata, Not: o.not}
	e, chosen, err := s.chosen(among, &w.pick, o.tried)
	if !chosen && err == nil {
		o.picked = true
		e, err = s.pick(&w.pick)
		e = s.usable(e)
	}
	w.pick = Pick{}
	if err != nil {
		o.route.options.log(slog.LevelError, "picker failed", "method", o.method.Name, "error", err)
		return nil, local(Errorf(Internal, "%v", err), NotSent)
	}
	return e, nil
}

// chosen is the endpoint that a policy file has chosen among the endpoints, or one where no attempt of the call was; ok
// reports whether that decides. The key of a user's balancer that panics fails the call, as a picker does.
func (s *snapshot) chosen(among *chooser, p *Pick, tried []*EndpointState) (e *EndpointState, ok bool, err error) {
	done := false
	defer func() {
		if !done {
			e, err = nil, s.broken(recover())
		}
	}()
	if len(tried) > 0 {
		e = among.elsewhere(s, p, tried)
	}
	ok = e != nil || among != nil
	if e == nil && among != nil {
		e = among.choose(s, p)
	}
	done = true
	return e, ok, nil
}

// usable is the endpoint that was picked, or another where that has begun to fail just now: the next picker will not say
// it, and until then others need no wait.
func (s *snapshot) usable(e *EndpointState) *EndpointState {
	if e != nil && s.anySlot && e.State() == StateFailing {
		return s.insteadOf(e)
	}
	return e
}

// pick asks the picker. A picker that was kept although the set has changed may return endpoints
// that have left; it is then asked again.
func (s *snapshot) pick(p *Pick) (e *EndpointState, err error) {
	done := false
	defer func() {
		if !done {
			e, err = nil, s.broken(recover())
		}
	}()
	e = s.picker.Pick(p)
	if s.kept {
		for range s.endpoints {
			if !s.left(e) {
				break
			}
			e = s.picker.Pick(p)
		}
		if s.left(e) {
			e = nil
		}
	}
	done = true
	if e != nil && (e.of != s.of || s.left(e)) {
		return nil, fmt.Errorf("balancer %T: it picks %s, which is not among the endpoints that it was given", s.of.balancer, e.identity)
	}
	return e, nil
}

// left reports whether an endpoint of the client's is in the set no more.
func (s *snapshot) left(e *EndpointState) bool {
	return e != nil && e.of == s.of && e.given.Load() < s.number
}

// broken is why the picker did not pick.
func (s *snapshot) broken(p any) error {
	if u, ok := s.picker.(unable); ok {
		return u.err
	}
	return fmt.Errorf("balancer %T: its picker panicked: %v", s.of.balancer, p)
}

// insteadOf is the next endpoint that is ready, or else e, which is failing.
func (s *snapshot) insteadOf(e *EndpointState) *EndpointState {
	var first *EndpointState
	behind := false
	for _, other := range s.endpoints {
		if other == e {
			behind = true
			continue
		}
		if other.State() == StateReady {
			if behind {
				return other
			}
			if first == nil {
				first = other
			}
		}
	}
	if first != nil {
		return first
	}
	return e
}

// time is when the call is tried. It is asked for once, however many want to know.
func (o *opening) time() int64 {
	if o.now == 0 {
		o.now = roles.Clock()
	}
	return o.now
}

// over is the error of the call's context if that has ended.
func (o *opening) over() error {
	if b := o.options.bound(o.ctx); b != nil && o.time() < b.deadline {
		return b.Context.Err()
	}
	return o.ctx.Err()
}

// show says that somebody else is given the call's context, and may keep it.
func (o *opening) show() {
	if b := o.options.bound(o.ctx); b != nil {
		b.shown = true
	}
}

func (o *opening) waits() *waiter {
	if o.waiter == nil {
		o.waiter = &waiter{}
	}
	return o.waiter
}

// enterQueue counts the call among those that wait, which are bounded.
func (o *opening) enterQueue(forSlot bool) error {
	w := o.waits()
	if w.counted || !forSlot && !o.async {
		return nil
	}
	if err := o.route.enterQueue(); err != nil {
		return err
	}
	w.counted = true
	return nil
}

// stand notes where the call waits.
func (o *opening) stand(p place) {
	w := o.waits()
	if w.turn.Task == nil {
		w.turn.Come()
	}
	w.turn.Conn, w.place = nil, p
}

// turnCame returns the connection that has a slot for a call that waited; nil if a connection is
// still to be found.
func (o *opening) turnCame() (conn *Connection, promised bool) {
	w := o.waiter
	if w == nil || w.place == nil {
		return nil, false
	}
	w.place = nil
	o.uncount()
	if w.turn.Conn == nil {
		return nil, false
	}
	return connectionOf(w.turn.Conn), true
}

func (o *opening) uncount() {
	if o.waiter.counted {
		o.waiter.counted = false
		o.route.waiting.Add(-1)
	}
}

// expire removes a call whose context has ended from where it waits, and returns its error. It
// returns nil if the call's turn has come meanwhile: the next try then returns the error.
func (o *opening) expire() error {
	w := o.waiter
	if !w.place.Leave(&w.turn) {
		return nil
	}
	forSlot := w.place != place(o.route.endpoints)
	w.place = nil
	o.uncount()
	o.unpack()
	if forSlot {
		return o.route.unreachable(o.ctx, fmt.Errorf("no call slot became free in time: %w", o.ctx.Err()))
	}
	return o.route.unreachable(o.ctx, o.route.endpoints.late(o.ctx.Err()))
}

// awaitSlot finds a connection for a call when full has no slot. It returns another connection with
// a free slot, if there is one. Else the call waits, in order, for the first free slot of any; the
// whole client's queue is bounded. If there is no connection to wait for, one is to be picked anew.
func (o *opening) awaitSlot(full *Connection) (conn *Connection, wait bool, err error) {
	r := o.route
	for conn := range o.others(full) {
		if conn != full && conn.conn.SlotFree() {
			return conn, false, nil
		}
	}
	if err := o.enterQueue(true); err != nil {
		return nil, false, err
	}
	queue := full.conn.Slots()
	o.stand(queue)
	w := o.waiter
	w.turn.Only, w.turn.Group = nil, nil
	switch {
	case r.via != nil:
		w.turn.Only = r.via.conn
	case !o.anySlot(r.endpoints.current.Load()):
		w.turn.Group = full.conn.Group
	}
	queue.Queue(&w.turn)
	some := false
	for conn := range o.others(full) {
		some = conn.conn.Admit() || some
	}
	if some || !queue.Leave(&w.turn) {
		return nil, true, nil
	}
	w.place = nil
	o.uncount()
	return nil, false, nil
}

// anySlot reports whether the call may take a free slot of another endpoint than was chosen.
func (o *opening) anySlot(s *snapshot) bool {
	return s.anySlot && (o.options.rules == nil || o.options.rules.chooser == nil)
}

// others are the connections that may take a call when full has no slot; full is among them.
func (o *opening) others(full *Connection) func(yield func(*Connection) bool) {
	return func(yield func(*Connection) bool) {
		if o.route.via != nil {
			yield(o.route.via)
			return
		}
		s := o.route.endpoints.current.Load()
		for _, e := range s.endpoints {
			if !o.anySlot(s) && e != full.redialer.endpoint {
				continue
			}
			for _, l := range e.dialed {
				if conn := l.current.Load(); conn != nil && !yield(conn) {
					return
				}
			}
		}
	}
}
