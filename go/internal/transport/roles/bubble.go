package roles

import "time"

// Bubbles. What a goroutine in a bubble of testing/synctest makes, such as channels and timers, only
// goroutines of that bubble may touch, and the bubble ends with the last of them. So what the process
// has once, such as the monitor, stays outside, and connections of a bubble do without: a helper is
// called beforehand whatever may take long, as for methods that are not quick.

// InBubble reports whether the calling goroutine is in a bubble. There the time has no monotonic
// reading, the one thing by which code that is no test can tell.
func InBubble() bool {
	now := time.Now()
	return now == now.Round(0) // not whether the times are equal, but what they are made of
}

// Bubbled reports whether the connection was made in a bubble.
func (r *Roles) Bubbled() bool { return r.bubbled }

// processorsHeld is ProcessorsHeld for goroutines of the connection.
func (r *Roles) processorsHeld() bool { return !r.bubbled && ProcessorsHeld() }
