package transport

import (
	"sync"
	"time"
)

const (
	// maxIdle is how many goroutines Workers keep without work: as many as handlers that
	// wait for something at once, since one that is made anew has its stack to grow.
	maxIdle = 8192
	// keptIdle is how many of them stay when they are not needed.
	keptIdle = 128
	// trimEvery is how often those leave that were idle all the time since.
	trimEvery = 100 * time.Millisecond
)

// Workers is the goroutines that look after connections of type C. They are reused,
// because a warm one has its stack grown and its scratch memory at hand. Its zero
// value has none. Safe for concurrent use.
type Workers[C any] struct {
	mu     sync.Mutex
	idle   []chan *C // where those without work wait; the last to finish is the first to be used again
	least  int       // how many there were at least since the last trim
	trims  bool      // trim will be called
	closed bool
}

// Call has one that is idle look after c. Without one it reports false: then the
// caller starts one more.
func (r *Workers[C]) Call(c *C) bool {
	r.mu.Lock()
	n := len(r.idle)
	if n == 0 {
		r.mu.Unlock()
		return false
	}
	work := r.idle[n-1]
	r.idle[n-1] = nil
	r.idle = r.idle[:n-1]
	r.least = min(r.least, n-1)
	r.mu.Unlock()
	work <- c
	return true
}

// Wait has a goroutine that is done wait for more, on the channel that is its
// own and has room for one. It returns nil when the goroutine is to end.
func (r *Workers[C]) Wait(work chan *C) *C {
	r.mu.Lock()
	if r.closed || len(r.idle) >= maxIdle {
		r.mu.Unlock()
		return nil
	}
	r.idle = append(r.idle, work)
	if len(r.idle) > keptIdle && !r.trims {
		r.trims = true
		time.AfterFunc(trimEvery, r.trim)
	}
	r.mu.Unlock()
	return <-work
}

// trim ends those that nobody has needed for a while.
func (r *Workers[C]) trim() {
	r.mu.Lock()
	var spare []chan *C
	if n := r.least - keptIdle; n > 0 && !r.closed {
		spare = append(spare, r.idle[:n]...)
		left := copy(r.idle, r.idle[n:])
		clear(r.idle[left:])
		r.idle = r.idle[:left]
	}
	r.least = len(r.idle)
	if r.trims = r.least > keptIdle && !r.closed; r.trims {
		time.AfterFunc(trimEvery, r.trim)
	}
	r.mu.Unlock()
	for _, work := range spare {
		close(work)
	}
}

// Close lets idle goroutines end; those at work end when they are done.
func (r *Workers[C]) Close() {
	r.mu.Lock()
	idle := r.idle
	r.idle, r.closed = nil, true
	r.mu.Unlock()
	for _, work := range idle {
		close(work)
	}
}
