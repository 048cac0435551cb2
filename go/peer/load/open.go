package load

import (
	"fmt"
	"sync/atomic"
	"time"
)

// openLoop makes calls at a fixed rate. Whoever is free takes the next call that
// nobody has taken, and waits until it is due. A call that falls due while all
// callers are busy waits for one of them, and its wait is part of its time.
func (w *window) openLoop(callers []*caller, rate float64) (Result, error) {
	total := w.budget.Load()
	if w.duration > 0 {
		total = int64(rate * w.duration.Seconds())
	}
	alarms := make(map[*caller]*Alarm, len(callers))
	for _, c := range callers {
		alarm, err := NewAlarm()
		if err != nil {
			return Result{}, fmt.Errorf("cannot pace calls: %w", err)
		}
		defer alarm.Close()
		alarms[c] = alarm
	}

	var taken atomic.Int64
	w.run(callers, func(c *caller) {
		alarm := alarms[c]
		for {
			number := taken.Add(1) - 1
			if number >= total {
				return
			}
			// Computed from the start each time: adding up a rounded interval drifts.
			due := time.Duration(float64(number) / rate * float64(time.Second))
			for {
				early := due - time.Since(w.start)
				if early <= 0 {
					break
				}
				alarm.Sleep(early)
			}
			err := c.call()
			if err == ErrStop { //nolint:errorlint // it is never wrapped
				return
			}
			w.record(c, time.Since(w.start)-due, err)
		}
	})
	return w.result(), nil
}
