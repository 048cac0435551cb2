package transport

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func TestCallsAreAnsweredOneByOneAndTogether(t *testing.T) {
	p := newPair(t, echoBack)
	for range 300 {
		p.mustEcho(t, "alone")
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 20 {
				p.mustEcho(t, "together")
			}
		})
	}
	all.Wait()
	if opened, served := p.caller.Counts(); opened != 0 || served != 0 {
		t.Fatal(opened, served)
	}
}

// A method counts as quick, its handler is watched over, and then it blocks:
// the connection gets another goroutine and the next call its answer.
func TestAWatchedHandlerThatBlocksIsRelieved(t *testing.T) {
	leave, entered := make(chan struct{}), make(chan struct{}, 10)
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		if m := string(st.inbox[0].Payload); m == "block" {
			entered <- struct{}{}
			<-leave
		}
		echoBack(w, st)
	})
	for range 20 {
		p.mustEcho(t, "quick")
		quicken(p.below.pace) // whatever this machine took for it
		ended := make(chan string, 1)
		go func() {
			_, answer := p.call(t, soon(t), "block")
			ended <- answer
		}()
		receive(t, entered, "handler")
		p.mustEcho(t, "beside")
		p.mustEcho(t, "beside")
		leave <- struct{}{}
		if answer := receive(t, ended, "answer"); answer != "block" {
			t.Fatal(answer)
		}
	}
}

// The same when the connection ends while nobody reads it.
func TestAWatchedHandlerIsToldOfTheEnd(t *testing.T) {
	entered := make(chan *Stream, 1)
	leave := make(chan struct{})
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		entered <- st
		<-leave
		echoBack(w, st)
	})
	quicken(p.below.pace)
	ended := make(chan wire.Ending, 1)
	go func() {
		e, _ := p.call(t, soon(t), "x")
		ended <- e
	}()
	receive(t, entered, "handler")
	p.caller.Close(errors.New("enough"))
	if code := receive(t, p.below.stopped, "cancellation"); code != wire.Canceled {
		t.Fatal(code)
	}
	receive(t, p.below.closed, "end of the connection")
	close(leave)
	if e := receive(t, ended, "status"); e.Code != wire.Unavailable || e.Delivery != wire.DeliveryUnknown {
		t.Fatal(e)
	}
}

// While a caller that was woken does not run yet, others leave their frames to
// it: it may bring more. If it brings none, it writes them all the same.
func TestFramesThatWereLeftToAWokenCallerAreWritten(t *testing.T) {
	p := newPair(t, echoBack)
	p.mustEcho(t, "before")
	p.caller.roles.Woken(1)
	var all sync.WaitGroup
	for _, text := range []string{"one", "two"} {
		all.Go(func() { p.mustEcho(t, text) })
	}
	eventually(t, "both are left", func() bool {
		p.caller.mu.Lock()
		defer p.caller.mu.Unlock()
		_, left := p.caller.roles.Resuming()
		return left && p.caller.session.OpenCalls() == 2
	})
	p.caller.roles.Resumed()
	all.Wait()
	if n, _ := p.caller.roles.Resuming(); n != 0 {
		t.Fatalf("%d callers are thought to be on their way", n)
	}
}

// Callers that come and go, with all that ends a call, leave nobody waiting.
func TestCallersThatDoNotComeBackLeaveNobodyWaiting(t *testing.T) {
	p := newPair(t, echoBack)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-p.below.stopped:
			case <-p.below.dropped:
			case <-done:
				return
			}
		}
	}()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for n := range 20 + i {
				ctx, cancel := context.WithCancel(soon(t))
				if n%7 == 6 {
					go cancel()
				}
				if e, _ := p.call(t, ctx, "x"); e.Code != wire.OK && e.Code != wire.Canceled {
					t.Error(e)
				}
				cancel()
			}
		})
	}
	all.Wait()
	if n, _ := p.caller.roles.Resuming(); n != 0 {
		t.Fatalf("%d callers are thought to be on their way", n)
	}
}

func TestACallWhoseContextEndsWhileItReads(t *testing.T) {
	leave := make(chan struct{})
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		if string(st.inbox[0].Payload) == "block" {
			<-leave
		}
		echoBack(w, st)
	})
	for range 50 {
		p.mustEcho(t, "x")
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan wire.Ending, 1)
		go func() {
			e, _ := p.call(t, ctx, "block")
			ended <- e
		}()
		cancel()
		if e := receive(t, ended, "status"); e.Code != wire.Canceled {
			t.Fatal(e)
		}
		p.mustEcho(t, "the connection lives")
	}
	close(leave)
	p.mustEcho(t, "x")
}

func TestDrainAnswersWhatRunsAndThenCloses(t *testing.T) {
	for name, joined := range map[string]func(*testing.T, func(*roles.Worker, *Stream)) *pair{
		"TCP": func(t *testing.T, serve func(*roles.Worker, *Stream)) *pair { return newPair(t, serve) },
		"memory": func(t *testing.T, serve func(*roles.Worker, *Stream)) *pair {
			near, far := MemoryPair("drain")
			return join(t, near, far, serve)
		},
	} {
		t.Run(name, func(t *testing.T) {
			entered, leave := make(chan struct{}, 1), make(chan struct{})
			p := joined(t, func(w *roles.Worker, st *Stream) {
				entered <- struct{}{}
				<-leave
				echoBack(w, st)
			})
			ended := make(chan string, 1)
			go func() {
				_, answer := p.call(t, soon(t), "x")
				ended <- answer
			}()
			receive(t, entered, "handler")
			p.callee.Drain("that is all")
			if text := receive(t, p.above.away, "GOAWAY"); text != "that is all" {
				t.Fatal(text)
			}
			out := &wire.Outgoing{Method: echoMethod, HasMessage: true, End: true}
			if err := p.caller.Open(NewCall(true), out, false); !errors.Is(err, ErrDraining) {
				t.Fatalf("a call on a draining connection: %v", err)
			}
			close(leave)
			if answer := receive(t, ended, "answer"); answer != "x" {
				t.Fatal(answer)
			}
			for _, end := range []*upper{p.above, p.below} {
				if err := receive(t, end.closed, "end"); !Drained(err) && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestShutTellsThePeerAndEndsTheCalls(t *testing.T) {
	entered := make(chan struct{}, 1)
	leave := make(chan struct{})
	p := newPair(t, func(w *roles.Worker, st *Stream) { entered <- struct{}{}; <-leave; echoBack(w, st) })
	defer close(leave)
	ended := make(chan wire.Ending, 1)
	go func() {
		e, _ := p.call(t, soon(t), "x")
		ended <- e
	}()
	receive(t, entered, "handler")
	p.caller.Shut(errors.New("closing time"))
	if e := receive(t, ended, "status"); e.Code != wire.Canceled {
		t.Fatal(e)
	}
	if text := receive(t, p.below.away, "GOAWAY"); !strings.Contains(text, "closing time") {
		t.Fatal(text)
	}
	receive(t, p.below.stopped, "cancellation")
	receive(t, p.above.closed, "end")
	if err := p.caller.Open(NewCall(true), &wire.Outgoing{Method: echoMethod}, false); err == nil {
		t.Fatal("a call on a closed connection")
	}
}

// Calls that are lost before they were started are dropped: every call that was
// accepted is either served or dropped, and once.
func TestEveryAcceptedCallIsServedOrDropped(t *testing.T) {
	for range 20 {
		var served atomic.Int32
		entered, leave := make(chan struct{}, 100), make(chan struct{})
		p := newPair(t, func(w *roles.Worker, st *Stream) {
			served.Add(1)
			entered <- struct{}{}
			<-leave
			echoBack(w, st)
		})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				call := NewCall(true)
				if p.caller.Open(call, &wire.Outgoing{Method: echoMethod, HasMessage: true, End: true}, false) == nil {
					call.Wait(context.Background())
				}
			})
		}
		receive(t, entered, "handler")
		p.caller.Close(errors.New("lost"))
		all.Wait()
		receive(t, p.below.closed, "end")
		close(leave)
		eventually(t, "all are accounted for", func() bool {
			return int(served.Load())+len(p.below.dropped) == int(p.below.accepted.Load())
		})
	}
}

// A socket that is closed before anything was written of a call: it provably
// did not leave.
func TestWhatAClosedSocketDidNotTakeIsNotSent(t *testing.T) {
	near, far := sockets(t) // with TLS the socket is closed a little later
	p := join(t, near, far, echoBack)
	p.mustEcho(t, "before")
	p.mustEcho(t, "again")
	c := p.caller
	call := NewCall(true)
	c.mu.Lock()
	c.closeSocketLocked()
	c.session.Open(&call.Stream.Stream, &wire.Outgoing{Method: echoMethod, Payload: []byte("x"), HasMessage: true, End: true})
	call.conn = c
	c.roles.FlushLocked()
	c.unlock()
	if !call.Wait(soon(t)) || call.Ending.Delivery != wire.NotSent {
		t.Fatalf("%+v", call.Ending)
	}
}

// Giving a call up begins to wait for its RESULT, and a message without credit
// for its credit: both have a time by which they must have got on.
func TestWhatTheSessionWaitsForIsTimed(t *testing.T) {
	leave := make(chan struct{})
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		<-leave
		echoBack(w, st)
	})
	defer close(leave)
	timed := func(what string) {
		t.Helper()
		c := p.caller
		c.mu.Lock()
		defer c.mu.Unlock()
		if due := c.session.NextDeadline(); due == 0 || c.timerAt == 0 || c.timerAt > due {
			t.Fatalf("%s: due %d, the timer is set for %d", what, due, c.timerAt)
		}
	}
	never := func() {
		p.caller.mu.Lock()
		defer p.caller.mu.Unlock()
		if p.caller.timer != nil {
			p.caller.timer.Stop()
		}
		p.caller.timerAt = 0
	}
	never()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.call(t, ctx, "given up")
	timed("after GiveUp")
	never()
	large := NewCall(true)
	out := &wire.Outgoing{Method: echoMethod, Payload: make([]byte, 1<<20), HasMessage: true, End: true}
	if err := p.caller.Open(large, out, false); err != nil {
		t.Fatal(err)
	}
	timed("with a message that has to wait")
	large.GiveUp(wire.CancelGivenUp, &wire.Ending{Code: wire.Canceled})
}

// The timer of a process that stood still may run before its reader: the
// answers that lie in the socket come first.
func TestALateTimerLeavesThePeerTimeToBeHeard(t *testing.T) {
	for tries := 1; !leavesTime(t); tries++ { // the machine may stand still at any time
		t.Attr("retry", "the time for the answer was over as well")
		if tries == 20 {
			t.Fatal("a late timer gave the peer up")
		}
	}
}

func leavesTime(t *testing.T) bool {
	near, far := sockets(t)
	defer far.Close()
	u := newUpper(nil)
	pool := &roles.Pool{}
	defer pool.Close()
	c := NewConn(u.config(pool, func(c *Config) {
		c.KeepaliveInterval, c.KeepaliveTimeout = time.Hour, 200*time.Millisecond
	}), near, false, nil, nil)
	if _, err := far.Write(wire.AppendPreface(nil, &wire.Preface{
		Version: wire.Version, Highest: wire.Version, Settings: wire.DefaultSettings(),
	})); err != nil {
		t.Fatal(err)
	}
	receive(t, u.ready, "greeting")
	tick := func(late int64) { // as if the timer had been due then
		c.mu.Lock()
		if c.timer != nil {
			c.timer.Stop()
		}
		c.timerAt = roles.Clock() - late
		c.mu.Unlock()
		c.tick()
	}
	c.mu.Lock()
	c.session.Heard(roles.Clock() - int64(2*time.Hour)) // a PING is due
	c.mu.Unlock()
	tick(0)
	c.mu.Lock()
	c.timer.Stop() // the process stands still
	due := c.timerAt
	c.mu.Unlock()
	eventually(t, "the answer is overdue", func() bool { return roles.Clock() > due })
	tick(int64(time.Second))
	kept := c.Err() == nil
	if err := receive(t, u.closed, "end"); err == nil { // soon after, since there was no answer
		t.Fatal("ended well")
	}
	return kept
}
