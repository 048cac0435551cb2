package roles

import "github.com/trunkcall/trunkcall/go/internal/wire"

// Worker is one goroutine of a Pool, with the memory that it reuses from call
// to call.
type Worker struct {
	pool     *Pool
	work     chan work
	poller   Poller   // whose goroutine this is, nil for those of the pool
	bubbled  bool     // bubble.go
	watched  *watched // while what runs is watched over
	serving  Call     // whose handler runs
	at       *Roles   // its connection's
	finished int64    // when the last one was done

	// Scratch is for handlers to build an answer in.
	Scratch []byte
	// Ending is where handlers of native calls leave how the call ended.
	Ending wire.Ending
	// Local is for handlers to keep what they reuse.
	Local any
}

// Poller is what reads many connections with one goroutine.
type Poller interface {
	// Replace has another goroutine go on, because the present one is held up or
	// has ended.
	Replace()
}

// NewPollerWorker returns the worker that a poller's goroutine is.
func NewPollerWorker(p Poller) *Worker { return &Worker{poller: p} }

// keptScratch bounds what an idle goroutine holds on to.
const keptScratch = 128 << 10

func (w *Worker) loop(first work) {
	defer w.HandOver()
	for next := first; next != nil; next = w.pool.wait(w.work) {
		w.finished = Clock() // that it had to be woken is not the handler's doing
		next.serve(w)
	}
}

// HandOver is to be deferred by the goroutine that w is. It has another one carry on
// when a handler or a task has ended this one (runtime.Goexit, which a test's FailNow
// calls): only its own call is harmed.
func (w *Worker) HandOver() {
	call, r := w.serving, w.at
	if call == nil {
		if w.pool != nil && w.watched != nil { // it was a task that ended it
			w.watchOff()
			w.pool.handOverTasks(w)
		}
		return
	}
	if w.poller != nil {
		w.poller.Replace()
	}
	w.watchOff()
	r.mu.Lock()
	r.finishLocked(w, call)
	help := !r.HelperPending
	r.HelperPending = true
	r.conn.Unlock()
	if help {
		r.Help()
	}
}

// serve does what there is to do on a connection: run the calls that were
// read, write their answers, read the next.
//
// Before a handler runs, another goroutine is on its way (HelperPending) if
// anything but that handler is left to do. So a handler that takes long holds
// up neither reading, nor other calls, nor answers; and while handlers are
// quick, one goroutine does it all without a switch in between. For a method
// that has been quick so far, the helper is called only if a handler turns out
// not to be (monitor.go).
func (r *Roles) serve(w *Worker) {
	r.mu.Lock()
	r.HelperPending = false
	gathers := false // others run handlers as the last one here
	for !r.conn.ClosedLocked() {
		if call := r.nextLocked(); call != nil {
			gathers = r.runLocked(w, call)
			continue
		}
		if !r.Flushing && !r.Scheduled && r.conn.HasOutputLocked() {
			if gathers {
				r.gatherLocked(w)
			}
			if r.FlushLocked(); r.ReadyLocked() {
				continue
			}
		}
		r.conn.CloseIfDrainedLocked()
		if r.Reading || r.conn.LeaveLocked() {
			break
		}
		r.readLocked()
	}
	r.conn.Unlock()
}

// readLocked reads once.
func (r *Roles) readLocked() {
	r.Reading = true
	r.EndUnread()
	r.conn.ReadLocked()
	r.Reading = false
	r.conn.ReadDoneLocked()
}

// runLocked runs a call and reports whether others may run handlers like its own
// beside it. It releases the lock in between.
func (r *Roles) runLocked(w *Worker, call Call) (takesTime bool) {
	pace, arrived := call.Timing()
	quick, inline := w.canTrust(pace), pace == Inline
	watching := !r.HelperPending && quick
	help := !watching && !inline && r.WantHelperLocked()
	r.conn.Unlock()
	if watching {
		w.watchOver(r)
	} else if help {
		r.Help()
	}
	r.handle(w, call, pace, arrived)
	return !quick && !inline
}

// canTrust reports whether a handler or task with that pace may run with nobody called beforehand.
func (w *Worker) canTrust(pace *Pace) bool { return pace.Quick() && !w.bubbled }

// handle runs a call and sends its answer. It returns with the lock held.
func (r *Roles) handle(w *Worker, call Call, pace *Pace, arrived int64) {
	w.serving, w.at = call, r
	call.Run(w)
	w.serving = nil
	w.watchOff()
	r.mu.Lock()
	began := max(w.finished, arrived)
	w.finished = r.finishLocked(w, call)
	pace.Note(w.finished - began)
}

// finishLocked sends the answer of a call and returns the time.
func (r *Roles) finishLocked(w *Worker, call Call) (now int64) {
	now = Clock()
	call.FinishLocked(w, now)
	if cap(w.Scratch) > keptScratch {
		w.Scratch = nil
	}
	w.Ending = wire.Ending{}
	if r.staleLocked(now) || r.conn.UnsentLocked() > fullFlush {
		r.FlushLocked()
	}
	return now
}

// ServePolledLocked is serve for a poller and a connection that has become readable. What might keep it from the other
// connections is left to a goroutine of the pool. It releases the lock.
func (r *Roles) ServePolledLocked(w *Worker) {
	r.readLocked()
	help := false
	for !r.conn.ClosedLocked() && !r.HelperPending && r.ReadyLocked() {
		if pace, _ := r.queue[r.head].Timing(); pace != Inline && !pace.Quick() {
			help = r.WantHelperLocked()
			break
		}
		if call := r.nextLocked(); call != nil {
			r.conn.Unlock()
			w.watchOver(r) // also one that opted in to run here: the others of the poller did not
			pace, arrived := call.Timing()
			r.handle(w, call, pace, arrived)
		}
	}
	if !r.Flushing && !r.Scheduled && r.conn.HasOutputLocked() {
		r.FlushLocked()
	}
	r.conn.CloseIfDrainedLocked()
	if !r.conn.AwaitedLocked() && !r.conn.ClosedLocked() && r.WantHelperLocked() {
		help = true // it was given back meanwhile, or more is there than one poller is to read at a time
	}
	r.conn.Unlock()
	if help {
		r.Help()
	}
}
