package trunkcall

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// userProtocols are the protocols of the user's that a server has: they start and stop with it.
type userProtocols struct {
	starting sync.Mutex // one starts them at a time
	next     int        // the first that has not started

	grace    context.Context
	endGrace context.CancelFunc

	// Guarded by the server's lock.
	started []*startedProtocol
	stopped chan struct{} // closed when all have stopped; nil before they were told to
}

type startedProtocol struct {
	Protocol
	calls *Calls
}

// contained calls a protocol of the user's, whose panic is an error.
func contained(what string, call func() error) (err error) {
	returned := false
	defer func() {
		if p := recover(); !returned {
			err = fmt.Errorf("%s panicked: %v\n%s", what, p, debug.Stack())
		}
	}()
	err = call()
	returned = true
	return err
}

// startProtocols starts those that have not been. One that fails is tried again with the next listener.
func (s *Server) startProtocols() error {
	u := &s.users
	u.starting.Lock()
	defer u.starting.Unlock()
	for ; u.next < len(s.options.userProtocols); u.next++ {
		p := s.options.userProtocols[u.next]
		one := &startedProtocol{p, &Calls{server: s, name: p.Name(), calls: map[*AcceptedCall]struct{}{}}}
		if err := contained("Start", func() error { return p.Start(one.calls) }); err != nil {
			return fmt.Errorf("protocol %s: %w", p.Name(), err)
		}
		s.mu.Lock()
		stopping := s.stopping
		if !stopping {
			u.started = append(u.started, one)
		}
		s.mu.Unlock()
		if stopping {
			u.next++
			s.stopProtocol(one)
			return ErrServerStopped
		}
	}
	return nil
}

// stopProtocols tells them once to stop, and returns what is closed when all have.
func (s *Server) stopProtocols() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &s.users
	if u.stopped != nil {
		return u.stopped
	}
	u.stopped = make(chan struct{})
	var all sync.WaitGroup
	for _, one := range u.started {
		all.Go(func() { s.stopProtocol(one) })
	}
	if len(u.started) == 0 {
		close(u.stopped)
		return u.stopped
	}
	go func() {
		all.Wait()
		close(u.stopped)
	}()
	return u.stopped
}

func (s *Server) stopProtocol(one *startedProtocol) {
	if err := contained("Stop", func() error { return one.Stop(s.users.grace) }); err != nil {
		s.options.journal.failed("a protocol has not stopped in order", "protocol", one.Name(), "error", err)
	}
}

// cutOffProtocols ends the calls of protocols without connections, and gives them a second to tell their callers.
func (s *Server) cutOffProtocols() {
	stopped := s.stopProtocols()
	s.users.endGrace()
	s.mu.Lock()
	started := s.users.started
	s.mu.Unlock()
	for _, one := range started {
		one.calls.cutOff(Errorf(Unavailable, "%v", ErrServerStopped))
	}
	patience := time.NewTimer(transport.LingerTime)
	defer patience.Stop()
	select {
	case <-stopped:
	case <-patience.C:
	}
}
