package transport

import (
	"testing"
	"testing/synctest"
	"time"
)

// As many goroutines as had work at once are used again, and those that nobody has needed
// for a while end.
func TestIdleWorkersAreKeptWhileTheyAreNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 4 * keptIdle
		var workers Workers[int]
		defer workers.Close()
		started, ended := 0, make(chan struct{}, many)
		work := func() {
			if workers.Call(new(int)) {
				return
			}
			started++
			go func() {
				own := make(chan *int, 1)
				for workers.Wait(own) != nil {
					time.Sleep(time.Millisecond)
				}
				ended <- struct{}{}
			}()
		}
		for range 20 {
			for range many {
				work()
			}
			time.Sleep(trimEvery / 2)
		}
		if started != many || len(ended) != 0 {
			t.Errorf("%d were started and %d ended, with %d at once", started, len(ended), many)
		}
		time.Sleep(3 * trimEvery)
		synctest.Wait()
		if left := started - len(ended); left != keptIdle {
			t.Errorf("%d are kept although they were not needed, want %d", left, keptIdle)
		}
	})
}
