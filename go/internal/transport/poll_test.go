package transport

import (
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func pollAlways(c *Config) { c.PollFrom = -1 }

// awaitPolled waits until a poller looks after both ends.
func (p *pair) awaitPolled(t *testing.T) {
	t.Helper()
	if !canPoll {
		t.Skip("pollers need epoll")
	}
	eventually(t, "polled", func() bool { return p.caller.isPolled() && p.callee.isPolled() })
}

func (c *Conn) isPolled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.polled != nil
}

func TestFewConnectionsAreReadByGoroutinesOfTheirOwnAndManyArePolled(t *testing.T) {
	byDefault := func(c *Config) { c.PollFrom = 0 }
	few := newPair(t, echoBack, byDefault)
	few.mustEcho(t, "few")
	if few.caller.isPolled() || few.callee.isPolled() {
		t.Fatal("one connection is polled")
	}
	var last *pair
	for range pollFrom {
		last = newPair(t, echoBack, byDefault)
	}
	last.awaitPolled(t)
	last.mustEcho(t, "many")
	few.mustEcho(t, "those that were there before")
}

func TestWhereNoneIsToBePolledNoneIs(t *testing.T) {
	var last *pair
	for range pollFrom + 1 {
		last = newPair(t, echoBack, func(c *Config) { c.PollFrom = math.MaxInt })
		last.mustEcho(t, "many")
	}
	if last.caller.isPolled() || last.callee.isPolled() {
		t.Fatal("a connection is polled")
	}
}

// A handler that was quick for long and then is not holds up the poller that runs it: the connections of that poller
// get another.
func TestAHandlerThatHoldsUpItsPollerHoldsUpNoOtherConnection(t *testing.T) {
	leave := make(chan struct{})
	entered := make(chan struct{}, 100)
	serve := func(w *roles.Worker, st *Stream) {
		if string(st.inbox[0].Payload) == "block" {
			entered <- struct{}{}
			<-leave
		}
		echoBack(w, st)
	}
	pairs := make([]*pair, 4*runtime.GOMAXPROCS(0))
	for i := range pairs {
		pairs[i] = newPair(t, serve, pollAlways)
		pairs[i].awaitPolled(t)
		quicken(pairs[i].below.pace)
	}
	blocked := pairs[:len(pairs)/2]
	answered := make(chan string, len(blocked))
	for _, p := range blocked {
		go func() {
			_, answer := p.call(t, soon(t), "block")
			answered <- answer
		}()
	}
	for range blocked {
		receive(t, entered, "handler")
	}
	for _, p := range pairs[len(pairs)/2:] {
		p.mustEcho(t, "meanwhile")
	}
	close(leave)
	for range blocked {
		if answer := receive(t, answered, "answer"); answer != "block" {
			t.Fatal(answer)
		}
	}
	for _, p := range pairs {
		p.mustEcho(t, "afterwards")
	}
}

// A handler that opted in to run inline must not block; if it does, only its own connection stands still.
func TestAnInlineHandlerThatBlocksHoldsUpNoOtherConnection(t *testing.T) {
	leave := make(chan struct{})
	entered := make(chan struct{}, 1)
	serve := func(w *roles.Worker, st *Stream) {
		if string(st.inbox[0].Payload) == "block" {
			entered <- struct{}{}
			<-leave
		}
		echoBack(w, st)
	}
	pairs := make([]*pair, 2*runtime.GOMAXPROCS(0))
	for i := range pairs {
		pairs[i] = newPair(t, serve, pollAlways)
		pairs[i].awaitPolled(t)
		pairs[i].below.pace = roles.Inline
	}
	answered := make(chan string, 1)
	go func() {
		_, answer := pairs[0].call(t, soon(t), "block")
		answered <- answer
	}()
	receive(t, entered, "handler")
	for _, p := range pairs[1:] {
		p.mustEcho(t, "meanwhile")
	}
	close(leave)
	if answer := receive(t, answered, "answer"); answer != "block" {
		t.Fatal(answer)
	}
}

func TestAHandlerThatEndsThePollersGoroutineHarmsOnlyItsCall(t *testing.T) {
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		if string(st.inbox[0].Payload) == "exit" {
			w.Ending.Code, w.Ending.Delivery = wire.Internal, wire.Executed
			runtime.Goexit()
		}
		echoBack(w, st)
	}, pollAlways)
	p.awaitPolled(t)
	for range 3 {
		quicken(p.below.pace)
		if e, _ := p.call(t, soon(t), "exit"); e.Code != wire.Internal {
			t.Fatal(e)
		}
		p.mustEcho(t, "after it")
	}
}

// What a polled socket does not take at once is written by a goroutine that waits, and the socket is package net's
// again.
func TestAPolledConnectionThatMustWaitForItsPeerGetsItsSocketBack(t *testing.T) {
	hold := make(chan struct{})
	p := newPair(t, func(w *roles.Worker, st *Stream) {
		<-hold
		echoBack(w, st)
	}, pollAlways)
	p.awaitPolled(t)
	p.callee.mu.Lock() // nobody takes in what is sent
	large := strings.Repeat("0123456789abcdef", 1<<12)
	done := make(chan string, 400)
	for range cap(done) {
		go func() {
			_, answer := p.call(t, soon(t), large)
			done <- answer
		}()
	}
	unlock := sync.OnceFunc(p.callee.mu.Unlock)
	defer unlock()
	eventually(t, "given back", func() bool { return !p.caller.isPolled() })
	unlock()
	close(hold)
	for range cap(done) {
		if answer := receive(t, done, "answer"); answer != large {
			t.Fatalf("%d bytes", len(answer))
		}
	}
	p.mustEcho(t, "small")
}
