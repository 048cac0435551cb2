package transport

import (
	"runtime"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Spinning. Where one call follows the other, the next input often comes sooner than a thread can
// be put to sleep and woken. On one machine, both ends of a lone caller's connection would spend
// most of their time on that. So a reader looks for input a few more times before it waits, as long
// as that proves to pay on this connection.

// spinFor is how long it looks, in nanoseconds: about what a wake-up costs.
var spinFor int64 = 50e3

const (
	// maxSpinPause is how many waits pass at most before it is tried again.
	maxSpinPause = 1024
	// maxLongSpins is how often in a row spinning may take more than half of spinFor. That is
	// normal until the other end spins too; if it stays so, spinning gains nothing.
	maxLongSpins = 8
	// spinsBetweenWaits is how long, in nanoseconds, nobody need wait: the scheduler
	// of Go looks for the input of others only when a processor has nothing to do.
	spinsBetweenWaits = 1e6
)

// inputs counts reads from sockets in this process, except those of pollers and package net/http. A
// reader that spins keeps a processor from others, so nobody spins while other connections have
// input.
var inputs atomic.Uint32

// NoteInput counts what another engine has read.
func NoteInput() { inputs.Add(1) }

// spin is what a connection has found out about it. Only its reader touches it.
type spin struct {
	wanted bool   // the next wait may be short
	calls  int    // that the last input brought
	inputs uint32 // as counted last
	skip   uint32 // waits that are left out
	pause  uint32 // how many the last time in vain has cost
	long   int    // spins in a row that took long
	waited int64  // when it last waited
}

// spinsLocked decides about the wait that comes.
func (c *Conn) spinsLocked() {
	s := &c.spin
	others := inputs.Load() - s.inputs
	s.inputs += others
	s.wanted = !c.config.NoSpinning && !c.roles.Bubbled() && s.lone(c.session.OpenCalls(), c.session.OpenServed(), c.roles.Solo) && others <= 1 && !c.shouldPollLocked()
	s.calls = 0
}

// lone reports whether what comes next is the answer of a lone caller or, on the other
// side, its next call.
func (s *spin) lone(open, served int, solo bool) bool {
	return served == 0 && (open == 1 && solo || open == 0 && s.calls == 1)
}

// read is tryRead, repeatedly for a while.
func (s *spin) read(from *tlsSocket, fd uintptr, first, b []byte) (n int, err error) {
	began := roles.Clock()
	if s.skip > 0 || began-s.waited > spinsBetweenWaits {
		s.skip -= min(s.skip, 1)
		s.waited = began
		return 0, nil
	}
	for now := began; now-began < spinFor && inputs.Load() == s.inputs; now = roles.Clock() {
		runtime.Gosched() // others come first
		if n, err = from.tryRead(fd, first, b); n > 0 || err != nil {
			s.found(now - began)
			return n, err
		}
	}
	s.inVain()
	s.waited = began
	return 0, nil
}

func (s *spin) found(after int64) {
	if after < spinFor/2 {
		s.long = 0
		s.pause /= 2 // that more than half of all are in vain does not pay
	} else if s.long++; s.long > maxLongSpins {
		s.inVain()
	}
}

func (s *spin) inVain() {
	s.long = 0
	s.pause = min(max(2*s.pause, 1), maxSpinPause)
	s.skip = s.pause
}
