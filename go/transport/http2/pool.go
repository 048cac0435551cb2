package http2

import "sync"

// maxIdle is how many goroutines a pool keeps without work.
const maxIdle = 128

// Pool is the goroutines that read connections and run the handlers of what
// they read. Safe for concurrent use.
type Pool struct {
	mu     sync.Mutex
	idle   []*Worker
	closed bool
}

// Worker is one goroutine of a Pool, with the memory that it reuses.
type Worker struct {
	pool     *Pool
	work     chan *Conn
	serving  *Stream // whose handler runs
	finished int64   // when the last one was done
	watched  watched

	// Scratch is for Handler.Serve to build an answer in.
	Scratch []byte
	// Local is for Handler.Serve to keep what it reuses.
	Local any
}

// run has some goroutine look at c. The caller has set c.helperPending.
func (p *Pool) run(c *Conn) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		w.work <- c
		return
	}
	p.mu.Unlock()
	w := &Worker{pool: p, work: make(chan *Conn, 1)}
	go w.loop(c)
}

// Close lets idle goroutines end; those at work end when their connections do.
func (p *Pool) Close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	p.mu.Unlock()
	for _, w := range idle {
		close(w.work)
	}
}

func (w *Worker) loop(c *Conn) {
	defer w.bequeath()
	for c != nil {
		w.serve(c)
		p := w.pool
		p.mu.Lock()
		if p.closed || len(p.idle) >= maxIdle {
			p.mu.Unlock()
			return
		}
		p.idle = append(p.idle, w)
		p.mu.Unlock()
		c = <-w.work
	}
}

// bequeath has another goroutine carry on when a handler has ended this one
// (runtime.Goexit): only its own request is harmed.
func (w *Worker) bequeath() {
	s := w.serving
	if s == nil {
		return
	}
	w.watchOff()
	c := s.conn
	c.mu.Lock()
	c.handledLocked(s)
	help := !c.helperPending
	c.helperPending = true
	c.mu.Unlock()
	if help {
		c.config.Pool.run(c)
	}
}
