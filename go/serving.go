package trunkcall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Handler is a method with the function that serves it; one of Unary and
// Stream is set, as Method.Kind says. Usually UnaryMethod.Handler and its like
// make it.
type Handler struct {
	Method Method
	// Unary serves unary and one-way methods. It decodes its request with
	// in.Decode and returns the response, nil for one-way.
	Unary func(ctx context.Context, in *ServerCall) (response any, err error)
	// Stream serves any other kind.
	Stream func(ctx context.Context, stream Stream) error
	// Inline runs a unary handler on the goroutine that reads its connection. The handler must not
	// block: until it returns, its connection may stand still, and for a moment others that the
	// same goroutine reads.
	Inline bool
	// NoSideEffects says that a unary handler changes nothing, so that HTTP clients may call it by
	// GET, and caches in between may keep the answer.
	NoSideEffects bool
	// Carries reports whether a codec can carry the method's messages. HTTP clients that call the
	// method in another codec are told which ones can. nil: it is not known beforehand.
	Carries func(codec Codec) bool

	messages messages    // its Protobuf messages
	pace     *roles.Pace // roles.Inline if Inline
	measured *roles.Pace // pace for those who do not run handlers inline
}

// serving is what all calls share that a Server serves, or a Client for its servers.
type serving struct {
	options      *common
	side         string // "server" or "client", for what callers are told
	interceptors []Interceptor
	admission    func(context.Context, *Arrival) (Admission, error) // nil: all calls are admitted
	callLimits   *policyFile                                        // that says limits, nil without one
	oneWays      oneWays
	counters     counters

	more       func()     // called when there are more handlers, nil for nobody
	registered sync.Mutex // guards handlers
	handlers   map[string]*Handler

	// Written with each call, by all processors: what is only read is not to share its cache line.
	_       [64]byte
	running atomic.Int64 // handlers, and calls accepted to become one
	_       [56]byte
}

// begin makes s ready, before anything else can know it.
func (s *serving) begin(side string, options *common, interceptors []Interceptor) {
	s.side, s.options, s.interceptors = side, options, interceptors
	s.handlers = map[string]*Handler{}
}

// Register adds handlers of methods that the other side calls: a server's clients, or a client's
// servers over its own connections. It fails for a name that is malformed or taken, and for a
// method that contradicts a .proto file of this process; handlers before that one stay registered.
// Methods may be added at any time.
func (s *serving) Register(handlers ...Handler) error {
	err := s.register(handlers)
	if s.more != nil {
		s.more()
	}
	return err
}

func (s *serving) register(handlers []Handler) error {
	s.registered.Lock()
	defer s.registered.Unlock()
	for _, h := range handlers {
		h.Method.Name = CanonicalName(h.Method.Name)
		name := h.Method.Name
		if err := nameFault(name); err != nil {
			return err
		}
		switch {
		case s.handlers[name] != nil:
			return fmt.Errorf("method %s is registered already", name)
		case (h.Method.Kind == KindUnary || h.Method.Kind == KindOneWay) != (h.Unary != nil) || (h.Unary == nil) == (h.Stream == nil):
			return fmt.Errorf("method %s is %v and lacks the handler for that", name, h.Method.Kind)
		}
		if err := h.checkDescribed(); err != nil {
			return err
		}
		h.measured = &roles.Pace{}
		if h.pace = h.measured; h.Inline && h.Unary != nil {
			h.pace = roles.Inline
		}
		s.handlers[name] = &h
	}
	return nil
}

// Services returns the names of the services that have a method, sorted.
func (s *serving) Services() []string {
	s.registered.Lock()
	defer s.registered.Unlock()
	found := map[string]bool{}
	for name := range s.handlers {
		found[service(name)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// Methods returns the methods that are served, sorted by name.
func (s *serving) Methods() []Method {
	s.registered.Lock()
	defer s.registered.Unlock()
	var all []Method
	for _, name := range slices.Sorted(maps.Keys(s.handlers)) {
		all = append(all, s.handlers[name].Method)
	}
	return all
}

// Running is the number of handlers that run, those included whose call was
// ended already.
func (s *serving) Running() int { return int(s.running.Load()) }

// find returns the handler of a name that a peer calls; what it found is kept
// with the peer's binding. Names that are not served are looked up each time,
// since services may come later.
func (s *serving) find(b *wire.Binding) *Handler {
	if h, ok := b.Value.(*Handler); ok {
		return h
	}
	h := s.named(b.Name)
	if h != nil {
		b.Value = h
	}
	return h
}

// named returns the handler of a name, nil without one.
func (s *serving) named(name string) *Handler {
	s.registered.Lock()
	defer s.registered.Unlock()
	if h := s.handlers[name]; h != nil {
		return h
	}
	return s.handlers[CanonicalName(name)]
}

// admit gives a call the place of a handler, or says that there is none.
func (s *serving) admit() *wire.Refusal {
	if n := s.running.Add(1); n > int64(s.options.runningHandlers) {
		s.running.Add(-1)
		return &wire.Refusal{
			Code: ResourceExhausted, RetryAfter: 50,
			Message: fmt.Sprintf("running handlers have reached their limit of %d", s.options.runningHandlers),
		}
	}
	return nil
}

func (s *serving) notServed(name string) *wire.Refusal {
	return &wire.Refusal{Code: Unimplemented, Message: fmt.Sprintf("method %s is not served by this %s", name, s.side)}
}

// wholeFirst reports whether the method takes exactly one request.
func (h *Handler) wholeFirst() bool { return h.Unary != nil || h.Method.Kind == KindServerStream }

// acceptor is serving as connections see it, so that its methods are not among the user's.
type acceptor struct{ *serving }

// Accept decides about a call: it is refused, and provably not run, when
// nobody serves it, when its codec is not known, or when too
// many handlers run.
func (s acceptor) Accept(_ *transport.Conn, in *wire.Incoming) (*transport.Stream, *wire.Refusal) {
	h := s.find(in.Method)
	if h == nil {
		return nil, s.notServed(in.Method.Name)
	}
	codec, refusal := s.options.codecs.of(in)
	if refusal != nil {
		return nil, refusal
	}
	if in.Refused {
		return nil, nil // for a reason that counts less than those above
	}
	if refusal := s.admit(); refusal != nil {
		return nil, refusal
	}
	call := &ServerCall{serving: s.serving, handler: h, codec: codec, Metadata: in.Metadata}
	call.stream.Init(call, h.Unary != nil)
	call.stream.Whole = h.wholeFirst()
	call.stream.Pace = h.pace
	call.context.call = call
	call.context.deadline = in.Deadline
	if in.OneWay {
		s.oneWays.add(call)
	}
	return &call.stream, nil
}

// Dropped gives back the place of a call that ended before its handler started.
func (s acceptor) Dropped(st *transport.Stream) {
	c := st.Owner.(*ServerCall) //nolint:forcetypeassert // Accept sets nothing else
	c.leave()
	if st.OneWay() {
		s.oneWays.remove(c)
	}
}

func (s acceptor) Stopped(st *transport.Stream, code wire.Code) {
	st.Owner.(*ServerCall).stoppedBy(code) //nolint:forcetypeassert // Accept sets nothing else
}

// stoppedBy ends the handler's context as the call ended.
func (c *ServerCall) stoppedBy(code Code) {
	cause := context.Canceled
	if code == DeadlineExceeded {
		cause = context.DeadlineExceeded
	}
	c.context.cancel(cause)
}
