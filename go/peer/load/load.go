// Package load puts calls on a server and times them. It knows nothing of any
// RPC framework: whoever measures one hands in a function that makes a call, so
// that Trunkcall and every peer beside it are driven and timed by the same code.
//
// Two experiments are offered. The closed loop measures capacity: each caller
// makes its next call when the last one has ended. The open loop (Config.Rate)
// measures latency: calls have times at which they are due, whether or not
// earlier ones have been answered, and each is timed from when it was due, so
// that a stall counts against all who waited because of it. Waiting for the time
// costs a wake-up of the process per call, which is part of its CPU time: compare
// CPU time between runs of the closed loop, or of the same rate.
//
// For a streaming method one call is one message each way: a caller opens its
// stream in the factory, sends from a goroutine as fast as the stream takes
// messages, and its call function receives one. The rate then is the stream's
// throughput in messages, and the latencies are the gaps between arrivals. Where
// only the server streams, it sends as fast as it can.
package load

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Call makes one call and reports how it ended.
type Call func() error

// ErrUntimed is the end of a call that succeeded but is none of those whose times
// are looked at: it counts as a call, and is in no latency.
var ErrUntimed = errors.New("not to be timed")

// ErrStop says that no call was made and that the caller makes no more.
var ErrStop = errors.New("the load is to end")

// Factory prepares the call function of one caller, numbered from 0. It runs
// before the clock does; opening connections belongs here or before Run. A call
// function is only ever used by one goroutine at a time.
type Factory func(caller int) (Call, error)

// Config says how much load to make.
type Config struct {
	// Callers is how many calls are in flight at once; in the open loop, how many
	// at most.
	Callers int

	// Either Calls, a total for all callers, or Duration ends the run. Calls that
	// were begun are waited for and counted.
	Calls    int64
	Duration time.Duration

	// Rate, in calls per second over all callers, chooses the open loop.
	Rate float64

	// The warm-up is a closed loop before the clock starts. It ends after Warmup,
	// or after WarmupCalls calls where that is sooner; WarmupCalls of zero sets no
	// such bound. A failing call in the warm-up fails the run.
	Warmup      time.Duration
	WarmupCalls int64
}

func (c Config) validate() error {
	switch {
	case c.Callers < 1:
		return errors.New("at least one caller is needed")
	case c.Calls < 0 || c.Duration < 0 || c.Rate < 0 || c.Warmup < 0 || c.WarmupCalls < 0:
		return errors.New("calls, durations and rates cannot be negative")
	case (c.Calls > 0) == (c.Duration > 0):
		return errors.New("either a number of calls or a duration is needed")
	}
	return nil
}

// Run makes the callers, warms up, and measures.
func Run(config Config, factory Factory) (Result, error) {
	return config.run((*window).closedLoop, func(i int) (*caller, error) {
		call, err := factory(i)
		return &caller{call: call}, err
	})
}

// RunWarm is Run for load that goes on whatever becomes of its calls: the warm-up is the same load, for that time. It
// also returns how many calls it had.
func RunWarm(config Config, factory Factory) (result Result, before int64, err error) {
	if config.Warmup > 0 {
		warm := config
		warm.Duration, warm.Calls, warm.Warmup = config.Warmup, 0, 0
		warmed, err := Run(warm, factory)
		if err != nil {
			return Result{}, 0, err
		}
		before = warmed.Calls
	}
	config.Warmup = 0
	result, err = Run(config, factory)
	return result, before, err
}

// run makes the callers, warms up and measures; loop is the closed one.
func (c Config) run(loop func(*window, *caller), prepare func(number int) (*caller, error)) (Result, error) {
	if err := c.validate(); err != nil {
		return Result{}, err
	}
	callers := make([]*caller, c.Callers)
	for i := range callers {
		var err error
		if callers[i], err = prepare(i); err != nil {
			return Result{}, fmt.Errorf("caller %d: %w", i, err)
		}
	}
	if c.Warmup > 0 {
		warm := newWindow(c.WarmupCalls, c.Warmup, c.Callers)
		warm.run(callers, func(caller *caller) { loop(warm, caller) })
		if warm.firstError != nil {
			return Result{}, fmt.Errorf("in the warm-up: %w", warm.firstError)
		}
	}
	measured := newWindow(c.Calls, c.Duration, c.Callers)
	if c.Rate > 0 {
		return measured.openLoop(callers, c.Rate)
	}
	measured.run(callers, func(caller *caller) { loop(measured, caller) })
	return measured.result(), nil
}

// errorPause keeps a caller whose calls fail at once from doing nothing but
// fail: a run against a dead server stays cheap.
const errorPause = 10 * time.Millisecond

// caller is one source of calls and the samples it has not handed in yet. Only
// its own goroutine touches it, so a call takes no lock and no shared memory.
type caller struct {
	call    Call
	start   AsyncCall // in its place, for calls that nobody waits for
	samples [128]time.Duration
	pending int
}

// window is one stretch of load: the warm-up, or the measured part.
type window struct {
	duration time.Duration // zero: until the budget is spent
	budget   atomic.Int64  // calls not handed out yet
	chunk    int64         // how many are handed out at a time
	start    time.Time
	cpu      time.Duration // of this process, before the start and then over the window
	allocs   uint64        // likewise
	seconds  float64

	mu         sync.Mutex // guards what follows
	recorded   recorder   // those that succeeded
	failed     recorder   // those that did not
	untimed    int64
	errors     int64
	firstError error
}

// unbounded is a budget that no run spends.
const unbounded = int64(1) << 62

func newWindow(calls int64, duration time.Duration, callers int) *window {
	w := &window{duration: duration, recorded: newRecorder(), failed: newRecorder()}
	// A small chunk lets all callers end at about the same time; a large one
	// spares the shared counter.
	w.chunk = min(max(calls/int64(callers)/32, 1), 64)
	if calls == 0 {
		calls, w.chunk = unbounded, unbounded>>32
	}
	w.budget.Store(calls)
	return w
}

// take hands out calls from the budget; none means that the run is over.
func (w *window) take() int64 {
	left := w.budget.Add(-w.chunk) + w.chunk
	return max(min(left, w.chunk), 0)
}

// run starts the clock, runs loop for every caller, and stops the clock when the
// last has ended.
func (w *window) run(callers []*caller, loop func(*caller)) {
	w.begin()
	w.each(callers, loop)
	w.end()
}

func (w *window) each(callers []*caller, loop func(*caller)) {
	var running sync.WaitGroup
	for _, c := range callers {
		running.Go(func() { loop(c); w.handIn(c) })
	}
	running.Wait()
}

func (w *window) begin() {
	w.allocs = Allocations()
	w.cpu = processCPU()
	w.start = time.Now()
}

func (w *window) end() {
	w.seconds = time.Since(w.start).Seconds()
	w.cpu = processCPU() - w.cpu
	w.allocs = Allocations() - w.allocs
}

// Allocations is how often this process has allocated memory from its heap.
func Allocations() uint64 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.Mallocs
}

// closedLoop makes calls back to back. The end of one call is the start of the
// next, so the clock is read once per call.
func (w *window) closedLoop(c *caller) {
	last := time.Since(w.start)
	for granted := w.take(); granted > 0; granted = w.take() {
		for ; granted > 0; granted-- {
			err := c.call()
			if err == ErrStop { //nolint:errorlint // it is never wrapped
				return
			}
			if last = w.ended(c, last, err); w.duration > 0 && last >= w.duration {
				return
			}
		}
	}
}

// ended notes how a call ended that began at the time began, and returns when the
// next one begins.
func (w *window) ended(c *caller, began time.Duration, err error) time.Duration {
	now := time.Since(w.start)
	if w.record(c, now-began, err) {
		time.Sleep(errorPause)
		now = time.Since(w.start)
	}
	return now
}

// record notes how a call ended, and how long it took. It reports whether it
// failed.
func (w *window) record(c *caller, took time.Duration, err error) (failed bool) {
	if err == nil {
		w.time(c, took)
		return false
	}
	if err == ErrUntimed { //nolint:errorlint // it is never wrapped
		w.mu.Lock()
		w.untimed++
		w.mu.Unlock()
		return false
	}
	w.fail(took, err)
	return true
}

// time notes how long a call took that succeeded.
func (w *window) time(c *caller, took time.Duration) {
	c.samples[c.pending] = took
	if c.pending++; c.pending == len(c.samples) {
		w.handIn(c)
	}
}

// handIn moves the caller's samples to the shared record.
func (w *window) handIn(c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recorded.add(c.samples[:c.pending])
	c.pending = 0
}

func (w *window) fail(took time.Duration, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed.add([]time.Duration{took})
	w.errors++
	if w.firstError == nil {
		w.firstError = err
	}
}
