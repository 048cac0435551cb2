package roles

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestItIsKnownWhatIsInABubble(t *testing.T) {
	if InBubble() {
		t.Error("in a bubble, outside of one")
	}
	synctest.Test(t, func(t *testing.T) {
		var all sync.WaitGroup
		all.Add(1)
		time.AfterFunc(time.Hour, func() {
			defer all.Done()
			if !InBubble() {
				t.Error("not in a bubble, in its timer")
			}
		})
		all.Go(func() {
			if !InBubble() {
				t.Error("not in a bubble, in its goroutine")
			}
		})
		all.Wait()
		if !InBubble() {
			t.Error("not in a bubble, in its test")
		}
	})
}

// A task that takes long holds up no others in a bubble either, where nothing looks after it.
func TestInABubbleAHelperIsCalledBeforehand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pool Pool
		defer pool.Close()
		quicken(&pool.tasks.pace)
		second := make(chan struct{})
		pool.Do(taskFunc(func() { <-second }))
		pool.Do(taskFunc(func() { close(second) }))
		began := time.Now()
		<-second
		synctest.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("the second task had to wait for %v", took)
		}
	})
}
