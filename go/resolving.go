package trunkcall

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// Bounds on what resolvers tell (spec/client.md 7.1, 8).
const (
	largestSet    = 100_000
	mostAddresses = 64
	largestWeight = 1_000_000
	betweenSets   = 10 * time.Millisecond
)

// DefaultMostEndpoints is how many endpoints of a set a client uses (spec/client.md 8.5).
const DefaultMostEndpoints = 20

// Watch is what a resolver works for.
type Watch struct{ of *resolving }

// Target is what follows the scheme.
func (w *Watch) Target() string { return w.of.rest }

// Set replaces the whole set. If something is wrong with it, the error says what, and the last good
// set stays. The slice is copied, but not the addresses and attributes of its endpoints.
func (w *Watch) Set(endpoints []Endpoint) error { return w.of.set(endpoints) }

// Fail says why there is no set, or none that is newer, while the resolver goes on. It is logged, once for the same
// error in a row. The last good set stays; as long as there was none, calls fail or wait as if Resolve had returned err.
func (w *Watch) Fail(err error) { w.of.failing(err, true) }

// Failed has a value after an endpoint could not be reached. A resolver that asks at intervals may
// then ask again at once.
func (w *Watch) Failed() <-chan struct{} { return w.of.failed }

// resolving is where a client's endpoints come from.
type resolving struct {
	client   *Client
	id       uint64 // random: which endpoints of many the client uses
	scheme   string
	resolver Resolver // nil: they stand in the target
	rest     string
	failed   chan struct{}

	mu      sync.Mutex // taken before endpoints.mu
	good    uint64     // sets that were good
	refused bool       // something was, since the last of them
	noted   string     // what was logged last; empty since there was a good set
	applied time.Time  // when the last one was
	next    []Endpoint // to be applied; nil: none
	last    []Endpoint // that was applied, without what was repeated in it
}

// begin finds out what the target is, and takes the endpoints that stand in it.
func (r *resolving) begin(c *Client) error {
	r.client, r.id, r.failed = c, rand.Uint64(), make(chan struct{}, 1) //nolint:gosec // no secret
	static, scheme, resolver, rest, err := parseTarget(c.target, c.options.resolvers)
	if err != nil {
		return err
	}
	r.scheme, r.resolver, r.rest = scheme, resolver, rest
	if static != nil {
		c.endpoints.apply(r.choose(static))
	}
	return nil
}

// start has the resolver begin, once somebody wants to know.
func (r *resolving) start() {
	if r.resolver != nil {
		go r.run()
	}
}

// run runs the resolver, again after each failure. Close does not wait for it: what a user's
// resolver does after its context has ended is its own business.
func (r *resolving) run() {
	failures, good := 0, uint64(0)
	for {
		err := r.resolve()
		r.mu.Lock()
		if r.good > good {
			failures, good = 0, r.good
		}
		r.mu.Unlock()
		if r.client.done.Err() != nil {
			return
		}
		switch {
		case err == nil && good > 0:
			return // no change will come
		case err == nil:
			err = errors.New("it ended and has told of no endpoints")
		}
		r.refuse(err)
		failures++
		sleep(r.client.done, rand.N(longestWait(failures))) //nolint:gosec // jitter
	}
}

// resolve calls the resolver once.
func (r *resolving) resolve() (err error) {
	if fault := apart(func() { err = r.resolver.Resolve(r.client.done, &Watch{r}) }); fault != nil {
		return fault
	}
	return err
}

// refuse notes why there is no new set. Of a row of failures, each of which has the resolver called again, those who gave
// no logger are told the first.
func (r *resolving) refuse(why error) {
	r.mu.Lock()
	first := !r.refused
	r.refused = true
	r.mu.Unlock()
	r.failing(why, first)
}

// failing has calls know why there is no new set. The last good one stays. With told, it is logged without a logger too.
func (r *resolving) failing(why error, told bool) {
	err := fmt.Errorf("resolver %s: %w", r.scheme, why)
	r.client.endpoints.failed(err)
	r.mu.Lock()
	again := r.noted == err.Error()
	if told || r.client.options.journal.logger != nil { // else it is not
		r.noted = err.Error()
	}
	r.mu.Unlock()
	if again {
		return
	}
	args := []any{"target", r.client.target, "error", err}
	if told {
		r.client.options.journal.warn("resolver failed", args...)
	} else {
		r.client.options.log(slog.LevelWarn, "resolver failed", args...)
	}
}

// set takes a set from the resolver. Of sets in quick succession the last counts.
func (r *resolving) set(set []Endpoint) error {
	if r.client.done.Err() != nil {
		return ErrClientClosed
	}
	set = slices.Clone(set) // what its resolver changes in place is to be noticed the next time
	r.mu.Lock()
	last := r.last
	r.mu.Unlock()
	if err := checkSet(set, last); err != nil {
		r.refuse(err)
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.good++
	r.refused, r.noted = false, ""
	waits := r.next != nil
	r.next = set
	if wait := time.Until(r.applied.Add(betweenSets)); wait > 0 {
		if !waits {
			time.AfterFunc(wait, r.applyNext)
		}
		return nil
	}
	r.applyLocked()
	return nil
}

func (r *resolving) applyNext() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next != nil && r.client.done.Err() == nil {
		r.applyLocked()
	}
}

func (r *resolving) applyLocked() {
	set := r.next
	r.next, r.applied = nil, time.Now()
	r.client.endpoints.apply(r.choose(set))
}

// choose leaves out repeated endpoints, and, of a large set, those that this client does not use.
func (r *resolving) choose(set []Endpoint) []Endpoint {
	if hasRepeated(set, r.last) {
		set = r.withoutRepeated(set)
	}
	r.last = set
	if most := r.client.options.most; most > 0 && !r.client.endpoints.lazy {
		return part(r.id, most, set)
	}
	return set
}

func (r *resolving) withoutRepeated(set []Endpoint) []Endpoint {
	seen := make(map[string]struct{}, len(set))
	kept := make([]Endpoint, 0, len(set))
	for _, e := range set {
		if _, ok := seen[e.identity()]; !ok {
			seen[e.identity()] = struct{}{}
			kept = append(kept, e)
		}
	}
	r.client.options.log(slog.LevelWarn, "endpoints repeated", "target", r.client.target, "times", len(set)-len(kept))
	return kept
}

// checkSet says what is wrong with a set. Nothing is with the last.
func checkSet(set, last []Endpoint) error {
	switch {
	case len(set) == 0:
		return errors.New("the set of endpoints is empty")
	case len(set) > largestSet:
		return fmt.Errorf("a set of %d endpoints, at most %d", len(set), largestSet)
	}
	for _, i := range unlike(set, last) {
		if err := set[i].check(); err != nil {
			return fmt.Errorf("endpoint %d of %d: %w", i+1, len(set), err)
		}
	}
	return nil
}

func (e *Endpoint) check() error {
	switch {
	case len(e.Addresses) == 0:
		return fmt.Errorf("%q has no address", e.ID)
	case len(e.Addresses) > mostAddresses:
		return fmt.Errorf("%q has %d addresses, at most %d", e.ID, len(e.Addresses), mostAddresses)
	case e.Weight < 0 || e.Weight > largestWeight:
		return fmt.Errorf("%q has the weight %d, want 0 to %d", e.identity(), e.Weight, largestWeight)
	}
	for _, address := range e.Addresses {
		if err := transport.CheckAddress(address); err != nil {
			return err
		}
	}
	return nil
}

// unreached says that an endpoint could not be reached.
func (r *resolving) unreached() {
	select {
	case r.failed <- struct{}{}:
	default:
	}
}
