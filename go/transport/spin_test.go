//go:build linux && !race

package transport

import (
	"bytes"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
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
	s := spin{inputs: inputs.Load(), pause: 4}
	go syscall.Write(far, []byte("came"))
	b := make([]byte, 10)
	if n, err := s.read(uintptr(near), nil, b); n != 4 || err != nil || s.pause != 0 {
		t.Fatalf("%d bytes, %v, pause %d", n, err, s.pause)
	}
}

func TestASpinEndsForOthers(t *testing.T) {
	spinning(t, time.Minute)
	near, _ := socketPair(t)
	s := spin{inputs: inputs.Load()}
	go inputs.Add(1)
	if n, err := s.read(uintptr(near), nil, make([]byte, 10)); n != 0 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
}

func TestSpinsInVainBecomeRare(t *testing.T) {
	spinning(t, 0)
	near, _ := socketPair(t)
	s := spin{inputs: inputs.Load()}
	tried := 0
	for range 10_000 {
		if s.skip == 0 {
			tried++
		}
		if n, err := s.read(uintptr(near), nil, make([]byte, 10)); n != 0 || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	if tried != 19 { // 1, 2, 4 … 1024 waits apart, then 1024
		t.Errorf("tried %d times in 10000 waits", tried)
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

func TestALoneCallersServerSpins(t *testing.T) {
	spinning(t, time.Minute)
	near, far := sockets(t)
	never := func(c *Config) { c.PollFrom = 1 << 30 }
	p := join(t, struct{ net.Conn }{near}, far, echoBack, never) // near's input is not counted, as another process's
	eventually(t, "a spin", func() bool {
		p.mustEcho(t, "one after the other")
		stacks := make([]byte, 1<<20)
		return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*spin).read"))
	})
}
