package http2

import "github.com/trunkcall/trunkcall/go/internal/transport"

// Pool is the goroutines that read connections and run the handlers of what
// they read. Safe for concurrent use.
type Pool struct{ workers transport.Workers[Conn] }

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
	if !p.workers.Call(c) {
		w := &Worker{pool: p, work: make(chan *Conn, 1)}
		w.watched.Late = w.watched.sendHelp
		go w.loop(c)
	}
}

// Close lets idle goroutines end; those at work end when their connections do.
func (p *Pool) Close() { p.workers.Close() }

func (w *Worker) loop(c *Conn) {
	defer w.bequeath()
	for ; c != nil; c = w.pool.workers.Wait(w.work) {
		w.serve(c)
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
