package roles

import "sync/atomic"

// Pace is how long the handlers of a method take, on average over the last few
// hundred. It decides by the average, since that bounds what the calls behind
// have to wait: now and then every handler is held up, by the collector or the
// machine. Of a nil Pace nothing is known. Safe for concurrent use.
type Pace struct{ mean atomic.Int64 } // nanoseconds; 0: not known yet

// Inline is the pace of methods whose handlers are to run on the goroutine that reads,
// whatever else waits meanwhile.
var Inline = &Pace{}

const (
	quickNanoseconds = 10e3
	unknownPace      = 2 * quickNanoseconds // what a new method begins with
	paceWeight       = 512                  // a handler counts for one in so many
)

// Quick reports whether handlers of this method have been quick on average.
func (p *Pace) Quick() bool {
	if p == nil {
		return false
	}
	mean := p.mean.Load()
	return mean != 0 && mean < quickNanoseconds
}

// Note takes into account that a handler took so many nanoseconds.
func (p *Pace) Note(took int64) {
	if p == nil || p == Inline {
		return
	}
	mean := p.mean.Load()
	if mean == 0 {
		mean = unknownPace
	}
	took = min(took, int64(watchRound))         // after which the monitor sees to the calls behind
	p.mean.Store(mean + (took-mean)/paceWeight) // a lost update only delays the verdict
}
