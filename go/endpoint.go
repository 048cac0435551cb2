package trunkcall

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
)

// Endpoint is one instance of a service, as a resolver tells of it. It must not be
// changed once it was handed over.
type Endpoint struct {
	// ID identifies the endpoint from one set to the next. By default its addresses do. An endpoint
	// whose addresses or server name change is another one.
	ID string
	// Addresses lead to the same instance: HOST:PORT, unix:PATH, mem:NAME, ws://… or
	// wss://…. They are raced as RFC 8305 says.
	Addresses []string
	// ServerName is the name that its certificate must show, unless the configuration of TLS names
	// one. By default it is the host of the dialled address.
	ServerName string
	// Weight is its part of the calls relative to others, for balancers that use it; 0 counts as 1.
	Weight int
	// Zone is where it runs, for balancers that look at it.
	Zone string
	// Attributes are for users' balancers and dialers.
	Attributes map[string]string
}

// State is how a client stands with an endpoint.
type State uint8

// States of an endpoint.
const (
	StateIdle       State = iota // no connection, and none wanted so far
	StateConnecting              // the first attempt, or the first since the last connection, is under way
	StateReady                   // calls can be made
	StateFailing                 // the last attempt failed; it is tried again by itself
)

// String is the state's name in client.md 9.1.
func (s State) String() string {
	return [...]string{"idle", "connecting", "ready", "failing", "unknown"}[min(s, StateFailing+1)]
}

// EndpointState is an endpoint as balancers and pickers see it. The results of its methods change
// as calls are made. They are safe for concurrent use.
type EndpointState struct {
	endpoint atomic.Pointer[Endpoint] // exchanged when a resolver tells something else of the same one
	state    atomic.Uint32            // a State
	calls    atomic.Int64
	latency  movingLatency
	failures atomic.Int64

	identity string
	of       *endpoints // nil in tests of balancers
	given    atomic.Uint64
	applied  uint64 // the number of the last set that it was in; under endpoints.mu
	place    int    // there
	dialed   []*redialer
	opening  chan struct{}   // holds one for each connection being opened
	within   context.Context //nolint:containedctx // ends when the endpoint has left
	leave    context.CancelFunc
}

// maxOpening is how many connections to an endpoint are opened at a time (client.md 9.3): a thousand
// at once would have the server hold a thousand handshakes, each with buffers and a stack.
const maxOpening = 64

// newEndpointState returns what a client keeps of an endpoint.
func newEndpointState(of *endpoints, e Endpoint) *EndpointState {
	s := &EndpointState{identity: e.identity(), of: of}
	s.endpoint.Store(&e)
	if of == nil {
		return s
	}
	s.within, s.leave = context.WithCancel(of.client.done)
	s.opening = make(chan struct{}, maxOpening)
	for range of.client.options.connections {
		s.dialed = append(s.dialed, &redialer{endpoint: s})
	}
	return s
}

// identity is what an endpoint is recognised by, from one set to the next (client.md 7.2).
func (e *Endpoint) identity() string {
	switch {
	case e.ID != "":
		return e.ID
	case e.ServerName != "":
		return strings.Join(e.Addresses, ",") + "#" + e.ServerName
	}
	return strings.Join(e.Addresses, ",")
}

// Endpoint is who it is.
func (e *EndpointState) Endpoint() Endpoint { return *e.endpoint.Load() }

// State is how the client stands with it.
func (e *EndpointState) State() State { return State(e.state.Load()) }

// Calls is how many calls this client has open there.
func (e *EndpointState) Calls() int { return int(e.calls.Load()) }

// Latency is a moving mean of how long unary calls there took; 0 if none has ended lately.
func (e *EndpointState) Latency() time.Duration {
	mean, _ := e.latency.at(elapsed())
	return time.Duration(mean)
}

// Failures is how many attempts to connect have failed in a row.
func (e *EndpointState) Failures() int { return int(e.failures.Load()) }

// Outcome is how a call that was picked for ended.
type Outcome struct {
	Status   Status
	Duration time.Duration // from when it was given to a connection
}

// Pick is what a picker knows of the call that it chooses for. It is valid only
// during the call of Pick.
type Pick struct {
	Context  context.Context //nolint:containedctx // of the call, for its values
	Method   Method
	Metadata Metadata
	// Not is the endpoint of the first attempt, which the second should avoid; nil for the first.
	Not *EndpointState
}

// Picker chooses the endpoint of each call. It is called by many goroutines at
// once and must not block.
type Picker interface {
	// Pick returns one of the endpoints that the balancer was given, or nil if none will do now. If
	// it is not ready, it is connected while the call waits.
	Pick(p *Pick) *EndpointState
}

// PickObserver is a Picker that is told how each call ended that it chose for, even after another
// picker took its place. Calls that were never made are left out.
type PickObserver interface {
	Picker
	Ended(e *EndpointState, o Outcome)
}

// Balancer makes the picker for a set of endpoints. Ours are First, RoundRobin,
// LeastLoaded and Hash.
type Balancer interface {
	// Balance is called with each change of the set or of a state in it, one call at
	// a time. The slice is the balancer's to keep, and is never changed.
	Balance(endpoints []*EndpointState) Picker
}

// Lazy is a Balancer whose endpoints are connected only once they are picked. With any other, all
// endpoints are connected beforehand, and kept so.
type Lazy interface {
	Balancer
	Lazy()
}

// Resolver turns a target into endpoints, and tells of each change.
type Resolver interface {
	// Resolve calls w.Set with the whole set, at once and whenever it changes, until ctx
	// ends, and may return nil when no change will come. After an error or a panic it is
	// called again, later each time, and the last good set stays.
	Resolve(ctx context.Context, w *Watch) error
}
