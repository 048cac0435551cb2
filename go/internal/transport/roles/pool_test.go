package roles

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

type workFunc func(w *Worker)

func (f workFunc) serve(w *Worker) { f(w) }

// As many goroutines as had work at once are used again, and those that nobody has needed
// for a while end.
func TestIdleWorkersAreKeptWhileTheyAreNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 4 * keptIdle
		var pool Pool
		defer pool.Close()
		var started atomic.Int32
		begin := func() {
			pool.run(workFunc(func(w *Worker) {
				if w.Local == nil {
					w.Local = true
					started.Add(1)
				}
				time.Sleep(time.Millisecond)
			}))
		}
		for range 20 {
			for range many {
				begin()
			}
			time.Sleep(trimEvery / 2)
		}
		if n := started.Load(); n != many || pool.Idle() != many {
			t.Errorf("%d were started and %d are left, with %d at once", n, pool.Idle(), many)
		}
		time.Sleep(3 * trimEvery)
		synctest.Wait()
		if left := pool.Idle(); left != keptIdle {
			t.Errorf("%d are kept although they were not needed, want %d", left, keptIdle)
		}
	})
}
