package transport

import (
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Pool is the goroutines that read the connections of one client or server and
// run the calls that arrive on them. Safe for concurrent use.
type Pool struct {
	workers Workers[Conn]
	tasks   tasks // task.go

	yielding atomic.Int32 // callers that let others append (flush.go)
}

// Worker is one goroutine of a Pool, with the memory that it reuses from call
// to call.
type Worker struct {
	pool    *Pool
	work    chan *Conn
	poller  *poller  // whose goroutine this is, nil for those of the pool
	watched *watched // while the handler that runs is watched over
	serving *Stream  // the call whose handler runs

	finished int64 // when the last one was done

	// Scratch is for Handler.Serve to build an answer in.
	Scratch []byte
	// Ending is where Handler.Serve leaves how the call ended.
	Ending wire.Ending
}

// run has some goroutine look at c. The caller has set c.helperPending.
func (p *Pool) run(c *Conn) {
	if !p.workers.Call(c) {
		w := &Worker{pool: p, work: make(chan *Conn, 1)}
		go w.loop(c)
	}
}

// Close lets idle goroutines end; those at work end when their connections do.
func (p *Pool) Close() { p.workers.Close() }

func (w *Worker) loop(c *Conn) {
	defer w.bequeath()
	for ; c != nil; c = w.pool.workers.Wait(w.work) {
		w.finished = clock() // that it had to be woken is not the handler's doing
		if c == forTasks {
			w.doTasks()
		} else {
			w.serve(c)
		}
	}
}

// bequeath has another goroutine carry on when a handler has ended this one
// (runtime.Goexit, which a test's FailNow calls): only its own call is harmed.
func (w *Worker) bequeath() {
	st := w.serving
	if st == nil {
		if w.pool != nil && w.watched != nil { // it was a task that ended it
			w.watchOff()
			w.pool.relieve(w)
		}
		return
	}
	if w.poller != nil {
		w.poller.replace()
	}
	w.watchOff()
	c := st.conn
	c.mu.Lock()
	c.finishLocked(w, st)
	help := !c.helperPending
	c.helperPending = true
	c.unlock()
	if help {
		c.config.Pool.run(c)
	}
}

// serve does what there is to do on a connection: run the calls that were
// read, write their answers, read the next.
//
// Before a handler runs, another goroutine is on its way (helperPending) if
// anything but that handler is left to do. So a handler that takes long holds
// up neither reading, nor other calls, nor answers; and while handlers are
// quick, one goroutine does it all without a switch in between. For a method
// that has been quick so far, the helper is called only if a handler turns out
// not to be (monitor.go).
func (w *Worker) serve(c *Conn) {
	c.mu.Lock()
	c.helperPending = false
	gathers := false // others run handlers as the last one here
	for !c.closed {
		if st := c.nextLocked(); st != nil {
			quick := st.Pace.quick()
			watching := !c.helperPending && quick
			help := !watching && st.Pace != nil && c.wantHelperLocked()
			c.unlock()
			if watching {
				w.watchOver(c)
			} else if help {
				w.pool.run(c)
			}
			w.handle(c, st)
			gathers = st.Pace != nil && !quick
			continue
		}
		if c.hasOutputLocked() && !c.flushing && !c.scheduled {
			if gathers {
				w.gatherLocked(c)
			}
			if c.flushLocked(); c.readyLocked() {
				continue
			}
		}
		c.closeIfDrainedLocked()
		if c.reading || c.closed || c.failing != nil || c.leaveUnreadLocked() {
			break
		}
		if c.awaitedLocked() || c.pollLocked() {
			break
		}
		c.takeInLocked()
	}
	c.unlock()
}

// takeInLocked reads, and wakes those whose answers have come.
func (c *Conn) takeInLocked() {
	c.reading = true
	c.unread.left.Store(false)
	c.readLocked()
	c.reading = false
	c.partIfFreeLocked()
	c.passOnLocked()
}

// handle runs a call and sends its answer. It returns with the lock held.
func (w *Worker) handle(c *Conn, st *Stream) {
	w.serving = st
	c.config.Handler.Serve(w, st)
	w.serving = nil
	w.watchOff()
	c.mu.Lock()
	began := max(w.finished, st.arrived)
	w.finished = c.finishLocked(w, st)
	st.Pace.note(w.finished - began)
}

// servePolled is serve for a poller and a connection that has become readable. What might keep it from the other
// connections is left to a goroutine of the pool.
func (w *Worker) servePolled(c *Conn) {
	c.mu.Lock()
	if c.polled == nil || c.reading || c.closed || c.failing != nil {
		c.unlock()
		return
	}
	c.takeInLocked()
	help := false
	for !c.closed && !c.helperPending && c.readyLocked() {
		pace := c.queue[c.queueHead].Pace
		if pace != nil && !pace.quick() {
			help = c.wantHelperLocked()
			break
		}
		if st := c.nextLocked(); st != nil {
			c.unlock()
			w.watchOver(c) // also one that opted in to run here: the others of the poller did not
			w.handle(c, st)
		}
	}
	if c.hasOutputLocked() && !c.flushing && !c.scheduled {
		c.flushLocked()
	}
	c.closeIfDrainedLocked()
	if !c.awaitedLocked() && !c.closed && c.wantHelperLocked() {
		help = true // it was given back meanwhile, or more is there than one poller is to read at a time
	}
	c.unlock()
	if help {
		c.config.Pool.run(c)
	}
}

// readyLocked reports whether calls wait that may start. While a reader reads
// on they may not: their CANCELs may be among what it reads next. It never
// waits for that, and sees to the calls itself afterwards.
func (c *Conn) readyLocked() bool { return c.queueHead < len(c.queue) && !c.readingOn }

// nextLocked takes the next call to run; calls that ended while they waited
// are not started.
func (c *Conn) nextLocked() *Stream {
	for c.readyLocked() {
		st := c.queue[c.queueHead]
		c.queue[c.queueHead] = nil
		if c.queueHead++; c.queueHead == len(c.queue) {
			c.queue, c.queueHead = c.queue[:0], 0
		}
		if !c.startLocked(st) {
			st.dropInbox()
			c.config.Handler.Dropped(st)
			continue
		}
		return st
	}
	return nil
}

// startLocked marks a call as started, unless it ended or its time ran out
// meanwhile.
func (c *Conn) startLocked(st *Stream) bool {
	now := int64(0)
	if st.Deadline() != 0 {
		now = clock()
	}
	return c.session.Start(&st.Stream, now)
}

// wantHelperLocked decides whether another goroutine is needed while the
// current one runs a handler.
func (c *Conn) wantHelperLocked() bool {
	if c.helperPending {
		return false
	}
	c.helperPending = !c.reading && !c.awaitedLocked() || c.readyLocked() || c.hasOutputLocked() && !c.flushing
	return c.helperPending
}

// wantReaderLocked decides whether a goroutine is needed to read.
func (c *Conn) wantReaderLocked() bool {
	if c.helperPending || c.reading || c.awaitedLocked() {
		return false
	}
	c.helperPending = true
	return true
}

// finishLocked sends the answer of a call and returns the time.
func (c *Conn) finishLocked(w *Worker, st *Stream) (now int64) {
	st.dropInbox()
	now = clock()
	if !c.closed && st.Open() {
		w.Ending.ServerTime = wire.Remaining(now - st.arrived)
		if !c.session.HasOutput() {
			c.since = now
		}
		if c.session.Finish(&st.Stream, &w.Ending) {
			w.Scratch = nil // it is the session's now
		}
		if c.staleLocked(now) || c.session.Unsent() > fullFlush {
			c.flushLocked()
		}
	}
	if cap(w.Scratch) > keptScratch {
		w.Scratch = nil
	}
	w.Ending = wire.Ending{}
	return now
}

// keptScratch bounds what an idle goroutine holds on to.
const keptScratch = 128 << 10
