package roles

import "runtime"

// Gathering. A write costs about the same for one frame as for fifty. So a goroutine that is about
// to write yields first if others are likely to append soon. That is a caller among several, and a
// worker that has emptied its queue while slower handlers still run, which end one by one.
//
// What has gathered must not wait until the scheduler runs the one that yielded. When answers have
// waited for staleGathered, whoever ends a handler writes them; if nobody does, the monitor sends a
// goroutine. Both need a processor, so nobody yields while computations hold all of them
// (ProcessorsHeld, held.go).

const (
	// yieldRounds is how often one lets others append, as long as they do.
	yieldRounds = 4
	// maxYielding is how many callers of one client do so at a time. The
	// scheduler takes up those that yielded only now and then while others can
	// run, so that of very many each would wait for long.
	maxYielding = 16
	// staleGathered is how long answers may wait, in nanoseconds, for one that lets
	// others append.
	staleGathered = 1e6
	// staleFlush is how long answers may wait, in nanoseconds, for a goroutine
	// that runs one handler after the other.
	staleFlush = 100e3
	// fullFlush is how many bytes are worth a system call of their own.
	fullFlush = 64 << 10
	// flushRounds is how often one goroutine writes what others appended
	// meanwhile before it hands over, so that no caller works for all others
	// for long.
	flushRounds = 3
)

// FlushLocked writes what gathered, unless somebody else does. It holds the
// lock on entry and on return, not in between.
func (r *Roles) FlushLocked() {
	if r.Flushing {
		return
	}
	for round := 0; r.conn.HasOutputLocked(); round++ {
		if round == flushRounds {
			r.conn.WriteOnLocked()
			return
		}
		if !r.conn.WriteLocked() {
			return
		}
	}
}

// FlushUnlock is called with the lock held after frames were appended by a goroutine that
// appends no more for now; it releases the lock.
func (r *Roles) FlushUnlock() {
	if r.Flushing || r.Scheduled && !r.leftToWoken.Load() || !r.conn.HasOutputLocked() {
		r.conn.Unlock()
		return
	}
	r.Scheduled = true
	r.leftToWoken.Store(false)
	if (r.resuming.Load() > 0 || r.conn.CallersLocked()) && !r.processorsHeld() {
		if !r.yieldLocked() {
			r.conn.Unlock()
			return
		}
	}
	r.Scheduled = false
	r.FlushLocked()
	r.conn.Unlock()
}

// FlushLaterUnlock releases the lock when more is likely to be appended by the same
// goroutine at once: what there is gets written when it waits, when enough has
// gathered, or by a helper, whichever comes first.
func (r *Roles) FlushLaterUnlock() {
	if r.conn.UnsentLocked() > fullFlush {
		r.FlushUnlock()
		return
	}
	help := !r.Flushing && !r.Scheduled && r.conn.HasOutputLocked() && r.WantHelperLocked()
	r.conn.Unlock()
	if help {
		r.Help()
	}
}

// yieldLocked lets other callers that can run append their frames, so that one
// system call writes them all. It releases the lock in between. It reports
// false when the writing is left to callers that were woken and do not run yet:
// the first of them that makes its next call, or the last of them to run, if
// none does.
func (r *Roles) yieldLocked() bool {
	yielding := &r.pool.yielding
	if yielding.Load() >= maxYielding {
		return true
	}
	yielding.Add(1)
	defer yielding.Add(-1)
	for range yieldRounds {
		n := r.conn.UnsentLocked()
		r.conn.Unlock()
		runtime.Gosched()
		r.mu.Lock()
		if r.conn.UnsentLocked() > n {
			continue
		}
		if r.resuming.Load() > 0 {
			r.leftToWoken.Store(true)
			if r.resuming.Load() > 0 {
				return false
			}
			r.leftToWoken.Store(false)
		}
		break
	}
	return true
}

// Woken is called before so many callers are woken, Resumed by each of them once
// it runs.
func (r *Roles) Woken(callers int32) { r.resuming.Add(callers) }

// Resumed is described with Woken.
func (r *Roles) Resumed() {
	if r.resuming.Add(-1) > 0 || !r.leftToWoken.Load() {
		return
	}
	r.mu.Lock()
	if r.leftToWoken.Load() && r.resuming.Load() == 0 {
		r.leftToWoken.Store(false)
		r.Scheduled = false
		r.FlushLocked()
	}
	r.conn.Unlock()
}

// Resuming is how many callers were woken and do not run yet, and whether the
// writing was left to them.
func (r *Roles) Resuming() (callers int32, left bool) { return r.resuming.Load(), r.leftToWoken.Load() }

// gatherLocked lets handlers that are about to end append their answers to what w is
// about to write. It releases the lock in between.
func (r *Roles) gatherLocked(w *Worker) {
	if w.bubbled || !r.conn.ServesLocked() || r.processorsHeld() {
		return
	}
	r.Scheduled = true
	for range yieldRounds {
		n := r.conn.UnsentLocked()
		r.conn.Unlock()
		w.watchOver(r)
		runtime.Gosched()
		w.watchOff()
		r.mu.Lock()
		if r.conn.UnsentLocked() <= n {
			break
		}
	}
	r.Scheduled = false
}

// AnsweringLocked is called before an answer is appended, at a time.
func (r *Roles) AnsweringLocked(now int64) {
	if !r.conn.HasOutputLocked() {
		r.since = now
	}
}

// staleLocked reports whether the answers that have gathered have waited for long.
func (r *Roles) staleLocked(now int64) bool {
	if r.Scheduled {
		return now-r.since > staleGathered
	}
	return now-r.since > staleFlush
}
