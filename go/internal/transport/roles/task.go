package roles

import "sync"

// Tasks: what a Pool runs beside connections, such as what a user wants done when
// a call has ended. Like handlers they may block. A task behind one that does is
// run by another goroutine, which is called beforehand; or, while tasks are quick
// on average, by the monitor when one is not (monitor.go), so that one goroutine
// runs all that one read brings.

// Task is something to run on a goroutine of a Pool.
type Task interface{ Run() }

// tasks is the queue of them.
type tasks struct {
	mu      sync.Mutex
	queue   []Task
	head    int
	coming  bool    // a goroutine is on its way to the queue
	drainer *Worker // empties it, and is watched over
	pace    Pace
}

// Do has t run soon. Tasks begin in the order in which they came. It never waits,
// so locks may be held.
func (p *Pool) Do(t Task) {
	p.tasks.mu.Lock()
	p.tasks.queue = append(p.tasks.queue, t)
	call := !p.tasks.coming && p.tasks.drainer == nil
	if call {
		p.tasks.coming = true
	}
	p.tasks.mu.Unlock()
	if call {
		p.run(&p.tasks)
	}
}

// nextLocked takes the next task, nil if there is none.
func (q *tasks) nextLocked() Task {
	if q.head == len(q.queue) {
		return nil
	}
	t := q.queue[q.head]
	q.queue[q.head] = nil
	if q.head++; q.head == len(q.queue) {
		q.queue, q.head = q.queue[:0], 0
	}
	return t
}

// serve runs tasks until there are none.
func (q *tasks) serve(w *Worker) {
	p := w.pool
	q.mu.Lock()
	q.coming = false
	for {
		t := q.nextLocked()
		if t == nil {
			break
		}
		if q.drainer == nil && w.canTrust(&q.pace) {
			q.drainer = w
		} else if q.drainer == w && !w.canTrust(&q.pace) {
			q.drainer = nil
		}
		watched := q.drainer == w
		help := !watched && !q.coming && q.head < len(q.queue)
		q.coming = q.coming || help
		q.mu.Unlock()
		if watched {
			w.watchTasks()
		} else if help {
			p.run(&p.tasks)
		}
		began := Clock()
		t.Run()
		w.watchOff()
		q.pace.Note(Clock() - began)
		q.mu.Lock()
	}
	if q.drainer == w {
		q.drainer = nil
	}
	q.mu.Unlock()
}

// handOverTasks has another goroutine go on with the tasks, because w is held up or has
// ended.
func (p *Pool) handOverTasks(w *Worker) {
	p.tasks.mu.Lock()
	call := false
	if p.tasks.drainer == w {
		p.tasks.drainer = nil
		call = !p.tasks.coming && p.tasks.head < len(p.tasks.queue)
		p.tasks.coming = p.tasks.coming || call
	}
	p.tasks.mu.Unlock()
	if call {
		p.run(&p.tasks)
	}
}
