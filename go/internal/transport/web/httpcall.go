package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// httpCall is one call that came as a request of HTTP. The goroutine that serves the request reads
// what must be there first, runs the handler and writes the answer. If the call has a deadline,
// another goroutine does that, and this one waits for the deadline or the answer.
type httpCall struct {
	protocol *HTTP
	w        http.ResponseWriter
	r        *http.Request
	peer     httpPeer
	spoken   Dialect
	query    url.Values // of a call by GET
	call     Call
	served   Served
	body     httpBody
	first    *transport.Buffer // of a call that is Whole, until it is received
	packed   bool              // first is compressed
	taken    bool

	mu      sync.Mutex
	started bool
	stopped chan struct{} // closed when the call ended without its handler
	why     wire.Refusal  // and this is how
	lost    bool          // with its caller
	ended   bool          // one or the other

	writing sync.Mutex // held while something is written
	begun   bool       // the header was written
	over    bool       // nothing may be written any more
	share   wire.Share
	holds   int64
}

// httpPeer is the connection that a request came over.
type httpPeer interface {
	Peer
	// Owned is what whoever serves has to do with it.
	Owned() any
	// Begins is asked once before the handler of a call starts, and reports whether it may:
	// not if the caller was told that it did not.
	Begins() bool
	// Interrupt ends the reading of the request, or its answer's writing.
	Interrupt(reading bool)
	// Closing reports whether answers should say that the connection closes.
	Closing() bool
}

type peerKey struct{}

// withPeer returns a context for requests of a connection.
func withPeer(ctx context.Context, p httpPeer) context.Context {
	return context.WithValue(ctx, peerKey{}, p)
}

// serve serves a call.
func (h *HTTP) serve(w http.ResponseWriter, r *http.Request, m Method, spoken Dialect, codec string) {
	x := &httpCall{protocol: h, w: w, r: r, spoken: spoken, stopped: make(chan struct{})}
	x.serve(m, codec)
}

func (x *httpCall) serve(m Method, codec string) {
	h, w, r := x.protocol, x.w, x.r
	x.body.control = http.NewResponseController(w)
	x.peer = r.Context().Value(peerKey{}).(httpPeer) //nolint:forcetypeassert // a request without would be a fault of ours
	x.share.Budget, x.share.Shed = h.Budget, func() { go x.shed() }
	x.call = Call{
		Method: r.URL.Path, Codec: CodecNumber(codec), CodecName: codec, Protocol: x.spoken.Protocol(),
		Peer: x.peer, Owner: x.peer.Owned(), Authority: r.Host,
	}
	if refusal := x.check(); refusal != nil {
		h.Server.Refused(&x.call, refusal)
		x.refuse(refusal, m.Name != "")
		return
	}
	served, refusal := h.Server.Accept(&x.call)
	if refusal != nil {
		if known := m.Name != ""; known && refusal.Codec && x.spoken.ByStatus() {
			h.acceptPost(w, &m)
			refusePlainly(w, http.StatusUnsupportedMediaType, refusal.Message) // the codec is not known
		} else {
			x.refuse(refusal, known)
		}
		return
	}
	x.served = served
	x.body.begin(x)
	if m.Streams {
		defer x.drain()
		_ = x.body.control.EnableFullDuplex() // where it is not so anyway
	}
	defer x.leave()
	defer context.AfterFunc(r.Context(), x.interrupted)()
	if x.call.Deadline == 0 {
		if x.run(); x.wasStopped() {
			x.endStopped(false)
		}
	} else {
		x.runUntil(time.Duration(x.call.Deadline - roles.Clock()))
	}
	if x.wasLost() && r.ProtoMajor == 1 {
		// A caller that still reads must not take what it got for the whole answer: over TLS some
		// clients say that they leave, and read on.
		panic(http.ErrAbortHandler)
	}
}

func (x *httpCall) wasLost() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.lost
}

// check looks for what keeps a call from being served, whatever its method.
func (x *httpCall) check() *wire.Refusal {
	if len(x.call.Method) > wire.MaxMethodName {
		return &wire.Refusal{Code: wire.InvalidArgument, Message: "the method's name is too long"}
	}
	if refusal := x.readFields(); refusal != nil {
		return refusal
	}
	return x.readMetadata()
}

// run does all that there is to do for the call.
func (x *httpCall) run() {
	defer x.giveBack()
	if refusal := x.readFirst(); refusal != nil {
		x.dropped(refusal)
		return
	}
	if x.call.Deadline != 0 && roles.Clock() >= x.call.Deadline {
		x.stop(deadlinePassed, false) // the timer may be late
	}
	x.mu.Lock()
	gone := x.ended
	x.started = !gone && x.peer.Begins()
	started := x.started
	x.mu.Unlock()
	if !started {
		if !gone {
			x.interrupted() // the context has ended, and what that calls is still to come
		}
		x.served.Dropped()
		return
	}
	a := answers.Get().(*Answer) //nolint:forcetypeassert // the pool holds nothing else
	x.answer(a)
	if cap(a.Scratch) <= keptScratch {
		*a = Answer{Scratch: a.Scratch}
		answers.Put(a)
	}
}

// answer runs the handler and writes what it answers, also if it ends its
// goroutine (runtime.Goexit).
func (x *httpCall) answer(a *Answer) {
	whole := true
	defer func() {
		if x.first != nil {
			x.first.Free()
		}
		if whole && x.end() {
			x.finish(a)
		}
	}()
	defer func() {
		if p := recover(); p != nil { // beside the handler: its own end in its Served
			whole = false
			panic(p)
		}
	}()
	x.served.Serve(x, a)
}

// keptScratch bounds what is kept of the memory that answers are built in.
const keptScratch = 128 << 10

var answers = sync.Pool{New: func() any { return &Answer{Scratch: make([]byte, Headroom, 1<<10)} }}

var deadlinePassed = wire.Refusal{Code: wire.DeadlineExceeded, Message: "the deadline has passed"}

// runUntil is run for a call with a deadline.
func (x *httpCall) runUntil(left time.Duration) {
	timer := time.AfterFunc(left, func() {
		x.stop(deadlinePassed, false)
	})
	defer timer.Stop()
	done, broken := make(chan struct{}), false
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				broken = true
				x.protocol.panicked(p)
			}
		}()
		x.run()
	}()
	select {
	case <-done:
		if broken {
			panic(http.ErrAbortHandler)
		}
		if !x.wasStopped() {
			return
		}
	case <-x.stopped:
	}
	if !x.body.over.Load() {
		x.peer.Interrupt(true)
	}
	x.endStopped(false)
}

// severed is why a request's context ends whose caller is to be told.
type severed struct{ why wire.Refusal }

func (s *severed) Error() string { return s.why.Message }

// interrupted ends a call whose request has ended: the caller is gone, or sent nothing for too
// long, or the connection's server ends it.
func (x *httpCall) interrupted() {
	var cut *severed
	switch by := x.body.by.Load(); {
	case errors.As(context.Cause(x.r.Context()), &cut):
		if x.stop(cut.why, false) && x.r.ProtoMajor == 1 { // HTTP/2 has answered
			x.endStopped(true) // its handler may run on
		}
	case by != 0 && roles.Clock() >= by: // net/http takes that for the caller's going
		x.stop(wire.Refusal{Code: wire.ResourceExhausted, Message: transport.LateText(x.protocol.stall())}, false)
	default:
		x.stop(wire.Refusal{Code: wire.Canceled, Message: "the caller has gone"}, true)
	}
}

// endStopped answers a call that was stopped. No more is written by others.
func (x *httpCall) endStopped(flush bool) {
	x.lockWriting()
	defer x.writing.Unlock()
	answer := !x.over
	x.endUnanswered()
	if x.over = true; answer && flush {
		_ = x.flushLocked()
	}
}

// leave has nothing written any more: the request is net/http's again.
func (x *httpCall) leave() {
	x.writing.Lock()
	x.over = true
	x.writing.Unlock()
}

// drain reads what is left of the body, unless the call was stopped and its
// handler still has it.
func (x *httpCall) drain() {
	if !x.wasStopped() {
		x.body.drain()
	}
}

func (x *httpCall) wasStopped() bool {
	select {
	case <-x.stopped:
		return true
	default:
		return false
	}
}

// lockWriting waits a while for a write that is under way, then breaks it off.
func (x *httpCall) lockWriting() {
	if x.writing.TryLock() {
		return
	}
	patience := time.AfterFunc(interruptTime, func() { x.peer.Interrupt(false) })
	x.writing.Lock()
	patience.Stop()
}

// interruptTime is how long a write may take that is under way when a call is
// stopped.
const interruptTime = 100 * time.Millisecond

// end notes that the call is ending by its handler's answer. It reports false if
// it was stopped before.
func (x *httpCall) end() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return false
	}
	x.ended = true
	return true
}

// stop ends the call without its handler. It reports false if it was over.
func (x *httpCall) stop(why wire.Refusal, lost bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return false
	}
	x.ended, x.why, x.lost = true, why, lost
	x.served.Stopped(Stop{Code: why.Code, Message: why.Message, Refused: !x.started, Lost: lost})
	close(x.stopped)
	return true
}

// dropped ends a call whose handler will not run.
func (x *httpCall) dropped(why *wire.Refusal) {
	answer := x.end()
	x.served.Dropped()
	if answer {
		x.protocol.Server.Refused(&x.call, why)
		x.writing.Lock()
		x.failLocked(refused(why))
		x.writing.Unlock()
	}
}

// endUnanswered answers a call that was stopped, under the lock of writing.
func (x *httpCall) endUnanswered() {
	x.mu.Lock()
	e := &wire.Ending{Code: x.why.Code, Message: x.why.Message, Delivery: wire.DeliveryUnknown}
	if !x.started {
		e.Delivery = wire.Refused
	}
	lost := x.lost
	x.mu.Unlock()
	if x.over || lost {
		return
	}
	x.failLocked(e)
}

func refused(why *wire.Refusal) *wire.Ending {
	return &wire.Ending{Code: why.Code, Message: why.Message, Details: why.Details, Delivery: wire.Refused, RetryAfter: why.RetryAfter}
}

// finish writes the answer of the handler.
func (x *httpCall) finish(a *Answer) {
	x.writing.Lock()
	defer x.writing.Unlock()
	if x.over {
		return
	}
	if n := int64(len(a.Scratch)); n > keptScratch && !x.affords(n) {
		x.failLocked(&wire.Ending{Code: wire.ResourceExhausted, Message: x.protocol.Budget.Full(), Delivery: wire.DeliveryUnknown})
		return
	}
	x.answerLocked(a)
	x.over = true
}

// affords draws on what may be held in memory.
func (x *httpCall) affords(more int64) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.share.Affords(x.holds + more) {
		return false
	}
	x.holds += more
	return true
}

// shed ends the call, since it holds most of what all may hold together.
func (x *httpCall) shed() {
	defer x.share.Relieved()
	why := wire.Refusal{Code: wire.ResourceExhausted, Message: x.protocol.Budget.Full(), RetryAfter: wire.RoomRetry}
	if x.stop(why, false) {
		if !x.body.over.Load() {
			x.peer.Interrupt(true)
		}
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.holds > 0 { // its answer is being written
		x.peer.Interrupt(false)
	}
}

func (x *httpCall) giveBack() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.holds = 0
	x.share.GiveBack(0)
}
