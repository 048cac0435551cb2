package roles

import (
	"testing"
	"time"
)

func TestProcessorsAreHeldWhereTimersAreLateOnAverage(t *testing.T) {
	var l lateness
	note := func(times int, late time.Duration) {
		for range times {
			l.note(int64(late), 3e6)
		}
	}
	note(1, 50*time.Millisecond) // as when the machine stands still
	note(100, 500*time.Microsecond)
	if l.held.Load() {
		t.Error("held, with timers that are half a millisecond late")
	}
	note(100, 5*time.Millisecond)
	if !l.held.Load() {
		t.Error("not held, with timers that are 5 ms late")
	}
	note(10, 0)
	if !l.held.Load() {
		t.Error("not held any more after a few rounds")
	}
	note(100, 0)
	if l.held.Load() {
		t.Error("held, with timers that are on time")
	}
}
