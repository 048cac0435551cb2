package http2

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A goroutine that runs a method which has been quick so far does so without
// anybody on the way to take over (serve.go). A watchman looks every
// millisecond whether it is still at it; then its connection gets another.

// watched is what the watchman sees of a worker.
type watched struct {
	conn   atomic.Pointer[Conn] // whose handler runs
	count  atomic.Uint32        // handlers so far
	seen   uint32               // count at the watchman's last round
	listed atomic.Bool          // the watchman knows of it
}

// watchman is one for the process, there only while there is something to
// watch.
var watchman struct {
	on      atomic.Bool
	mu      sync.Mutex
	watched []*watched
}

const (
	watchRound = time.Millisecond
	watchIdle  = 100 // rounds without work after which the watchman leaves
)

func (w *Worker) watchOver(c *Conn) {
	seen := &w.watched
	seen.count.Add(1)
	seen.conn.Store(c)
	if !seen.listed.Load() && seen.listed.CompareAndSwap(false, true) {
		watchman.mu.Lock()
		watchman.watched = append(watchman.watched, seen)
		watchman.mu.Unlock()
	}
	startWatch()
}

func (w *Worker) watchOff() {
	if w.watched.conn.Load() != nil {
		w.watched.conn.Store(nil)
	}
}

func startWatch() {
	if !watchman.on.Load() && watchman.on.CompareAndSwap(false, true) {
		go keepWatch()
	}
}

func keepWatch() {
	for idle := 0; idle < watchIdle; idle++ {
		time.Sleep(watchRound)
		if watchRoundDone() {
			idle = 0
		}
	}
	watchman.on.Store(false)
	// Somebody may have found the watchman still there just before.
	watchman.mu.Lock()
	needed := len(watchman.watched) > 0
	watchman.mu.Unlock()
	if needed {
		startWatch()
	}
}

// watchRoundDone sends help where nothing has changed since the last round. It
// reports whether anything has.
func watchRoundDone() (busy bool) {
	watchman.mu.Lock()
	defer watchman.mu.Unlock()
	watchman.watched = slices.DeleteFunc(watchman.watched, func(seen *watched) bool {
		if count := seen.count.Load(); count != seen.seen {
			seen.seen = count
			busy = true
			return false
		}
		seen.listed.Store(false)
		if c := seen.conn.Load(); c != nil && seen.conn.CompareAndSwap(c, nil) {
			go c.sendHelper()
		}
		// Unless it has begun another handler just before it was struck off.
		return seen.count.Load() == seen.seen || !seen.listed.CompareAndSwap(false, true)
	})
	return busy
}
