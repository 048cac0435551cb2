package trunkcall

import (
	"context"
	"errors"
	"io"
	"sync"
)

// OnEnd is for interceptors that measure or record: f is called once when the call has ended,
// and told how. At the server, and for a unary call, that is when the last interceptor has
// returned; for a client's stream, when its user has received its end, has closed it, or the
// context of the call has ended.
func (c *Call) OnEnd(f func(Status)) { c.ends = append(c.ends, f) }

func (c *Call) ended(s Status) {
	for _, f := range c.ends {
		f(s)
	}
}

// run has the call go through interceptors, and then to last.
func (c *Call) run(ctx context.Context, interceptors []Interceptor, last Next) error {
	returned := false
	defer func() {
		if !returned {
			c.ended(failure(Internal, "what the call went through panicked"))
		}
	}()
	err := chain(interceptors, last)(ctx, c)
	returned = true
	return err
}

// watched is the stream of a client's call whose end somebody wants to know.
func (c *Call) watched(ctx context.Context) Stream {
	if len(c.ends) == 0 {
		return c.Stream
	}
	s := &watchedStream{Stream: c.Stream, call: c}
	s.stop = context.AfterFunc(ctx, func() { s.ended(ctx.Err()) })
	return s
}

// watchedStream tells of its end.
type watchedStream struct {
	Stream
	call *Call
	once sync.Once
	stop func() bool // watching the context
}

func (s *watchedStream) ended(err error) {
	s.once.Do(func() {
		if _, ours := statusWithin(err); !ours && errors.Is(err, io.EOF) {
			err = nil
		}
		s.call.ended(StatusOf(err))
	})
}

func (s *watchedStream) Receive(message any) error {
	err := s.Stream.Receive(message)
	if err != nil {
		s.stop()
		s.ended(err)
	}
	return err
}

// Unwrap is the stream that is watched.
func (s *watchedStream) Unwrap() Stream { return s.Stream }

// Close ends the call; see StreamCall.
func (s *watchedStream) Close() error {
	closeStream(s.Stream)
	s.stop()
	s.ended(local(Errorf(Canceled, "the caller closed the stream"), DeliveryUnknown))
	return nil
}

// Abandon ends the call; see StreamCall.
func (s *watchedStream) Abandon(err error) error {
	if a, ok := under[interface{ Abandon(err error) error }](s.Stream); ok {
		err = a.Abandon(err)
	}
	s.stop()
	s.ended(err)
	return err
}
