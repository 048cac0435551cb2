package transport

import (
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// When a caller left its reading for a while and another has called meanwhile, somebody reads at once.
func TestSomebodyReadsOnceACallerComesBackThatLeftItsReading(t *testing.T) {
	leave := make(chan struct{})
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		if string(st.inbox[0].Payload) == "wait" {
			<-leave
		}
		echoBack(w, st)
	}, func(c *Config) { c.PollFrom = 1 << 20 })
	open := func() *Call {
		call := NewCall(true)
		if err := p.caller.Open(call, &wire.Outgoing{Method: echoMethod, Payload: []byte("wait"), HasMessage: true, End: true}, false); err != nil {
			t.Fatal(err)
		}
		return call
	}
	var first *Call
	eventually(t, "a caller reads its own answer", func() bool { // on a busy machine not at once
		for range 100 {
			p.mustEcho(t, "alone")
		}
		if first = open(); first.reads {
			return true
		}
		leave <- struct{}{}
		first.Wait(soon(t))
		return false
	})
	first.LeaveReading()
	second := open()
	first.ResumeReading()
	p.caller.mu.Lock()
	if r := &p.caller.roles; !r.Reading && !r.HelperPending {
		t.Error("nobody reads")
	}
	p.caller.mu.Unlock()
	close(leave)
	for _, call := range []*Call{first, second} {
		if !call.Wait(soon(t)) {
			t.Error("no answer")
		}
	}
}

// A caller that reads its own answer is in a system call when its deadline passes. It is told there, and reading goes on.
func TestACallerThatReadsIsToldOfItsDeadline(t *testing.T) {
	for name, leaves := range map[string]bool{"while it reads": false, "before it reads": true} {
		t.Run(name, func(t *testing.T) {
			leave := make(chan struct{})
			defer close(leave)
			p := newPair(t, func(w *roles.Worker, st *Stream) {
				if string(st.inbox[0].Payload) == "wait" {
					<-leave
				}
				echoBack(w, st)
			}, func(c *Config) { c.PollFrom = 1 << 20 })
			eventually(t, "a caller that reads is late", func() bool { // on a busy machine not at once
				for range 100 {
					p.mustEcho(t, "alone")
				}
				call := NewCall(true)
				out := &wire.Outgoing{
					Method: echoMethod, Payload: []byte("wait"), HasMessage: true, End: true, Deadline: roles.Clock() + 20e6,
				}
				if err := p.caller.Open(call, out, false); err != nil {
					t.Fatal(err)
				}
				p.callee.mu.Lock() // so that its answer to CANCEL does not end the reading
				reads := call.reads
				if leaves && reads {
					eventually(t, "its time is over", func() bool { return roles.Clock() > out.Deadline })
					p.caller.mu.Lock() // not before the timer has come
					late := call.ended
					p.caller.mu.Unlock()
					call.LeaveReading()
					call.ResumeReading()
					reads = late
				}
				if !call.Wait(soon(t)) {
					t.Fatal("it was not told")
				}
				p.callee.mu.Unlock()
				if e := call.Ending; e.Code != wire.DeadlineExceeded || !e.Local {
					t.Fatalf("%+v", e)
				}
				p.mustEcho(t, "after")
				return reads
			})
		})
	}
}

// The deadline of a call is the connection's to watch, also of one that stays behind a write that takes long.
func TestADeadlineHoldsWhileNothingIsWritten(t *testing.T) {
	p := newPair(t, echoBack)
	p.mustEcho(t, "before")
	write := func(may bool) {
		p.caller.mu.Lock()
		defer p.caller.unlock()
		if p.caller.roles.Flushing = !may; may {
			p.caller.roles.FlushLocked()
		}
	}
	write(false)
	call := NewCall(true)
	out := &wire.Outgoing{Method: echoMethod, HasMessage: true, End: true, Deadline: roles.Clock() + 20e6}
	if err := p.caller.Open(call, out, false); err != nil {
		t.Fatal(err)
	}
	if !call.Wait(soon(t)) || call.Ending.Code != wire.DeadlineExceeded {
		t.Errorf("%+v", call.Ending)
	}
	if late := time.Duration(roles.Clock() - out.Deadline); late > 5*time.Second { // what else the connection waits for takes ten
		t.Errorf("it ended %v after its deadline", late)
	}
	write(true)
	p.mustEcho(t, "after")
}
