package trunkcall

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// Registrar publishes where a server is found: package registry has one.
type Registrar interface {
	// Publish is called when the server listens, and again when it listens on more or has more services: s has the
	// addresses and the services. It must not wait for the registry. With an error Listen, Start or Serve fails; behind
	// a registering it is logged. Where a later registrar fails that, it is called again, with the addresses that are left:
	// if there is none, nothing may stay published. Calls may overlap.
	Publish(s *Server) error
	// Withdraw takes back what was published, once, when the server is about to stop. Calls go on meanwhile. It returns
	// when that is done, and soon after ctx has ended.
	Withdraw(ctx context.Context) error
}

// How long a server waits for its registrars (spec/registry.md 5.6).
const (
	withdrawWithin = 5 * time.Second
	closesWithin   = time.Second
)

// WithRegistrar has r publish the server when it listens, and withdraw it before it stops: Stop first withdraws, which
// takes 5 seconds at most, then waits for the delay of WithDrainDelay, in which clients hear of it, and then drains.
func WithRegistrar(r Registrar) ServerOption {
	return serverOption(func(s *serverOptions) {
		if r == nil {
			s.wrong("the registrar is nil")
			return
		}
		s.registrars = append(s.registrars, r)
	})
}

// publish has the server published. If that fails, those listeners are closed, which have just been started.
func (s *Server) publish(listeners []*transport.Listener) error {
	for i, r := range s.options.registrars {
		if err := r.Publish(s); err != nil {
			s.mu.Lock()
			s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(l *transport.Listener) bool { return slices.Contains(listeners, l) })
			s.mu.Unlock()
			for _, l := range listeners {
				l.Close()
			}
			s.publishIn(s.options.registrars[:i])
			return err
		}
	}
	return nil
}

// publishAgain has a server that listens published with the services that it has meanwhile.
func (s *Server) publishAgain() {
	if len(s.options.registrars) == 0 || len(s.Addrs()) == 0 {
		return
	}
	select {
	case <-s.leaving:
		return
	default:
	}
	s.publishIn(s.options.registrars)
}

// publishIn has registrars publish what has become of the server.
func (s *Server) publishIn(registrars []Registrar) {
	for _, r := range registrars {
		if err := r.Publish(s); err != nil {
			s.options.log(slog.LevelWarn, "the server was not published again in a registry", "error", err)
		}
	}
}

// withdrawing is how registrars withdraw a server.
type withdrawing struct {
	once sync.Once
	done chan struct{} // closed when they have
	end  context.CancelFunc
}

// withdraw begins to withdraw the server, once. The channel is closed when that is done.
func (s *Server) withdraw() <-chan struct{} {
	w := &s.withdrawing
	w.once.Do(func() {
		w.done = make(chan struct{})
		if len(s.options.registrars) == 0 {
			w.end = func() {}
			close(w.done)
			return
		}
		var ctx context.Context
		ctx, w.end = context.WithTimeout(noContext, withdrawWithin)
		var all sync.WaitGroup
		for _, r := range s.options.registrars {
			all.Go(func() {
				var err error
				if fault := apart(func() { err = r.Withdraw(ctx) }); fault != nil {
					err = fault
				}
				if err != nil && !errors.Is(err, context.Canceled) {
					s.options.log(slog.LevelWarn, "the server was not withdrawn from a registry", "error", err)
				}
			})
		}
		go func() {
			defer w.end()
			all.Wait()
			close(w.done)
		}()
	})
	return w.done
}

// withdrawSoon is for a server that is closed: it does not wait for long.
func (s *Server) withdrawSoon() {
	soon := time.NewTimer(closesWithin)
	defer soon.Stop()
	select {
	case <-s.withdraw():
	case <-soon.C:
		s.withdrawing.end()
	}
}
