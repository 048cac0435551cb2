package roles

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxIdle is how many goroutines a Pool keeps without work: as many as handlers that
	// wait for something at once, since one that is made anew has its stack to grow.
	maxIdle = 8192
	// keptIdle is how many of them stay when they are not needed.
	keptIdle = 128
	// trimEvery is how often those leave that were idle all the time since.
	trimEvery = 100 * time.Millisecond
)

// Pool is the goroutines that look after the connections of one client or server and
// run the calls that arrive on them. They are reused, because a warm one has its stack
// grown and its scratch memory at hand. Its zero value has none. Safe for concurrent use.
type Pool struct {
	mu     sync.Mutex
	idle   []chan work // where those without work wait; the last to finish is the first to be used again
	least  int         // how many there were at least since the last trim
	trims  bool        // trim will be called
	closed bool

	tasks    tasks        // task.go
	yielding atomic.Int32 // callers that let others append (gather.go)
}

// work is what a goroutine of a Pool is given: a connection, or the queue of tasks.
type work interface{ serve(w *Worker) }

// run has some goroutine serve what is given.
func (p *Pool) run(next work) {
	p.mu.Lock()
	n := len(p.idle)
	if n == 0 {
		p.mu.Unlock()
		w := &Worker{pool: p, work: make(chan work, 1), bubbled: InBubble()}
		go w.loop(next)
		return
	}
	idle := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	p.least = min(p.least, n-1)
	p.mu.Unlock()
	idle <- next
}

// wait has a goroutine that is done wait for more, on the channel that is its
// own and has room for one. It returns nil when the goroutine is to end.
func (p *Pool) wait(own chan work) work {
	p.mu.Lock()
	if p.closed || len(p.idle) >= maxIdle {
		p.mu.Unlock()
		return nil
	}
	p.idle = append(p.idle, own)
	if len(p.idle) > keptIdle && !p.trims {
		p.trims = true
		time.AfterFunc(trimEvery, p.trim)
	}
	p.mu.Unlock()
	return <-own
}

// Idle is how many goroutines are without work.
func (p *Pool) Idle() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// trim ends those that nobody has needed for a while.
func (p *Pool) trim() {
	p.mu.Lock()
	var spare []chan work
	if n := p.least - keptIdle; n > 0 && !p.closed {
		spare = append(spare, p.idle[:n]...)
		left := copy(p.idle, p.idle[n:])
		clear(p.idle[left:])
		p.idle = p.idle[:left]
	}
	p.least = len(p.idle)
	if p.trims = p.least > keptIdle && !p.closed; p.trims {
		time.AfterFunc(trimEvery, p.trim)
	}
	p.mu.Unlock()
	for _, work := range spare {
		close(work)
	}
}

// Close lets idle goroutines end; those at work end when they are done.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, work := range idle {
		close(work)
	}
}
