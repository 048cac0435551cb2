package roles

import (
	"runtime"
	"sync/atomic"
	"testing"
)

type taskFunc func()

func (f taskFunc) Run() { f() }

// Where the machine holds a task up, those behind it are given to another
// goroutine and may overtake it; but not in every round.
func TestTasksRunInOrderWhileTheyAreQuick(t *testing.T) {
	const n, rounds = 1000, 100
	inOrder := func() bool {
		p := &Pool{}
		defer p.Close()
		p.tasks.pace.mean.Store(1)
		got := make(chan int, n)
		for i := range n {
			p.Do(taskFunc(func() { got <- i }))
		}
		sorted := true
		for i := range n {
			sorted = receive(t, got, "task") == i && sorted
		}
		return sorted
	}
	for range rounds {
		if inOrder() {
			return
		}
	}
	t.Fatalf("not in order in %d rounds", rounds)
}

// Whatever a task does, those behind it are run.
func TestTasksBehindOneThatIsHeldUpAreRun(t *testing.T) {
	for name, quick := range map[string]bool{"known to be quick": true, "not known": false} {
		t.Run(name, func(t *testing.T) {
			p := &Pool{}
			defer p.Close()
			if quick {
				p.tasks.pace.mean.Store(1)
			}
			leave := make(chan struct{})
			defer close(leave)
			var ran atomic.Int32
			for i := range 30 {
				p.Do(taskFunc(func() {
					ran.Add(1)
					if i%2 == 0 {
						<-leave
					}
					runtime.Goexit()
				}))
			}
			eventually(t, "all have begun", func() bool { return ran.Load() == 30 })
		})
	}
}
