package transport

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Watching over handlers. A goroutine that runs the calls that it has read, with
// nobody on the way to take over, saves a wake-up, which is a large part of what
// a lone call costs, and answers more calls with one write. It may do so only
// for methods that have been quick for long, and a monitor looks every
// millisecond whether the handler is still at it: then the connection gets
// another goroutine.

// Pace is how long the handlers of a method take, on average over the last few
// hundred. It decides by the average, since that bounds what the calls behind
// have to wait: now and then every handler is held up, by the collector or the
// machine. Safe for concurrent use.
type Pace struct{ mean atomic.Int64 } // nanoseconds; 0: not known yet

const (
	quickNanoseconds = 10e3
	unknownPace      = 2 * quickNanoseconds // what a new method begins with
	paceWeight       = 512                  // a handler counts for one in so many
)

func (p *Pace) quick() bool {
	if p == nil {
		return false
	}
	mean := p.mean.Load()
	return mean != 0 && mean < quickNanoseconds
}

func (p *Pace) note(took int64) {
	if p == nil {
		return
	}
	mean := p.mean.Load()
	if mean == 0 {
		mean = unknownPace
	}
	took = min(took, int64(watchRound))         // after which the monitor sees to the calls behind
	p.mean.Store(mean + (took-mean)/paceWeight) // a lost update only delays the verdict
}

// Watched is what the monitor sees of somebody who runs handlers.
type Watched struct {
	// Late is called when one handler has taken longer than a round, by the
	// monitor, which must not be held up. It may be that the handler has ended
	// meanwhile, and that another has begun.
	Late func()

	count  atomic.Uint32 // handlers that were watched over so far
	seen   uint32        // count at the monitor's last round
	listed atomic.Bool   // the monitor knows of it
}

// Begin has the monitor look after a handler that is about to run.
func (w *Watched) Begin() {
	w.count.Add(1)
	if !w.listed.Load() && w.listed.CompareAndSwap(false, true) {
		monitor.mu.Lock()
		monitor.watched = append(monitor.watched, w)
		monitor.mu.Unlock()
	}
	startWatch()
}

// watched is what a worker that is watched over has left to do. There are about
// as many as processors, and they are taken in turn: those that are looked at are
// at hand, be there ever so many connections.
type watched struct {
	Watched
	conn   atomic.Pointer[Conn]   // that nobody may be reading while the worker runs a handler
	poller atomic.Pointer[poller] // whose goroutine that is, if it is one
	tasks  atomic.Pointer[Worker] // that nobody may be running tasks beside
}

var watchedPool sync.Pool

func takeWatched() *watched {
	if seen, ok := watchedPool.Get().(*watched); ok {
		return seen
	}
	seen := &watched{}
	seen.Late = seen.sendHelp
	return seen
}

// sendHelp has others do what the worker has not come to.
func (seen *watched) sendHelp() {
	if c := seen.conn.Load(); c != nil && seen.conn.CompareAndSwap(c, nil) {
		if p := seen.poller.Load(); p != nil {
			p.replace()
		}
		go c.sendHelper()
	}
	if w := seen.tasks.Load(); w != nil && seen.tasks.CompareAndSwap(w, nil) {
		go w.pool.relieve(w)
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
// has. He is there only while there is something to watch.
var monitor struct {
	on      atomic.Bool
	mu      sync.Mutex // taken after a Conn's lock, if with one
	watched []*Watched // that have lately been used
	unread  []*Conn    // that nobody may be reading

	late  lateness    // held.go
	asked atomic.Bool // somebody wants to know of that
}

const (
	watchRound = time.Millisecond
	// watchIdle is after how many rounds without work the monitor leaves. Few, since each
	// wakes a process that may have a call only now and then.
	watchIdle = 5
)

// watchOver has the monitor look after c while its only goroutine runs a
// handler.
func (w *Worker) watchOver(c *Conn) {
	seen := takeWatched()
	seen.poller.Store(w.poller)
	seen.conn.Store(c)
	w.watched = seen
	seen.Begin()
}

// watchTasks has him look after the tasks behind the one that w runs.
func (w *Worker) watchTasks() {
	seen := takeWatched()
	seen.tasks.Store(w)
	w.watched = seen
	seen.Begin()
}

// watchOff says that the handler has ended.
func (w *Worker) watchOff() {
	if seen := w.watched; seen != nil {
		w.watched = nil
		seen.conn.Store(nil)
		seen.tasks.Store(nil)
		watchedPool.Put(seen)
	}
}

// watchUnread has the monitor look after c, which nobody reads until its next
// call.
func watchUnread(c *Conn) {
	c.unread.left.Store(true)
	c.unread.count.Add(1)
	if !c.unread.watched.Load() && c.unread.watched.CompareAndSwap(false, true) {
		monitor.mu.Lock()
		monitor.unread = append(monitor.unread, c)
		monitor.mu.Unlock()
	}
	startWatch()
}

func startWatch() {
	if !monitor.on.Load() && monitor.on.CompareAndSwap(false, true) {
		go keepWatch()
	}
}

func keepWatch() {
	for idle := 0; idle < watchIdle; idle++ {
		slept := clock()
		time.Sleep(watchRound)
		monitor.late.note(clock()-slept-int64(watchRound), heldAbove)
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
	monitor.watched = slices.DeleteFunc(monitor.watched, func(seen *Watched) bool {
		if count := seen.count.Load(); count != seen.seen {
			seen.seen = count
			busy = true
			return false
		}
		seen.listed.Store(false)
		seen.Late()
		// Unless it has begun another handler just before it was struck off.
		return seen.count.Load() == seen.seen || !seen.listed.CompareAndSwap(false, true)
	})
	monitor.unread = slices.DeleteFunc(monitor.unread, func(c *Conn) bool {
		if count := c.unread.count.Load(); count != c.unread.seen {
			c.unread.seen = count
			busy = true
			return false
		}
		c.unread.watched.Store(false)
		if c.unread.left.Load() {
			go c.sendHelper()
		}
		return true
	})
	return busy
}

// sendHelper has another goroutine look after the connection, and write what one that
// lets others append does not come to.
func (c *Conn) sendHelper() {
	c.mu.Lock()
	c.solo, c.scheduled = false, false
	help := !c.closed && c.wantHelperLocked()
	c.unlock()
	if help {
		c.config.Pool.run(c)
	}
}
