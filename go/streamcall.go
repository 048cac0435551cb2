package trunkcall

import (
	"context"
	"errors"
	"io"
)

// StreamCall is a Stream at the caller's end, with what the answer has beside its
// messages. OpenStream returns it; typed methods are functions over it.
type StreamCall interface {
	Stream
	// Header waits for the metadata that comes ahead of the answer.
	Header() Metadata
	// Trailer is the metadata that came with the end of the call, once Receive has
	// returned that end.
	Trailer() Metadata
	// Peer is the server's end.
	Peer() Peer
	// Close ends the call, with CANCEL, if it has not ended; Receive then says CANCELED. It may be
	// called at any time and from any goroutine, and always returns nil. Close a call that you do
	// not receive to its end, or end its context.
	Close() error
	// Abandon ends the call because its answer cannot be used. It returns the error,
	// with its delivery unknown, and does nothing to a call that is over.
	Abandon(err error) error
}

var (
	_ StreamCall = (*clientStream)(nil)
	_ StreamCall = (*wrappedStream)(nil)
)

// OpenStream opens a call of a streaming method through any Caller. Stubs are made with it. The
// error is a StatusError. Streams that interceptors or Callers have wrapped are unwrapped if they
// have a method Unwrap() Stream.
func OpenStream(ctx context.Context, c Caller, method *Method, options ...CallOption) (StreamCall, error) {
	if err := method.callable(true); err != nil {
		return nil, err
	}
	if r := routeOf(c); r != nil {
		s, end, err := r.open(ctx, method, gather(options))
		switch {
		case err != nil:
			return nil, err
		case end != nil && s == Stream(end):
			return end, nil
		}
		return &wrappedStream{Stream: s, end: end}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := c.NewStream(ctx, method, options...)
	if err == nil && s == nil {
		err = local(Errorf(Internal, "the caller left no stream of the call of %s", method.Name), DeliveryUnknown)
	}
	if err != nil {
		cancel()
		return nil, foreign(err)
	}
	return &wrappedStream{Stream: s, cancel: cancel}, nil
}

// NewStream opens a call of a streaming method. Typed methods (ServerStream,
// ClientStream, Bidi) do the same, and so does OpenStream. The call must be received to
// its end, or ctx cancelled.
func (c *route) NewStream(ctx context.Context, method *Method, options ...CallOption) (Stream, error) {
	if err := method.callable(true); err != nil {
		return nil, err
	}
	s, _, err := c.open(ctx, method, gather(options))
	return s, err
}

// wrappedStream is a stream that interceptors or a Caller of the user's have made: it may lack what
// a StreamCall has beside the messages.
type wrappedStream struct {
	Stream
	end    *clientStream // under it, nil if there is none
	cancel func()        // ends the context of a foreign Caller's call, else nil
}

func (w *wrappedStream) Send(message any) error {
	err := w.Stream.Send(message)
	if err == nil || w.cancel == nil || errors.Is(err, io.EOF) {
		return err
	}
	return foreign(err)
}

func (w *wrappedStream) Receive(message any) error {
	err := w.Stream.Receive(message)
	if err == nil || w.cancel == nil {
		return err
	}
	defer w.cancel()
	if _, ours := statusWithin(err); !ours && errors.Is(err, io.EOF) {
		return io.EOF
	}
	return foreign(err)
}

// Unwrap is the stream that was wrapped.
func (w *wrappedStream) Unwrap() Stream { return w.Stream }

// beside finds what a stream has beside its messages: what was wrapped around the end of
// the call comes first.
func beside[T any](w *wrappedStream) (found T, ok bool) {
	if found, ok = under[T](w.Stream); !ok && w.end != nil {
		found, ok = any(w.end).(T)
	}
	return found, ok
}

func (w *wrappedStream) Header() Metadata {
	if s, ok := beside[interface{ Header() Metadata }](w); ok {
		return s.Header()
	}
	return nil
}

func (w *wrappedStream) Trailer() Metadata {
	if s, ok := beside[interface{ Trailer() Metadata }](w); ok {
		return s.Trailer()
	}
	return nil
}

func (w *wrappedStream) Peer() Peer {
	if s, ok := beside[interface{ Peer() Peer }](w); ok {
		return s.Peer()
	}
	return Peer{}
}

func (w *wrappedStream) Close() error {
	if s, ok := beside[io.Closer](w); ok {
		_ = s.Close()
	}
	if w.cancel != nil {
		w.cancel()
	}
	return nil
}

func (w *wrappedStream) Abandon(err error) error {
	if s, ok := beside[interface{ Abandon(err error) error }](w); ok {
		err = s.Abandon(err)
	} else {
		err = local(err, DeliveryUnknown)
	}
	_ = w.Close()
	return err
}
