package roles

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Monitoring handlers. A worker that runs calls without calling a helper saves a wake-up, a large
// part of what a lone call costs, and answers more calls with one write. It may do so only for
// methods that have been quick so far. The monitor looks every millisecond whether the same handler
// still runs; then it sends the connection another worker.

// watched is what a monitored worker has left to do. They are reused, so there are about as many as
// processors, and the monitor looks at few however many connections there are.
type watched struct {
	count  atomic.Uint32 // what was watched over so far
	seen   uint32        // count at the monitor's last round
	listed atomic.Bool   // the monitor knows of it

	roles  atomic.Pointer[Roles]  // of a connection that nobody may be reading while a worker runs a handler
	worker atomic.Pointer[Worker] // that one
	tasks  atomic.Pointer[Worker] // that nobody may be running tasks beside
}

var watchedPool = sync.Pool{New: func() any { return &watched{} }}

// begin has the monitor look after a worker from now on.
func (w *Worker) begin(seen *watched) {
	w.watched = seen
	seen.count.Add(1)
	if !seen.listed.Load() && seen.listed.CompareAndSwap(false, true) {
		monitor.mu.Lock()
		monitor.watched = append(monitor.watched, seen)
		monitor.mu.Unlock()
	}
	startWatch()
}

// watchOver makes the monitor look after a connection while its only worker runs a handler.
func (w *Worker) watchOver(r *Roles) {
	seen := takeWatched()
	seen.worker.Store(w)
	seen.roles.Store(r)
	w.begin(seen)
}

// watchTasks has it look after the tasks behind the one that w runs.
func (w *Worker) watchTasks() {
	seen := takeWatched()
	seen.tasks.Store(w)
	w.begin(seen)
}

func takeWatched() *watched { return watchedPool.Get().(*watched) } //nolint:forcetypeassert // the pool holds nothing else

// watchOff says that the handler or task has ended.
func (w *Worker) watchOff() {
	if seen := w.watched; seen != nil {
		w.watched = nil
		seen.roles.Store(nil)
		seen.tasks.Store(nil)
		watchedPool.Put(seen)
	}
}

// late has others do what the worker has not come to within a round. It may be that
// the handler has ended meanwhile, and that another has begun.
func (seen *watched) late() {
	if r := seen.roles.Load(); r != nil && seen.roles.CompareAndSwap(r, nil) {
		if w := seen.worker.Load(); w.poller != nil {
			w.poller.Replace()
		}
		go r.sendHelper()
	}
	if w := seen.tasks.Load(); w != nil && seen.tasks.CompareAndSwap(w, nil) {
		go w.pool.handOverTasks(w)
	}
}

// unread is what the monitor sees of a connection that callers read for
// themselves.
type unread struct {
	watched atomic.Bool
	left    atomic.Bool   // nobody reads; changes under the connection's lock
	count   atomic.Uint32 // times that a caller left it unread
	seen    uint32        // count at the monitor's last round
}

// monitor is one for the whole process, however many clients and servers it
// has, except those in bubbles. It is there only while there is something to watch.
var monitor struct {
	on      atomic.Bool
	mu      sync.Mutex // taken after a Conn's lock, if with one
	watched []*watched // that have lately been used
	unread  []*Roles   // that nobody may be reading

	late  lateness    // held.go
	asked atomic.Bool // somebody wants to know of that
}

const (
	watchRound = time.Millisecond
	// watchIdle is after how many rounds without work the monitor leaves. Few, since each
	// wakes a process that may have a call only now and then.
	watchIdle = 5
)

// LeaveUnread leaves the connection without a reader until its next call. The monitor looks after
// it.
func (r *Roles) LeaveUnread() {
	r.unread.left.Store(true)
	r.unread.count.Add(1)
	if !r.unread.watched.Load() && r.unread.watched.CompareAndSwap(false, true) {
		monitor.mu.Lock()
		monitor.unread = append(monitor.unread, r)
		monitor.mu.Unlock()
	}
	startWatch()
}

// EndUnread says that somebody sees to the input again.
func (r *Roles) EndUnread() { r.unread.left.Store(false) }

// startWatch does nothing in a bubble: one who calls from there with a client made outside.
func startWatch() {
	if !monitor.on.Load() && !InBubble() && monitor.on.CompareAndSwap(false, true) {
		go keepWatch()
	}
}

func keepWatch() {
	for idle := 0; idle < watchIdle; idle++ {
		slept := Clock()
		time.Sleep(watchRound)
		monitor.late.note(Clock()-slept-int64(watchRound), HeldAbove)
		if watchRoundDone() {
			idle = 0
		}
	}
	monitor.on.Store(false)
	// Somebody may have found the monitor still there just before.
	monitor.mu.Lock()
	needed := len(monitor.unread)+len(monitor.watched) > 0
	monitor.mu.Unlock()
	if needed {
		startWatch()
	}
}

// watchRoundDone sends help where nothing has changed since the last round. It
// reports whether anything has.
func watchRoundDone() (busy bool) {
	monitor.mu.Lock()
	defer monitor.mu.Unlock()
	busy = monitor.asked.Swap(false)
	monitor.watched = slices.DeleteFunc(monitor.watched, func(seen *watched) bool {
		if count := seen.count.Load(); count != seen.seen {
			seen.seen = count
			busy = true
			return false
		}
		seen.listed.Store(false)
		seen.late()
		// Unless it has begun another handler just before it was struck off.
		return seen.count.Load() == seen.seen || !seen.listed.CompareAndSwap(false, true)
	})
	monitor.unread = slices.DeleteFunc(monitor.unread, func(r *Roles) bool {
		if count := r.unread.count.Load(); count != r.unread.seen {
			r.unread.seen = count
			busy = true
			return false
		}
		r.unread.watched.Store(false)
		if r.unread.left.Load() {
			go r.sendHelper()
		}
		return true
	})
	return busy
}
