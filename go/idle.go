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

// closeIdle closes connections that were idle for so long, when another while has passed. All
// are closed together where the balancer wants all connected, or calls would go to
// those only that are left.
func (s *endpoints) closeIdle(while, timeout time.Duration) {
	var idle []*Connection
	busy := false
	for _, e := range s.current.Load().endpoints {
		for _, l := range e.dialed {
			conn := l.current.Load()
			if conn == nil {
				continue
			}
			if open, calls := conn.conn.Activity(); open > 0 || calls != l.calls {
				l.idle, l.calls = 0, calls
			} else if l.idle += while; l.idle >= timeout {
				idle = append(idle, conn)
				continue
			}
			busy = true
		}
	}
	if len(idle) == 0 || busy && !s.lazy {
		return
	}
	s.mu.Lock()
	if !s.lazy {
		s.wanted = s.turns.Len() > 0 // the next call has all connected again
	}
	for _, conn := range idle {
		l := conn.redialer
		if l.current.CompareAndSwap(conn, nil) {
			l.idle, l.calls = 0, 0
			conn.away, l.failures = true, 0
			l.setLocked(StateIdle)
		}
	}
	s.mu.Unlock()
	for _, conn := range idle {
		conn.conn.Drain("no call was made for the idle timeout")
	}
}
