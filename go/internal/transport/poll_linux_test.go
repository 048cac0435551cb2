package transport

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// useUpDescriptors leaves the process no descriptor that is free until the test ends.
func useUpDescriptors(t *testing.T) {
	next, err := copyDescriptor(1)
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Close(next)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(next)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) })
}

// To wait for a peer that is slow a polled connection needs one descriptor more for a moment. Without it, writing goes
// on as the socket takes it, and no call is lost.
func TestAPolledConnectionOutlivesTheLackOfDescriptors(t *testing.T) {
	polled := false
	for try := 0; !polled && !t.Failed(); try++ {
		if try == 20 {
			t.Fatal("each time a descriptor was there after all")
		}
		if try > 0 { // what an earlier connection gave back late
			t.Attr("retry", "a descriptor was there after all")
		}
		t.Run("try", func(t *testing.T) { polled = staysPolledWithoutDescriptors(t) })
	}
}

func staysPolledWithoutDescriptors(t *testing.T) bool {
	hold := make(chan struct{})
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		<-hold
		echoBack(w, st)
	}, pollAlways)
	p.awaitPolled(t)
	useUpDescriptors(t)
	stall := make(chan struct{})
	stalled := make(chan struct{})
	go func() {
		p.callee.mu.Lock() // nobody takes in what is sent
		close(stalled)
		<-stall
		p.callee.mu.Unlock()
	}()
	<-stalled
	large := strings.Repeat("0123456789abcdef", 1<<12)
	done := make(chan wire.Ending, 400)
	for range cap(done) {
		go func() {
			e, _ := p.call(t, soon(t), large)
			done <- e
		}()
	}
	stuck := func() bool {
		p.caller.mu.Lock()
		defer p.caller.mu.Unlock()
		return p.caller.roles.Flushing && p.caller.passed < p.caller.session.Moved() && p.caller.session.OpenCalls() == cap(done)
	}
	eventually(t, "the socket is full", stuck)
	close(stall)
	close(hold)
	for range cap(done) {
		if e := receive(t, done, "answer"); e.Code != wire.OK {
			t.Fatalf("%v %q", e.Code, e.Message)
		}
	}
	return p.caller.isPolled()
}

// Nor does it wait for ever then for a peer that reads nothing.
func TestAPeerThatDoesNotReadIsLeftWithoutADescriptorToWaitWith(t *testing.T) {
	p := newPair(t, echoBack, pollAlways, func(c *Config) { c.Stall = 50 * time.Millisecond })
	p.awaitPolled(t)
	useUpDescriptors(t)
	p.callee.mu.Lock() // nobody takes in what is sent
	defer p.callee.mu.Unlock()
	for range 400 { // 25 MB, of which what the sockets hold is a part
		request := make([]byte, 64_000)
		if p.caller.Open(NewCall(true), &wire.Outgoing{Method: echoMethod, Payload: request, HasMessage: true, End: true}, false) != nil {
			break
		}
	}
	if err := receive(t, p.above.closed, "end of the connection"); !errors.Is(err, errStalled) {
		t.Error(err)
	}
}

// A poller may look at a connection just as another goroutine gives its socket back.
func TestAPolledConnectionIsGivenBackWhileItIsRead(t *testing.T) {
	for range 20 {
		p := newPair(t, echoBack, pollAlways)
		p.awaitPolled(t)
		c := p.callee
		done := make(chan struct{})
		go func() {
			defer close(done)
			w := roles.NewPollerWorker(nobody{})
			for c.isPolled() {
				c.servePolled(w) // an event that came late: there is nothing to read
			}
		}()
		p.mustEcho(t, "before")
		c.mu.Lock()
		err := c.unpollLocked()
		c.mu.Unlock()
		<-done
		if err != nil {
			t.Fatal(err)
		}
		p.mustEcho(t, "after")
	}
}

// nobody is a poller that nothing holds up.
type nobody struct{}

func (nobody) Replace() {}
