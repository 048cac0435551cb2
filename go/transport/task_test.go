package transport

import (
	"runtime"
	"sync/atomic"
	"testing"
)

type taskFunc func()

func (f taskFunc) Run() { f() }

func TestTasksRunInOrderWhileTheyAreQuick(t *testing.T) {
	p := &Pool{}
	defer p.Close()
	p.tasks.pace.mean.Store(1)
	const n = 10_000
	got := make(chan int, n)
	for i := range n {
		p.Do(taskFunc(func() { got <- i }))
	}
	for i := range n {
		if v := receive(t, got, "task"); v != i {
			t.Fatalf("task %d in place of %d", v, i)
		}
	}
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
