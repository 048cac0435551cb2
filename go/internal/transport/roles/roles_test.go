package roles

import (
	"sync"
	"testing"
)

// fakeConn is a connection without a socket: what arrives is put in by the test, and
// every answer is one byte. Handlers are functions.
type fakeConn struct {
	mu    sync.Mutex
	roles Roles
	pool  Pool
	pace  *Pace

	input  chan *fakeCall // what the reader waits for; closed: the end
	closed bool
	unsent int
	serves int // calls that were taken in and are not finished
	writes []int
	within func() // while nobody holds the lock, before a write

	ended chan struct{}
}

type fakeCall struct {
	conn    *fakeConn
	arrived int64
	run     func()
}

// newFakeConn returns one that is being read.
func newFakeConn(t *testing.T) *fakeConn {
	c := &fakeConn{pace: &Pace{}, input: make(chan *fakeCall), ended: make(chan struct{})}
	c.roles.Init(c, &c.mu, &c.pool)
	c.mu.Lock()
	c.roles.StartLocked()
	c.mu.Unlock()
	t.Cleanup(func() {
		close(c.input)
		receive(t, c.ended, "end of the connection")
		c.pool.Close()
	})
	return c
}

// call has a call arrive.
func (c *fakeConn) call(run func()) { c.input <- &fakeCall{conn: c, run: run} }

func (c *fakeConn) Unlock()             { c.mu.Unlock() }
func (c *fakeConn) ClosedLocked() bool  { return c.closed }
func (c *fakeConn) ReadDoneLocked()     {}
func (c *fakeConn) AwaitedLocked() bool { return false }
func (c *fakeConn) LeaveLocked() bool   { return c.closed }

func (c *fakeConn) ReadLocked() {
	c.mu.Unlock()
	call := <-c.input
	c.mu.Lock()
	if call == nil {
		c.closed = true
		c.roles.DropQueueLocked()
		close(c.ended)
		return
	}
	call.arrived = Clock()
	c.serves++
	c.roles.EnqueueLocked(call)
}

func (c *fakeConn) HasOutputLocked() bool { return c.unsent > 0 }
func (c *fakeConn) UnsentLocked() int     { return c.unsent }

func (c *fakeConn) WriteLocked() bool {
	c.roles.Flushing = true
	c.writes = append(c.writes, c.unsent)
	c.unsent = 0
	c.mu.Unlock()
	if c.within != nil {
		c.within()
	}
	c.mu.Lock()
	c.roles.Flushing = false
	return true
}

func (c *fakeConn) WriteOnLocked() {
	go func() {
		c.mu.Lock()
		c.roles.FlushLocked()
		c.mu.Unlock()
	}()
}

func (c *fakeConn) CallersLocked() bool   { return false }
func (c *fakeConn) ServesLocked() bool    { return c.serves > 0 }
func (c *fakeConn) CloseIfDrainedLocked() {}

func (call *fakeCall) StartLocked() bool      { return !call.conn.closed }
func (call *fakeCall) Timing() (*Pace, int64) { return call.conn.pace, call.arrived }
func (call *fakeCall) Run(*Worker)            { call.run() }
func (call *fakeCall) FinishLocked(*Worker, int64) {
	c := call.conn
	c.serves--
	c.roles.AnsweringLocked(Clock())
	c.unsent++
}

func (c *fakeConn) answered() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.writes {
		n += w
	}
	return n
}

func quicken(p *Pace) {
	for range 10 * paceWeight {
		p.Note(1000)
	}
}

// Whether a method is known to be quick or not: while its handler blocks, others of the
// connection are read, run and answered.
func TestAHandlerThatBlocksHoldsUpNothing(t *testing.T) {
	for name, quick := range map[string]bool{"known to be quick": true, "not known": false} {
		t.Run(name, func(t *testing.T) {
			c := newFakeConn(t)
			if quick {
				quicken(c.pace)
			}
			entered, leave := make(chan struct{}), make(chan struct{})
			c.call(func() { close(entered); <-leave })
			receive(t, entered, "handler")
			for n := range 10 {
				c.call(func() {})
				eventually(t, "it is answered", func() bool { return c.answered() == n+1 })
			}
			close(leave)
			eventually(t, "the first is answered", func() bool { return c.answered() == 11 })
		})
	}
}

// What one that lets others append does not come to write is written by one that the
// monitor sends.
func TestTheMonitorSeesToWhatWasLeftToBeWritten(t *testing.T) {
	c := newFakeConn(t)
	c.mu.Lock()
	c.roles.Scheduled = true // as if somebody let others append, who does not run again
	c.unsent++
	c.mu.Unlock()
	w := &Worker{pool: &c.pool}
	w.watchOver(&c.roles)
	eventually(t, "it is written", func() bool { return c.answered() == 1 })
	w.watchOff()
}

// Who writes does not write for others for long: another goroutine writes on.
func TestNobodyWritesForAllOthers(t *testing.T) {
	c := newFakeConn(t)
	var left sync.WaitGroup
	writes := 0
	left.Add(1)
	c.within = func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if writes++; writes <= 2*flushRounds {
			c.unsent++ // others append all the time
		}
	}
	go func() {
		c.mu.Lock()
		c.unsent++
		c.roles.FlushLocked()
		if len(c.writes) < flushRounds {
			t.Errorf("%d writes, want %d at least", len(c.writes), flushRounds)
		}
		c.mu.Unlock()
		left.Done()
	}()
	left.Wait()
	eventually(t, "all is written", func() bool { return c.answered() == 2*flushRounds+1 })
}

// While computations hold the processors, whoever appended writes at once and does not
// let others append first, not even a caller that was woken.
func TestNobodyYieldsWhileProcessorsAreHeld(t *testing.T) {
	heldAbove := func(nanoseconds float64) {
		eventually(t, "the monitor leaves", func() bool { return !monitor.on.Load() })
		HeldAbove = nanoseconds
	}
	before := HeldAbove
	heldAbove(-1e18) // whatever the monitor finds
	monitor.late.held.Store(true)
	c := newFakeConn(t)
	c.mu.Lock()
	c.roles.Woken(1)
	c.unsent++
	c.roles.FlushUnlock()
	if c.answered() != 1 {
		t.Error("it was left to a caller that was woken")
	}
	c.roles.Resumed()
	heldAbove(before)
	monitor.late.held.Store(false)
}

func TestAnswersDoNotWaitForTheOneThatLetsOthersAppend(t *testing.T) {
	c := newFakeConn(t)
	c.mu.Lock()
	c.roles.Scheduled = true // as if somebody let others append, who does not run again
	c.unsent++
	c.roles.since = Clock() - 2*staleGathered
	c.mu.Unlock()
	c.call(func() {})
	eventually(t, "both are written", func() bool { return c.answered() == 2 })
}

// The monitor leaves when nothing is to be watched and is called again.
func TestTheMonitorComesAndGoes(t *testing.T) {
	c := newFakeConn(t)
	for range 3 {
		quicken(c.pace)
		for range 50 {
			c.call(func() {})
		}
		eventually(t, "the monitor leaves", func() bool { return !monitor.on.Load() })
	}
}
