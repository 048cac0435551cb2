//go:build linux && !race

package transport

import (
	"bytes"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// spinning has those who spin do it for as long as a test may take, or not at all.
func spinning(t *testing.T, limit time.Duration) {
	before := spinFor
	spinFor = int64(limit)
	t.Cleanup(func() { spinFor = before })
}

func socketPair(t *testing.T) (near, far int) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closeDescriptor(fds[0])
		closeDescriptor(fds[1])
	})
	return fds[0], fds[1]
}

func TestASpinFindsWhatComes(t *testing.T) {
	spinning(t, time.Minute)
	near, far := socketPair(t)
	s := spin{inputs: inputs.Load(), waited: roles.Clock(), pause: 4}
	go syscall.Write(far, []byte("came"))
	b := make([]byte, 10)
	if n, err := s.read(nil, uintptr(near), nil, b); n != 4 || err != nil || s.pause != 2 || s.skip != 0 {
		t.Fatalf("%d bytes, %v, pause %d", n, err, s.pause)
	}
}

func TestASpinEndsForOthers(t *testing.T) {
	spinning(t, time.Minute)
	near, _ := socketPair(t)
	s := spin{inputs: inputs.Load(), waited: roles.Clock()}
	go NoteInput()
	began := time.Now()
	if n, err := s.read(nil, uintptr(near), nil, make([]byte, 10)); n != 0 || err != nil || s.pause != 1 {
		t.Fatalf("%d bytes, %v, pause %d", n, err, s.pause)
	}
	if took := time.Since(began); took > long {
		t.Errorf("it went on for %v", took)
	}
}

func TestSpinsInVainBecomeRare(t *testing.T) {
	spinning(t, 0)
	near, _ := socketPair(t)
	s := spin{inputs: inputs.Load()}
	tried := 0
	for range 10_000 {
		s.waited = roles.Clock()
		if s.skip == 0 {
			tried++
		}
		if n, err := s.read(nil, uintptr(near), nil, make([]byte, 10)); n != 0 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	if tried != 19 { // 1, 2, 4 … 1024 waits apart, then 1024
		t.Errorf("tried %d times in 10000 waits", tried)
	}
}

// What comes late each time costs more than a wake-up would.
func TestLongSpinsAreInVainForLong(t *testing.T) {
	var s spin
	for n := range maxLongSpins {
		if s.found(spinFor); s.pause != 0 {
			t.Fatalf("after %d: pause %d", n+1, s.pause)
		}
	}
	s.found(0) // the other end spins as well by now
	for range maxLongSpins {
		s.found(spinFor)
	}
	if s.pause != 0 {
		t.Fatalf("pause %d although one was short", s.pause)
	}
	if s.found(spinFor); s.pause != 1 || s.skip != 1 {
		t.Errorf("pause %d, skip %d", s.pause, s.skip)
	}
}

// Else the scheduler never looks for the input of other connections.
func TestWhoSpinsWaitsOnceInAWhile(t *testing.T) {
	spinning(t, time.Minute)
	near, far := socketPair(t)
	if _, err := syscall.Write(far, []byte("here")); err != nil {
		t.Fatal(err)
	}
	s := spin{inputs: inputs.Load(), waited: roles.Clock() - 2*spinsBetweenWaits}
	b := make([]byte, 10)
	if n, err := s.read(nil, uintptr(near), nil, b); n != 0 || err != nil || s.pause != 0 {
		t.Fatalf("%d bytes, %v, pause %d", n, err, s.pause)
	}
	s.waited = roles.Clock() + int64(time.Hour) // be the machine ever so slow
	if n, err := s.read(nil, uintptr(near), nil, b); n != 4 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
}

func TestOnlyALoneCallersInputIsSpunFor(t *testing.T) {
	for _, x := range []struct {
		name               string
		open, served, came int
		solo, want         bool
	}{
		{"its answer", 1, 0, 0, true, true},
		{"its next call", 0, 0, 1, false, true},
		{"the first answer", 1, 0, 0, false, false},
		{"one of two answers", 2, 0, 0, true, false},
		{"calls of several", 0, 0, 2, false, false},
		{"while its handler runs", 0, 1, 1, false, false},
		{"nothing in particular", 0, 0, 0, true, false},
	} {
		s := spin{calls: x.came}
		if got := s.lone(x.open, x.served, x.solo); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// tee keeps what is written.
type tee struct {
	net.Conn
	sent []byte
}

func (t *tee) Write(b []byte) (int, error) {
	t.sent = append(t.sent, b...)
	return t.Conn.Write(b)
}

func TestALoneCallersServerSpins(t *testing.T) {
	near, far := sockets(t)
	recorded := &tee{Conn: near}
	join(t, recorded, far, echoBack).mustEcho(t, "one call")

	spinning(t, time.Minute)
	// Input of another connection, as of one that an earlier test has left to end, keeps a
	// reader from it; so it is tried again.
	for range 20 {
		if spinsAfter(t, recorded.sent) {
			return
		}
	}
	t.Fatal("never: a spin")
}

// spinsAfter reports whether a server spins after it was sent what a client sends with one call.
func spinsAfter(t *testing.T, sent []byte) (spins bool) {
	near, far := sockets(t) // whose other end is nobody's who counts
	pool := &roles.Pool{}
	defer pool.Close()
	below := newUpper(echoBack)
	c := NewConn(below.config(pool, func(c *Config) { c.PollFrom = 1 << 30 }), far, true, nil, nil)
	c.mu.Lock()
	c.spin.waited = roles.Clock() + int64(time.Hour)
	c.mu.Unlock()
	if _, err := near.Write(sent); err != nil {
		t.Fatal(err)
	}
	stacks := make([]byte, 1<<20)
	for until := time.Now().Add(3 * time.Second); !spins && time.Now().Before(until); time.Sleep(time.Millisecond) {
		spins = bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*spin).read"))
	}
	near.Close()
	receive(t, below.closed, "its end")
	return spins
}

func TestNobodySpinsWhereOthersAreServed(t *testing.T) {
	c := newPair(t, echoBack, func(c *Config) { c.PollFrom = 1 << 30 }).callee
	wanted := func(others uint32) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		before := c.spin
		defer func() { c.spin = before }()
		c.spin.calls, c.spin.inputs = 1, inputs.Load()-others
		c.spinsLocked()
		return c.spin.wanted
	}
	if !wanted(1) || wanted(2) {
		t.Errorf("its own input: %v; another's too: %v", wanted(1), wanted(2))
	}
	c.config.NoSpinning = true
	if wanted(1) {
		t.Error("it is wanted although it is switched off")
	}
	c.config.NoSpinning = false
	openConns.Add(1 << 30)
	defer openConns.Add(-1 << 30)
	if wanted(1) {
		t.Error("it is wanted among a great many connections")
	}
}
