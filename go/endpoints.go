package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// endpoints is what a client knows of its target's endpoints: the resolved set, the state of each,
// and what calls choose from.
type endpoints struct {
	client   *Client
	balancer Balancer
	chosen   bool // the balancer, by an option: it is asked although there is one endpoint only
	lazy     bool // what it does not pick is not connected
	own      bool // the balancer is one of ours
	anySlot  bool // to which one endpoint is as good as another

	current atomic.Pointer[snapshot] // read once by each call
	version atomic.Uint64            // of all that calls decide by; changes under mu

	handshakes transport.Handshakes

	mu       sync.Mutex
	set      []*EndpointState          // in the resolver's order
	known    map[string]*EndpointState // the set by identity
	applied  uint64                    // sets, so far
	wanted   bool                      // somebody has called or connected, and not all were closed for being idle since
	begun    bool                      // somebody ever has
	fault    error                     // why there is no set, nil: none was told of yet
	attempts uint64                    // to connect, so far
	broken   bool                      // no attempt was made again out of turn since an endpoint was ready
	turns    transport.Turns
	changed  bool // since the picker was made
	updating bool // a goroutine makes another
}

// snapshot is what a call chooses from. It is never changed.
type snapshot struct {
	number    uint64
	of        *endpoints
	endpoints []*EndpointState
	only      *EndpointState // every call goes there, without a pick
	picker    Picker
	kept      bool         // the picker is one of before: the balancer has made none for these endpoints
	observer  PickObserver // the picker, if it wants to know how calls end
	measured  bool         // calls are counted and timed
	anySlot   bool         // a call may take a free slot of any endpoint, and go to another than was picked
}

func newEndpoints(c *Client) *endpoints {
	s := &endpoints{client: c, balancer: c.options.balancer, chosen: true}
	if s.balancer == nil {
		s.balancer, s.chosen = RoundRobin(), false
	}
	_, s.lazy = s.balancer.(Lazy)
	if b, ok := s.balancer.(interface{ anySlot() bool }); ok {
		s.own, s.anySlot = true, b.anySlot()
	}
	s.current.Store(&snapshot{})
	return s
}

// connection is a connection of the endpoint that is there, preferably that with the given number;
// nil if there is none.
func (e *EndpointState) connection(number uint32) *Connection {
	n := uint32(len(e.dialed))
	for i := range n {
		if conn := e.dialed[(number+i)%n].current.Load(); conn != nil {
			return conn
		}
	}
	return nil
}

// failed notes why there are no endpoints. The last good set stays.
func (s *endpoints) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = err
	s.version.Add(1)
	s.wakeLocked()
}

// wantLocked begins to look for endpoints and to connect to them.
func (s *endpoints) wantLocked() {
	if s.wanted {
		return
	}
	s.wanted = true
	if !s.begun {
		s.begun = true
		s.client.resolving.start()
		if s.client.options.idle > 0 && s.client.begin() {
			go s.watchIdle()
		}
	}
	if !s.lazy {
		s.connectAllLocked()
	}
}

func (s *endpoints) connectAllLocked() {
	for _, e := range s.set {
		e.connectLocked()
	}
}

// changedLocked has those that wait look again, with another picker where there is one.
func (s *endpoints) changedLocked() {
	s.version.Add(1)
	if !s.chosen && len(s.set) <= 1 && !s.updating {
		s.takeLocked(&snapshot{endpoints: s.set})
		return
	}
	s.changed = true
	if !s.updating {
		s.updating = true
		go s.update() // not waited for: the balancer may be the user's
	}
}

// update has the balancer make pickers until nothing has changed meanwhile.
func (s *endpoints) update() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.changed && s.client.done.Err() == nil {
		s.changed = false
		set, last := s.set, s.current.Load()
		s.mu.Unlock()
		picker, err := balance(s.balancer, slices.Clone(set))
		s.mu.Lock()
		next := &snapshot{endpoints: set, picker: picker, anySlot: s.anySlot}
		if err != nil {
			s.client.options.log(slog.LevelError, "balancer failed", "target", s.client.target, "error", err)
			next.picker, next.kept = last.picker, true
			if next.picker == nil {
				next.picker = unable{err}
			}
		}
		s.takeLocked(next)
	}
	s.updating = false
}

// balance has a balancer make a picker.
func balance(b Balancer, set []*EndpointState) (p Picker, err error) {
	switch err = apart(func() { p = b.Balance(set) }); {
	case err != nil:
		return nil, fmt.Errorf("balancer %T: %w", b, err)
	case p == nil:
		return nil, fmt.Errorf("balancer %T: it has made no picker", b)
	}
	return p, nil
}

// apart runs f, which is the user's, on a goroutine of its own, and says why it did not come back.
func apart(f func()) (err error) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		done := false
		defer func() {
			if value := recover(); value != nil {
				err = fmt.Errorf("it panicked: %v", value)
			} else if !done {
				err = errors.New("it ended its goroutine")
			}
		}()
		f()
		done = true
	}()
	<-over
	return err
}

// unable is the picker of a balancer that has made none.
type unable struct{ err error }

func (u unable) Pick(*Pick) *EndpointState { panic(u.err) }

// takeLocked makes next what calls choose from.
func (s *endpoints) takeLocked(next *snapshot) {
	next.of, next.number = s, s.current.Load().number+1
	for _, e := range next.endpoints {
		e.given.Store(next.number)
	}
	next.observer, _ = next.picker.(PickObserver)
	if next.observer == nil {
		next.only = s.sole(next.endpoints)
	}
	next.measured = next.observer != nil || len(next.endpoints) > 1
	s.current.Store(next)
	s.version.Add(1)
	s.wakeLocked()
}

// sole is the endpoint that all calls go to; nil if a picker has to choose. A user's picker may
// want a call to wait rather than to go to another endpoint; ours do not.
func (s *endpoints) sole(set []*EndpointState) *EndpointState {
	switch {
	case len(set) == 1 && (s.own || set[0].State() == StateReady):
		return set[0]
	case !s.own:
		return nil
	}
	var ready *EndpointState
	for _, e := range set {
		switch e.State() {
		case StateReady:
			if ready != nil {
				return nil
			}
			ready = e
		case StateFailing:
		default:
			return nil
		}
	}
	return ready
}

// wakeLocked has the calls that wait for a connection look again.
func (s *endpoints) wakeLocked() {
	s.turns.WakeAll(s.client.pool)
}

// Leave takes turn from those that wait. It reports false when it has come already.
func (s *endpoints) Leave(turn *transport.Turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns.Remove(turn)
}

// await makes a call wait that found no connection at e when the version was as given; e is nil if
// no endpoint was chosen. It reports false if something has changed since, and fails if there is
// nothing to wait for.
func (s *endpoints) await(o *opening, e *EndpointState, version uint64) (waits bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client.done.Err() != nil {
		return false, ErrClientClosed
	}
	s.wantLocked()
	if s.version.Load() != version {
		return false, nil
	}
	if e != nil {
		e.connectLocked()
	}
	if !s.comingLocked(o) && !o.waitsForReady() {
		return false, s.whyLocked(e)
	}
	if err := o.enterQueue(false); err != nil {
		return false, err
	}
	o.stand(s)
	s.turns.Add(&o.waiter.turn)
	return true, nil
}

// comingLocked reports whether a call that fails fast has something to wait for: the attempts that
// were under way when it first had to wait.
func (s *endpoints) comingLocked(o *opening) bool {
	if s.changed || s.updating || s.set == nil && s.fault == nil {
		return true
	}
	if o.upTo == 0 {
		o.upTo = s.attempts
	}
	return slices.ContainsFunc(s.set, func(e *EndpointState) bool {
		return e.State() == StateConnecting || slices.ContainsFunc(e.dialed, func(l *redialer) bool {
			return l.attempt > 0 && l.attempt <= o.upTo
		})
	})
}

// late is the error of a call whose context ended, with err, while it waited for an endpoint.
func (s *endpoints) late(err error) error {
	s.mu.Lock()
	resolved, fault, why := s.set != nil, s.fault, s.failuresLocked()
	s.mu.Unlock()
	if !resolved {
		late := fmt.Errorf("resolver %s has told of no endpoints in time: %w", s.client.resolving.scheme, err)
		if fault != nil {
			return fmt.Errorf("%w; %w", late, fault)
		}
		return late
	}
	for _, conn := range s.client.Connections() {
		select {
		case <-conn.ready:
		default:
			why = append(why, fmt.Errorf("%v: %s", conn.Remote(), conn.silence()))
		}
	}
	why = append(why, s.handshakes.Silent()...)
	if len(why) > 0 {
		return fmt.Errorf("%w; no more in time: %w", why, err)
	}
	return fmt.Errorf("cannot reach %s in time: %w", s.client.target, err)
}

// toldReasons bounds how many endpoints an error names.
const toldReasons = 8

// whyLocked is why a call to e cannot be made; e is nil if no endpoint was chosen.
func (s *endpoints) whyLocked(e *EndpointState) error {
	if s.set == nil {
		return s.fault
	}
	if e == nil && !slices.ContainsFunc(s.set, func(e *EndpointState) bool { return e.State() == StateFailing }) {
		return fmt.Errorf("balancer %T: it picks none of the %d endpoints of %s", s.balancer, len(s.set), s.client.target)
	}
	return s.unreachedLocked()
}

// unreachedLocked is why none of the endpoints that are failing was reached.
func (s *endpoints) unreachedLocked() error {
	if why := s.failuresLocked(); len(why) > 0 {
		return why
	}
	return fmt.Errorf("no endpoint of %s is connected", s.client.target)
}

// failuresLocked is why each of the endpoints that are failing was not reached.
func (s *endpoints) failuresLocked() (why unreached) {
	for _, e := range s.set {
		for _, l := range e.dialed {
			if l.state == StateFailing && l.current.Load() == nil {
				why = append(why, l.whyLocked())
				break
			}
		}
	}
	return why
}

// connect connects to the endpoints and waits until that is done.
func (s *endpoints) connect(ctx context.Context) error {
	turn := &transport.Turn{}
	come := turn.Come()
	for {
		s.mu.Lock()
		conns, err := s.connectingLocked()
		if conns == nil && err == nil {
			s.turns.Add(turn)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if conns != nil {
			if again, err := s.greeted(ctx, conns); !again {
				return err
			}
			continue
		}
		select {
		case <-come:
		case <-ctx.Done():
			s.Leave(turn)
			return s.late(ctx.Err())
		}
	}
}

// greeted waits until the servers at the other ends of conns have greeted. Of several endpoints one that has will do;
// where none has, it reports that another look is worth it.
func (s *endpoints) greeted(ctx context.Context, conns []*Connection) (again bool, err error) {
	one := false
	for _, conn := range conns {
		fault := conn.greeted(ctx)
		if fault == nil {
			one = true
			continue
		}
		if err == nil {
			err = fault
		}
		if cause := conn.conn.Err(); cause != nil {
			conn.redialer.retire(conn, cause)
		}
	}
	s.mu.Lock()
	several := len(s.set) > 1
	s.mu.Unlock()
	if several && one {
		return false, nil
	}
	return several && err != nil && ctx.Err() == nil, err
}

// connectingLocked begins to connect to the endpoints. It returns the connections once no
// more are under way, or why there are none; neither while they are.
func (s *endpoints) connectingLocked() (conns []*Connection, err error) {
	if s.client.done.Err() != nil {
		return nil, ErrClientClosed
	}
	s.wantLocked()
	if s.set == nil {
		return nil, s.fault
	}
	failed, waits := false, false
	for _, e := range s.set {
		e.connectLocked()
		for _, l := range e.dialed {
			conn := l.current.Load()
			switch {
			case conn != nil:
				conns = append(conns, conn)
			case l.state == StateConnecting:
				waits = true
			default:
				failed = true
			}
		}
		if s.lazy && (waits || len(conns) > 0) {
			break
		}
	}
	switch {
	case waits:
		return nil, nil
	case conns == nil || failed && len(s.set) == 1:
		return nil, s.unreachedLocked()
	}
	return conns, nil
}

// close has all that wait look again, when the client is closed.
func (s *endpoints) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version.Add(1)
	s.wakeLocked()
}
