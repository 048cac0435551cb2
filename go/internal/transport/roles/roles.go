// Package roles decides what each goroutine does on a connection, of whichever protocol: who reads
// it, who writes it, who runs the calls that were read, who is called to help, and how answers
// gather before they are written.
//
//	Roles    of one connection, and the calls that wait to run   (roles.go)
//	Worker   a goroutine that reads, runs handlers and writes    (worker.go)
//	Pool     those goroutines, and tasks for them                (pool.go, task.go)
//	FlushUnlock   what those do that append outside a worker          (gather.go)
//	monitor  looks where somebody is held up                     (monitor.go)
//	InBubble where nobody can                                    (bubble.go)
//
// How to read and write is the connection's own business: it implements Conn, and each of its
// streams Call.
package roles

import (
	"sync"
	"sync/atomic"
)

// Conn is a connection as its Roles see it. Methods whose names end in Locked are
// called with its lock held; those that release it meanwhile say so.
type Conn interface {
	// Unlock releases the lock, and wakes whom something has happened for.
	Unlock()
	// ClosedLocked reports whether calls are neither run nor answered any more.
	ClosedLocked() bool

	// ReadLocked waits for input and takes it in, with the lock released while it
	// waits.
	ReadLocked()
	// ReadDoneLocked is called when nobody reads any more. It may release the lock
	// in between.
	ReadDoneLocked()
	// AwaitedLocked reports whether a poller sees to the input that comes next.
	AwaitedLocked() bool
	// LeaveLocked reports whether a worker with nothing else to do may leave without reading:
	// because the connection is at its end, or because others wait for its input from now on.
	LeaveLocked() bool

	// HasOutputLocked reports whether there is something to write and it may be
	// written, UnsentLocked how many bytes.
	HasOutputLocked() bool
	UnsentLocked() int
	// WriteLocked writes what there is, with Flushing set and the lock released
	// meanwhile, as far as that goes at once. It reports false when there is no more to do: nothing
	// can be written now, another goroutine writes on, or the connection is at its end.
	WriteLocked() bool
	// WriteOnLocked has another goroutine write what there is, which may wait.
	WriteOnLocked()
	// CallersLocked reports whether goroutines of several calls may be about to
	// append beside the workers'.
	CallersLocked() bool
	// ServesLocked reports whether handlers run, or calls wait to be run.
	ServesLocked() bool
	// CloseIfDrainedLocked ends the connection if it is draining and all is done. It
	// may release the lock in between.
	CloseIfDrainedLocked()
}

// Call is a call that was read, as the Roles of its connection see it.
type Call interface {
	// StartLocked marks it as started. It reports false if it has ended meanwhile,
	// and sees to what is left of it then.
	StartLocked() bool
	// Timing is the pace of its method, and when it was read.
	Timing() (pace *Pace, arrived int64)
	// Run runs its handler, without the lock.
	Run(w *Worker)
	// FinishLocked is called when its handler has returned or ended its goroutine.
	FinishLocked(w *Worker, now int64)
}

// Roles is what goroutines do on one connection: each role is held by one of them at
// a time. The exported fields are guarded by the connection's lock.
type Roles struct {
	conn    Conn
	mu      *sync.Mutex // the connection's lock
	pool    *Pool
	bubbled bool // bubble.go

	Reading   bool // some goroutine reads
	ReadingOn bool // it reads more before any call that it has read may start
	Solo      bool // calls come one after the other, and their caller reads
	Flushing  bool // some goroutine writes
	Scheduled bool // some goroutine is about to
	// HelperPending says that a goroutine of the pool was called and has not arrived.
	HelperPending bool

	queue []Call // read, not started
	head  int
	since int64 // when the first answer among what there is to write was appended

	leftToWoken atomic.Bool  // the writing, to whichever woken caller comes first; changes under the lock
	resuming    atomic.Int32 // callers that were woken and do not run yet
	unread      unread
}

// Init makes r that of a connection with the lock mu, whose goroutines are those
// of pool.
func (r *Roles) Init(conn Conn, mu *sync.Mutex, pool *Pool) {
	r.conn, r.mu, r.pool, r.bubbled = conn, mu, pool, InBubble()
}

// StartLocked has a goroutine of the pool begin to read.
func (r *Roles) StartLocked() {
	r.HelperPending = true
	r.Help()
}

// Help has a goroutine of the pool look after the connection. WantHelperLocked or
// WantReaderLocked has said that one is needed.
func (r *Roles) Help() { r.pool.run(r) }

// EnqueueLocked has a call run.
func (r *Roles) EnqueueLocked(call Call) { r.queue = append(r.queue, call) }

// ReadyLocked reports whether calls wait that may start. While a reader reads
// on they may not: their CANCELs may be among what it reads next. It never
// waits for that, and sees to the calls itself afterwards.
func (r *Roles) ReadyLocked() bool { return r.head < len(r.queue) && !r.ReadingOn }

// nextLocked takes the next call to run; calls that ended while they waited
// are not started.
func (r *Roles) nextLocked() Call {
	for r.ReadyLocked() {
		call := r.queue[r.head]
		r.queue[r.head] = nil
		if r.head++; r.head == len(r.queue) {
			r.queue, r.head = r.queue[:0], 0
		}
		if call.StartLocked() {
			return call
		}
	}
	return nil
}

// DropQueueLocked empties the queue, when all calls have ended.
func (r *Roles) DropQueueLocked() {
	r.ReadingOn = false         // what is read now is for nobody
	for r.nextLocked() != nil { // none is started
	}
}

// WantHelperLocked decides whether another goroutine is needed while the
// current one does something that may take long. If so, Help is to be called.
func (r *Roles) WantHelperLocked() bool {
	if r.HelperPending {
		return false
	}
	r.HelperPending = !r.Reading && !r.conn.AwaitedLocked() || r.ReadyLocked() || !r.Flushing && r.conn.HasOutputLocked()
	return r.HelperPending
}

// WantReaderLocked decides whether a goroutine is needed to read. If so, Help is to
// be called.
func (r *Roles) WantReaderLocked() bool {
	if r.HelperPending || r.Reading || r.conn.AwaitedLocked() {
		return false
	}
	r.HelperPending = true
	return true
}

// TakeReadingLocked gives the role of reading to a goroutine of the caller's, if
// nobody has it or is about to take it.
func (r *Roles) TakeReadingLocked() bool {
	if r.Reading || r.HelperPending {
		return false
	}
	r.Reading = true
	r.EndUnread()
	return true
}

// sendHelper has another goroutine look after the connection. That one also writes what a goroutine
// that yielded has not come to.
func (r *Roles) sendHelper() {
	r.mu.Lock()
	r.Solo, r.Scheduled = false, false
	help := !r.conn.ClosedLocked() && r.WantHelperLocked()
	r.conn.Unlock()
	if help {
		r.Help()
	}
}
