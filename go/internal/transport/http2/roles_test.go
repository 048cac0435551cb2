package http2

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

// What a handler sends is on its way although the handler goes on, without another call
// of its stream.
func TestWhatAHandlerSendsLeavesWhileItRuns(t *testing.T) {
	p := connect(t, Config{}).greet()
	for id := uint32(1); id < 40; id += 2 {
		p.open(id, true, "/sends")
		p.until("the piece", func(f h2.Frame) bool {
			data, ok := f.(*h2.DataFrame)
			return ok && data.StreamID == id && string(data.Data()) == "hello"
		})
	}
}

// Handlers that take their time have a goroutine each, but do not each write their answer.
func TestAnswersOfHandlersThatYieldLeaveTogether(t *testing.T) {
	const rounds, calls = 20, 100
	p := connect(t, Config{}).greet()
	c := p.server
	var writes atomic.Int32 // an answer may be here before whoever wrote it comes back
	c.mu.Lock()
	for c.roles.Flushing { // who writes reads writeFD without the lock
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	once := c.writeFD
	c.writeFD = func(fd uintptr) bool { writes.Add(1); return once(fd) }
	c.mu.Unlock()
	id := uint32(1)
	few := func() bool {
		before := writes.Load()
		for range rounds {
			for range 5000 {
				p.hello.pace.Note(int64(time.Millisecond)) // they count as such, whatever they took
			}
			for range calls {
				p.open(id, true, "/yield")
				id += 2
			}
			answered := 0
			p.until("answers", func(f h2.Frame) bool {
				if _, ok := f.(*h2.DataFrame); ok {
					answered++
				}
				return answered == calls
			})
		}
		return writes.Load()-before < rounds*calls/4
	}
	for deadline := time.Now().Add(long); !few(); {
		if time.Now().After(deadline) {
			t.Fatal("never fewer than a quarter as many writes as answers") // on a busy machine not at once
		}
	}
}
