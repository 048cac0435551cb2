package transport

import "sync"

// maxIdle is how many goroutines a Crew keeps without work.
const maxIdle = 128

// Crew is the goroutines that look after connections of type C. They are reused,
// because a warm one has its stack grown and its scratch memory at hand. Its zero
// value has none. Safe for concurrent use.
type Crew[C any] struct {
	mu     sync.Mutex
	idle   []chan *C // where those without work wait; the last to finish is the first to be used again
	closed bool
}

// Call has one that is idle look after c. Without one it reports false: then the
// caller starts one more.
func (r *Crew[C]) Call(c *C) bool {
	r.mu.Lock()
	n := len(r.idle)
	if n == 0 {
		r.mu.Unlock()
		return false
	}
	work := r.idle[n-1]
	r.idle[n-1] = nil
	r.idle = r.idle[:n-1]
	r.mu.Unlock()
	work <- c
	return true
}

// Wait has a goroutine that is done wait for more, on the channel that is its
// own and has room for one. It returns nil when the goroutine is to end.
func (r *Crew[C]) Wait(work chan *C) *C {
	r.mu.Lock()
	if r.closed || len(r.idle) >= maxIdle {
		r.mu.Unlock()
		return nil
	}
	r.idle = append(r.idle, work)
	r.mu.Unlock()
	return <-work
}

// Close lets idle goroutines end; those at work end when they are done.
func (r *Crew[C]) Close() {
	r.mu.Lock()
	idle := r.idle
	r.idle, r.closed = nil, true
	r.mu.Unlock()
	for _, work := range idle {
		close(work)
	}
}
