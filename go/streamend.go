package trunkcall

import (
	"errors"
	"io"
	"iter"
)

// What a stream of a call has beside its messages. What interceptors wrap around a stream
// is looked through.

// Close ends the call, with CANCEL, unless it has ended. Close a call that you do not receive to
// its end: that frees its handler, memory and slot. It may be called at any time and from any
// goroutine. At a handler's end it does nothing, since the call ends when the handler returns.
func (r *Receiver[T]) Close() { closeStream(r.stream) }

// All are the messages in turn, for a range loop. A failure of the call comes last, with
// a nil message; the end of a call that succeeded just ends the loop. When the loop is
// left, the call is closed, as by Close.
func (r *Receiver[T]) All() iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		defer r.Close()
		for {
			message, err := r.Receive()
			if errors.Is(err, io.EOF) || !yield(message, err) || err != nil {
				return
			}
		}
	}
}

// Header is the metadata that came ahead of the messages; at the caller's end it
// waits for that.
func (r *Receiver[T]) Header() Metadata { return headerOf(r.stream) }

// Trailer is, at the caller's end, the metadata that came with the end of the call,
// once Receive has returned that end.
func (r *Receiver[T]) Trailer() Metadata { return trailerOf(r.stream) }

// Peer is the other end.
func (r *Receiver[T]) Peer() Peer { return peerUnder(r.stream) }

// Close is Receiver.Close, for a call whose answer is not wanted any more.
func (s *RequestStream[Req, Resp]) Close() { closeStream(s.stream) }

// Header waits for the metadata that comes ahead of the answer.
func (s *RequestStream[Req, Resp]) Header() Metadata { return headerOf(s.stream) }

// Trailer is the metadata that came with the end of the call, once CloseAndReceive has
// returned.
func (s *RequestStream[Req, Resp]) Trailer() Metadata { return trailerOf(s.stream) }

// Peer is the other end.
func (s *RequestStream[Req, Resp]) Peer() Peer { return peerUnder(s.stream) }

// under finds what has methods of its own under what interceptors wrapped around it.
func under[T any](s Stream) (found T, ok bool) {
	for {
		if found, ok = s.(T); ok {
			return found, true
		}
		wrapper, wraps := s.(interface{ Unwrap() Stream })
		if !wraps {
			return found, false
		}
		s = wrapper.Unwrap()
	}
}

func closeStream(s Stream) {
	if c, ok := under[io.Closer](s); ok {
		_ = c.Close()
	}
}

func headerOf(s Stream) Metadata {
	if h, ok := under[interface{ Header() Metadata }](s); ok {
		return h.Header()
	}
	return nil
}

func trailerOf(s Stream) Metadata {
	if t, ok := under[interface{ Trailer() Metadata }](s); ok {
		return t.Trailer()
	}
	return nil
}

func peerUnder(s Stream) Peer {
	if p, ok := under[interface{ Peer() Peer }](s); ok {
		return p.Peer()
	}
	return Peer{}
}

// Header is what the caller sent ahead of its messages.
func (s *serverStream) Header() Metadata { return s.Metadata }

// Peer is the caller.
func (s *serverStream) Peer() Peer { return (*ServerCall)(s).Peer() }
