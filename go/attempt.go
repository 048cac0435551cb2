package trunkcall

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Attempt is one attempt of a call, for attempt observers. Began and Ended are given the same one.
// It must not be used after they return.
type Attempt struct {
	// Context is that of the call, for its values: a timeout that the client has set may not be in it.
	Context context.Context //nolint:containedctx // as said
	Method  *Method
	// Number is 1 for the first attempt of a call, and goes on where the client makes it again: one that provably did
	// not run, or a retry or hedge of its policy file.
	Number int
	// Endpoint is where it goes; nil for calls from a server to its client.
	Endpoint *Endpoint
	Peer     Peer
	// Queued is how long the call waited for a connection and a slot.
	Queued time.Duration
	// State is for the observer: what Began leaves there is there for Ended.
	State any

	// What follows is known at the end only.

	// Duration is from where it was sent to its end.
	Duration time.Duration
	Status   Status
	// SentBytes and ReceivedBytes are those of the messages, as they went over the wire.
	SentBytes, ReceivedBytes int64
}

// AttemptObserver is told when each attempt of a call was sent, and when it ended, also for streams
// that their user closed or dropped. Functions that are nil are not called. They are called on the
// goroutines of the calls, and must not block; one that panics is logged.
type AttemptObserver struct {
	Began, Ended func(*Attempt)
}

// WithAttemptObserver tells o of each attempt of the calls made. Observers given before stay.
func WithAttemptObserver(o AttemptObserver) Option {
	return option(func(c *common) { c.attemptObservers = append(c.attemptObservers, o) })
}

// attempt is what is kept of an attempt whose end is of interest: to an observer, to a picker, to
// rules of a policy file, or to the client, which compares several endpoints.
type attempt struct {
	mu       sync.Mutex // held while it begins, so that its end comes after
	told     Attempt
	states   []any // of each observer
	options  *common
	call     *transport.Call
	endpoint *EndpointState // where it counts; nil: nowhere
	picks    PickObserver
	began    int64 // as roles.Clock has it
	kind     Kind
	passage  *passage       // under a policy file, else nil
	at       *EndpointState // where it is made, if it is
}

// watched returns the attempt that is kept of o, before it is made over conn; nil if nobody is
// interested in its end.
func (o *opening) watched(conn *Connection) *attempt {
	r := o.route
	observed := len(r.options.attemptObservers) > 0
	s := o.chose
	if s == nil && r.endpoints != nil {
		s = r.endpoints.current.Load()
	}
	if s != nil && !s.measured {
		s = nil
	}
	if !observed && s == nil && o.passage == nil {
		return nil
	}
	a := o.attempt
	if a == nil {
		a = &attempt{} // a stream's, which others know after it is over
		o.attempt = a
	}
	a.options, a.call = r.options, o.call
	a.endpoint, a.picks, a.passage, a.at = nil, nil, o.passage, nil
	if s != nil {
		a.endpoint = conn.redialer.endpoint
		if o.chose != nil && o.picked {
			a.picks = s.observer
		}
	}
	a.kind = o.method.Kind
	if observed {
		ctx := o.ctx
		if b := o.options.bound(ctx); b != nil {
			ctx = b.Context // which has its values; b may be used again
		}
		a.told = Attempt{Context: ctx, Method: o.method, Number: max(1, o.attempts), SentBytes: int64(len(o.out.Payload))}
	}
	if !o.call.Unary() {
		o.call.AtEnd = a
	}
	a.mu.Lock()
	return a
}

// opened tells that the attempt was made, if it was.
func (a *attempt) opened(conn *Connection, o *opening, made bool) {
	defer a.mu.Unlock()
	if !made {
		o.call.AtEnd, a.passage = nil, nil
		return
	}
	o.watching = a
	if conn.redialer != nil {
		a.at = conn.redialer.endpoint
	}
	a.began = o.time() // when it was given to the connection (client.md 10.9)
	if a.endpoint != nil {
		a.endpoint.calls.Add(1)
	}
	if len(a.options.attemptObservers) > 0 {
		a.begin(conn, o)
	}
}

// begin tells the observers that the attempt has begun. That is users' code, so other calls on the
// connection must not have to wait for it.
func (a *attempt) begin(conn *Connection, o *opening) {
	a.told.Peer, a.told.Queued = peerOf(conn.conn), time.Duration(a.began-o.asked)
	if conn.redialer != nil {
		a.told.Endpoint = conn.redialer.endpoint.endpoint.Load()
	}
	observers := a.options.attemptObservers
	if cap(a.states) < len(observers) {
		a.states = make([]any, len(observers))
	}
	a.states = a.states[:len(observers)]
	left := o.call.LeaveReading()
	for i := range observers {
		a.tell(i, observers[i].Began)
	}
	if left {
		o.call.ResumeReading()
	}
}

// Run is called once a stream has ended.
func (a *attempt) Run() { a.end(a.call.Result()) }

// end tells how the attempt ended.
func (a *attempt) end(e *wire.Ending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := roles.Clock()
	took := time.Duration(now - a.began)
	if at := a.endpoint; at != nil {
		at.calls.Add(-1)
		outcome := Outcome{Status: Status{Code: e.Code, Delivery: e.Delivery, Local: e.Local}, Duration: took}
		at.latency.ended(a.kind, &outcome, elapsedAt(now))
		if a.picks != nil {
			outcome.Status = statusOfEnding(e)
			a.contain("picker panicked", func() { a.picks.Ended(at, outcome) })
		}
	}
	if a.passage != nil {
		a.passage.ended(e, a.at, elapsedAt(now))
		a.passage = nil
	}
	if len(a.options.attemptObservers) == 0 {
		return
	}
	a.told.Duration, a.told.Status = took, statusOfEnding(e)
	sent, received := a.call.Bytes()
	a.told.SentBytes += sent
	a.told.ReceivedBytes = received
	a.told.Status.Header, a.told.Status.Peer = a.call.Header, a.told.Peer
	for i := range a.options.attemptObservers {
		a.tell(i, a.options.attemptObservers[i].Ended)
	}
	a.told = Attempt{}
	clear(a.states)
}

// tell calls a function of the ith observer.
func (a *attempt) tell(i int, f func(*Attempt)) {
	if f == nil {
		return
	}
	a.told.State = a.states[i]
	a.contain("attempt observer panicked", func() { f(&a.told) })
	a.states[i] = a.told.State
}

func (a *attempt) contain(message string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			a.options.journal.panicked(message, p)
		}
	}()
	f()
}

// dropped ends a watched stream when the collector finds that nobody has it any more, and logs
// that: its user neither received it to its end nor closed it, and its context goes on.
func (a *attempt) dropped(s *clientStream, cancel func()) {
	method, journal := s.method, a.options.journal
	runtime.AddCleanup(s, func(call *transport.Call) {
		if cancel != nil {
			cancel()
		}
		if call.GiveUp(wire.CancelGivenUp, &wire.Ending{Code: Canceled, Message: "the stream was dropped", Local: true}) {
			journal.log(slog.LevelWarn, "stream dropped", "method", method)
		}
	}, s.call)
}
