package transport

import (
	"testing"

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
