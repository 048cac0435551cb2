package transport

import (
	"runtime"
	"sync/atomic"
)

// Spinning. Where one call follows the other, the next input often comes sooner than
// it takes to put a thread to sleep and to wake it: both ends of a lone caller's
// connection on one machine would spend most of their time, and of the processors',
// on that. Whoever is about to wait therefore looks a few times more before it does,
// as long as that proves to pay on this connection.

// spinFor is how long it looks, in nanoseconds: about what a wake-up costs.
var spinFor int64 = 50e3

// maxSpinPause is how many waits pass at most before it is tried again.
const maxSpinPause = 1024

// inputs counts what all connections of the process read. Who spins keeps a processor
// from whoever has something to do, so nobody does while others do.
var inputs atomic.Uint32

// spin is what a connection has found out about it. Only its reader touches it.
type spin struct {
	wanted bool   // the next wait may be short
	calls  int    // that the last input brought
	inputs uint32 // as counted last
	skip   uint32 // waits that are left out
	pause  uint32 // how many the last time in vain has cost
}

// spinsLocked decides about the wait that comes.
func (c *Conn) spinsLocked() {
	s := &c.spin
	others := inputs.Load() - s.inputs
	s.inputs += others
	s.wanted = s.lone(c.session.OpenCalls(), c.session.OpenServed(), c.solo) && others <= 1 && !c.crowdedLocked()
	s.calls = 0
}

// lone reports whether what comes next is the answer of a lone caller or, on the other
// side, its next call.
func (s *spin) lone(open, served int, solo bool) bool {
	return served == 0 && (open == 1 && solo || open == 0 && s.calls == 1)
}

// read is tryRead, repeatedly for a while.
func (s *spin) read(fd uintptr, first, b []byte) (n int, err error) {
	if s.skip > 0 {
		s.skip--
		return 0, nil
	}
	for until := clock() + spinFor; clock() < until && inputs.Load() == s.inputs; {
		runtime.Gosched() // others come first
		if n, err = tryRead(fd, first, b); n > 0 || err != nil {
			s.pause = 0
			return n, err
		}
	}
	s.pause = min(max(2*s.pause, 1), maxSpinPause)
	s.skip = s.pause
	return 0, nil
}
