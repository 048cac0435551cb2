package benchmsg

import (
	"errors"
	"flag"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// handlers are what a handler of Say does besides its answer, as --handler names
// it: what handlers of users do, which is seldom nothing. Each reports whether it
// computed for long.
var handlers = []struct {
	name, usage string
	prepare     func() func() (long bool)
}{
	{"plain", "nothing", func() func() bool { return nil }},
	{"yield", "yields once (runtime.Gosched)", always(runtime.Gosched)},
	{"handover", "hands over to another goroutine, one of four, and waits for it", handover},
	{"lock", "takes a lock that all share, which one in sixteen holds while it yields", lock},
	{"wait", "waits for 1 ms", always(func() { time.Sleep(time.Millisecond) })},
	{"wait5", "waits for 5 ms", always(func() { time.Sleep(5 * time.Millisecond) })},
	{"slow", "one in a hundred waits for 5 ms", some(100, false, func() { time.Sleep(5 * time.Millisecond) })},
	{"compute", "one in a hundred computes for some 20 ms", some(100, true, func() { compute(20 * time.Millisecond) })},
}

// handle is the one of the handlers that was chosen, nil for plain. It is set
// once, before anything is served.
var handle func() (long bool)

// HandlerFlags registers --handler, --busy and --allocations, which every server
// under measurement has.
func HandlerFlags(fs *flag.FlagSet) {
	var usage, names []string
	for _, h := range handlers {
		usage = append(usage, h.name+": "+h.usage)
		names = append(names, h.name)
	}
	fs.Func("handler", "what a handler of Say does besides its answer, `KIND`: "+strings.Join(usage, "; "), func(name string) error {
		for _, h := range handlers {
			if h.name == name {
				handle = h.prepare()
				return nil
			}
		}
		return errors.New("want one of " + strings.Join(names, ", "))
	})
	BusyFlag(fs)
	allocationsFlag(fs)
}

// Work is what a handler of Say does besides its answer. It returns what belongs
// into the answer's second field: whether it computed for long.
func Work() (answerNumber int32) {
	if telling {
		served.Add(1)
	}
	if handle != nil && handle() {
		return AnswerLong
	}
	return AnswerNumber
}

func always(do func()) func() func() bool {
	return func() func() bool {
		return func() bool { do(); return false }
	}
}

// some has one call in every do something; long says whether clients leave it out
// of their times.
func some(every uint64, long bool, do func()) func() func() bool {
	return func() func() bool {
		var calls atomic.Uint64
		return func() bool {
			if calls.Add(1)%every != 0 {
				return false
			}
			do()
			return long
		}
	}
}

// handover is a handler that has another goroutine do its work, as one does that
// keeps state in a goroutine or shares a connection to a database.
func handover() func() bool {
	const workers = 4
	var work [workers]chan chan struct{}
	for i := range work {
		work[i] = make(chan chan struct{}, 64)
		go func() {
			for done := range work[i] {
				done <- struct{}{}
			}
		}()
	}
	dones := sync.Pool{New: func() any { return make(chan struct{}, 1) }}
	var calls atomic.Uint64
	return func() bool {
		done, _ := dones.Get().(chan struct{})
		work[calls.Add(1)%workers] <- done
		<-done
		dones.Put(done)
		return false
	}
}

// lock is a handler that has to wait for a lock now and then.
func lock() func() bool {
	var mu sync.Mutex
	var calls uint64
	return func() bool {
		mu.Lock()
		if calls++; calls%16 == 0 {
			runtime.Gosched()
		}
		mu.Unlock()
		return false
	}
}
