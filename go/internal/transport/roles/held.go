package roles

import "sync/atomic"

// Whether processors are held. Go's scheduler lets a goroutine that computes go on for
// 10 ms before others have their turn, and the system does likewise with threads: where
// computations hold all processors, of this process or beside it, whoever yields waits for
// that long. Timers wait too, and so the monitor finds out by how late it wakes up. Many
// goroutines that each run for some microseconds do not hold up timers.

// HeldAbove is by how many nanoseconds the monitor is late on average when processors are
// held, and half of it when they are not any more. Tests raise it.
var HeldAbove = 4e6

// lateWeight says that a round counts for one in so many.
const lateWeight = 32

// lateness is how late the monitor wakes up. It alone notes it.
type lateness struct {
	mean float64 // nanoseconds
	held atomic.Bool
}

func (l *lateness) note(late int64, above float64) {
	l.mean += (float64(late) - l.mean) / lateWeight
	switch {
	case l.mean > above:
		l.held.Store(true)
	case l.mean < above/2:
		l.held.Store(false)
	}
}

// ProcessorsHeld is what is known about that now. Asking keeps the monitor there.
func ProcessorsHeld() bool {
	if !monitor.asked.Load() {
		monitor.asked.Store(true)
	}
	startWatch()
	return monitor.late.held.Load()
}
