package transport

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// countWrites counts the system calls that c writes with. Nothing may be going on when
// it is called. An answer may be there before whoever wrote it comes back.
func (c *Conn) countWrites() *atomic.Int32 {
	n := &atomic.Int32{}
	c.mu.Lock()
	for c.roles.Flushing { // who writes reads writeFD without the lock
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	once := c.writeFD
	c.writeFD = func(fd uintptr) bool { n.Add(1); return once(fd) }
	c.mu.Unlock()
	return n
}

func never(c *Config) { c.PollFrom = 1 << 30 }

// Handlers that take their time have a goroutine each, but do not each write their answer.
func TestAnswersOfHandlersThatYieldLeaveTogether(t *testing.T) {
	const rounds, calls = 20, 200
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		runtime.Gosched()
		echoBack(w, st)
	}, never)
	p.mustEcho(t, "first")
	writes := p.callee.countWrites()
	few := func() bool {
		before := writes.Load()
		for range rounds {
			slowDown(p.below.pace)
			done := make(chan wire.Code, calls)
			for range calls {
				go func() {
					e, _ := p.call(t, soon(t), "yield")
					done <- e.Code
				}()
			}
			for range calls {
				if code := receive(t, done, "answer"); code != wire.OK {
					t.Fatal(code)
				}
			}
		}
		return writes.Load()-before < rounds*calls/8
	}
	eventually(t, "fewer than an eighth as many writes as answers", few) // on a busy machine not at once
}

// Handlers that compute on every processor, for as long as they like, hold up nobody's answer.
func TestAnswersDoNotWaitForHandlersThatCompute(t *testing.T) {
	var leave atomic.Bool
	entered := make(chan struct{}, runtime.GOMAXPROCS(0))
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		if string(st.inbox[0].Payload) == "compute" {
			entered <- struct{}{}
			for !leave.Load() {
				w.Scratch = append(w.Scratch[:0], "computes"...)
			}
		}
		echoBack(w, st)
	}, never)
	defer leave.Store(true)
	p.mustEcho(t, "first")
	computed := make(chan string, cap(entered))
	for range cap(entered) {
		go func() {
			_, answer := p.call(t, soon(t), "compute")
			computed <- answer
		}()
	}
	for range cap(entered) {
		receive(t, entered, "handler that computes")
	}
	short := make(chan string, 20)
	for range cap(short) {
		go func() {
			_, answer := p.call(t, soon(t), "short")
			short <- answer
		}()
	}
	for range cap(short) {
		if answer := receive(t, short, "answer while others compute"); answer != "short" {
			t.Fatal(answer)
		}
	}
	if len(computed) > 0 {
		t.Error("they computed no longer")
	}
	leave.Store(true)
	for range cap(entered) {
		receive(t, computed, "answer of one that computed")
	}
}
