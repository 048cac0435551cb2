package trunkcall

import "time"

// watchIdle closes connections that have not been used for the idle timeout, until the client
// is closed.
func (s *endpoints) watchIdle() {
	timeout := s.client.options.idle
	every := timeout / 2
	defer s.client.closed.Done()
	for s.client.done.Err() == nil {
		sleep(s.client.done, every)
		s.closeIdle(every, timeout)
	}
}

// closeIdle closes connections that have been idle for the idle timeout; while is the time since
// the last look. If the balancer wants all endpoints connected, all are closed together, or calls
// would go only to those that are left.
func (s *endpoints) closeIdle(while, timeout time.Duration) {
	idle := map[*Connection]struct{}{}
	for _, e := range s.current.Load().endpoints {
		for _, l := range e.dialed {
			conn := l.current.Load()
			if conn == nil {
				continue
			}
			if open, calls := conn.conn.Activity(); open > 0 || calls != l.calls {
				l.idle, l.calls = 0, calls
			} else if l.idle += while; l.idle >= timeout {
				idle[conn] = struct{}{}
			}
		}
	}
	if len(idle) == 0 {
		return
	}
	s.mu.Lock()
	if !s.lazy {
		if s.inUseLocked(idle) {
			s.mu.Unlock()
			return
		}
		s.wanted = false // the next call has all connected again
	}
	for conn := range idle {
		l := conn.redialer
		if l.current.CompareAndSwap(conn, nil) {
			l.idle, l.calls = 0, 0
			conn.away, l.failures = true, 0
			l.setLocked(StateIdle)
		}
	}
	s.mu.Unlock()
	for conn := range idle {
		conn.conn.Drain("no call was made for the idle timeout")
	}
}

// inUseLocked reports whether calls wait, there is a connection beside those that are idle, or there may be one soon: an
// attempt that is under way brings one whatever becomes of the others.
func (s *endpoints) inUseLocked(idle map[*Connection]struct{}) bool {
	if s.turns.Len() > 0 {
		return true
	}
	for _, e := range s.set {
		for _, l := range e.dialed {
			conn := l.current.Load()
			if _, unused := idle[conn]; l.attempt > 0 || conn != nil && !unused {
				return true
			}
		}
	}
	return false
}
