package transport

import (
	"errors"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// events is a Conn as its session sees it; every method runs under the lock.
type events Conn

func (e *events) Accept(in *wire.Incoming) (*wire.Stream, *wire.Refusal) {
	c := (*Conn)(e)
	st, refusal := c.config.Handler.Accept(c, in)
	if st == nil || in.Refused {
		return nil, refusal
	}
	c.spin.calls++
	st.conn = c
	c.calls++
	st.arrived = c.session.Now()
	st.oneWay = in.OneWay
	st.Whole = st.Whole || in.OneWay
	if st.Whole {
		st.ExpectOne()
	}
	st.halfClosed = in.End
	st.Hold()
	if in.HasMessage {
		st.push(in.Payload, in.Compression, in.Cost, false)
	}
	if !st.Whole || in.End {
		c.roles.EnqueueLocked((*roleCall)(st))
	}
	return &st.Stream, nil
}

func (e *events) Message(s *wire.Stream, payload []byte, compression uint8, cost wire.Cost, owned bool) {
	st := streamOf(s)
	st.push(payload, compression, cost, owned)
	if call, ok := s.Owner.(*Call); ok && !call.answered {
		call.answer()
	}
	st.wakeReceiver()
}

func (e *events) HalfClosed(s *wire.Stream) {
	st := streamOf(s)
	st.halfClosed = true
	if st.Whole {
		c := (*Conn)(e)
		c.roles.EnqueueLocked((*roleCall)(st))
	}
	st.wakeReceiver()
}

func (e *events) Stopped(s *wire.Stream, code wire.Code) {
	st := streamOf(s)
	st.wakeReceiver()
	st.wakeSender()
	h := (*Conn)(e).config.Handler
	if st.Whole && !st.halfClosed {
		st.dropInbox()
		h.Dropped(st) // it never came to stand in the queue
		return
	}
	if !st.Whole {
		st.dropInbox() // the handler may run for long and will not be given it
	}
	h.Stopped(st, code)
}

func (e *events) Unserved(s *wire.Stream, method string, refused bool, code wire.Code, message string) {
	var st *Stream
	if s != nil {
		st = streamOf(s)
	}
	c := (*Conn)(e)
	c.config.Handler.Unserved(c, st, method, refused, code, message)
}

func (e *events) EarlyMetadata(s *wire.Stream, m wire.Metadata) {
	call := callOf(s)
	call.Header = m
	call.answer()
}

func (e *events) Ended(s *wire.Stream, ending *wire.Ending) {
	call := callOf(s)
	call.end(ending)
	if call.unary {
		e.awaken(call)
		return
	}
	call.wakeReceiver()
	call.wakeSender()
}

// awaken has the caller of a unary call woken, once.
func (e *events) awaken(call *Call) {
	if !call.woken {
		call.woken = true
		if call.reads && e.ticking {
			(*Conn)(e).interruptLocked()
		}
		if call.task != nil {
			e.config.Pool.Do(call.task)
			return
		}
		e.wake.add(call)
	}
}

func (e *events) Sent(s *wire.Stream) {
	st := streamOf(s)
	if s := st.several; s != nil && s.queued != nil {
		e.spent = append(e.spent, s.queued) // pieces of it are still to be written
		s.queued = nil
	}
	st.wakeSender()
}

func (e *events) PeerReady(p *wire.Preface) {
	c := (*Conn)(e)
	c.greeted = true
	c.accepts.Store(uint32(p.Settings.Compressions))
	c.config.Handler.Ready(c, p)
}

func (e *events) PeerGoesAway(reason uint32, text string) (why string) {
	c := (*Conn)(e)
	if reason != 0 {
		c.peerCause = errors.New("the peer ended the connection: " + text)
	}
	c.config.Handler.GoesAway(c, reason, text)
	if reason != wire.GoAwayNotServed {
		return ""
	}
	return c.lostText(c.peerCause)
}

// streamOf returns the object that embeds s in this layer.
func streamOf(s *wire.Stream) *Stream {
	if call, ok := s.Owner.(*Call); ok {
		return &call.Stream
	}
	return s.Owner.(*Stream) //nolint:forcetypeassert // Init sets nothing else
}

func callOf(s *wire.Stream) *Call {
	return s.Owner.(*Call) //nolint:forcetypeassert // sessions report these events for calls only
}
