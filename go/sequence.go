package trunkcall

import "sync"

// sequence runs users' functions in the order in which they were added, on a goroutine that exists
// only while there are any. So they may be added under any lock, and one that blocks or panics
// delays only those behind it.
type sequence struct {
	mu      sync.Mutex
	waiting []func()
	running bool
	idle    chan struct{} // closed when all have run, nil unless somebody waits
}

// longestSequence bounds what waits while a function blocks.
const longestSequence = 10_000

// add reports whether there was room.
func (q *sequence) add(f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= longestSequence {
		return false
	}
	q.waiting = append(q.waiting, f)
	if !q.running {
		q.running = true
		go q.run()
	}
	return true
}

func (q *sequence) run() {
	done := false
	defer func() {
		if !done {
			go q.run() // a function has ended this goroutine
		}
	}()
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.running, q.waiting, done = false, nil, true
			if q.idle != nil {
				close(q.idle)
				q.idle = nil
			}
			q.mu.Unlock()
			return
		}
		f := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		f()
	}
}

// drained is closed once all that was added by now has run.
func (q *sequence) drained() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idle == nil {
		q.idle = make(chan struct{})
		if !q.running {
			close(q.idle)
			idle := q.idle
			q.idle = nil
			return idle
		}
	}
	return q.idle
}
