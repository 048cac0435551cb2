package trunkcall

import (
	"context"
	"errors"
	"io"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// UnaryMethod is a method of one request and one response, for both ends. Make
// one with Unary and keep it; it is safe for concurrent use.
type UnaryMethod[Req, Resp any] struct{ method *Method }

// Unary describes a unary method by its name, "/package.Service/Method".
func Unary[Req, Resp any](name string) UnaryMethod[Req, Resp] {
	return UnaryMethod[Req, Resp]{NewMethod(name, KindUnary)}
}

// Method is the method without its messages, for a Caller.
func (m UnaryMethod[Req, Resp]) Method() *Method { return m.method }

// Call calls the method and waits for its answer. The error is a StatusError.
func (m UnaryMethod[Req, Resp]) Call(ctx context.Context, c Caller, request *Req, options ...CallOption) (*Resp, error) {
	response := new(Resp)
	if err := invoke(ctx, c, m.method, request, response, options); err != nil {
		return nil, err
	}
	return response, nil
}

// Handler returns the method with serve as its handler, for Server.Register. Like the Handler of
// the other kinds it panics if serve is nil.
func (m UnaryMethod[Req, Resp]) Handler(serve func(context.Context, *Req) (*Resp, error)) Handler {
	m.method.needHandler(serve == nil)
	return Handler{
		Method:   *m.method,
		messages: messagesOf[Req, Resp](),
		Unary: func(ctx context.Context, in *ServerCall) (any, error) {
			request := new(Req)
			if err := in.decodeNew(request); err != nil {
				return nil, err
			}
			if !in.Intercepted() {
				return respond(serve(ctx, request))
			}
			return intercept(ctx, in, request, func(ctx context.Context, r *Req) (any, error) {
				return respond(serve(ctx, r))
			})
		},
	}
}

// intercept has the interceptors see the request ahead of serve.
func intercept[Req any](ctx context.Context, in *ServerCall, request *Req, serve func(context.Context, *Req) (any, error)) (any, error) {
	return in.Intercept(ctx, request, func(ctx context.Context, request any) (any, error) {
		r, ok := request.(*Req)
		if !ok {
			return nil, in.wrongRequest(request)
		}
		return serve(ctx, r)
	})
}

// needHandler tells of a missing handler where it is missing: called later, it
// would only be seen as a panic of the handler.
func (m *Method) needHandler(isNil bool) {
	if isNil {
		panic("trunkcall: the handler of " + m.Name + " is nil")
	}
}

func respond[Resp any](response *Resp, err error) (any, error) {
	if response == nil && err == nil {
		return nil, errNoResponse
	}
	return response, err
}

// errNoResponse is told with the name of the method, and logged, by ServerCall.failed.
var errNoResponse = Errorf(Internal, "the handler returned neither a response nor an error")

// ServerStreamMethod is a method of one request and many responses.
type ServerStreamMethod[Req, Resp any] struct{ method *Method }

// ServerStream describes a server-streaming method.
func ServerStream[Req, Resp any](name string) ServerStreamMethod[Req, Resp] {
	return ServerStreamMethod[Req, Resp]{NewMethod(name, KindServerStream)}
}

// Method is the method without its messages, for a Caller.
func (m ServerStreamMethod[Req, Resp]) Method() *Method { return m.method }

// Call sends the request; the responses are received from what it returns.
// The call must be received to its end, or closed, or its context cancelled.
func (m ServerStreamMethod[Req, Resp]) Call(ctx context.Context, c Caller, request *Req, options ...CallOption) (*Receiver[Resp], error) {
	s, err := OpenStream(ctx, c, m.method, options...)
	if err != nil {
		return nil, err
	}
	if err := sendOnly(s, request); err != nil {
		_ = s.Close()
		return nil, err
	}
	return &Receiver[Resp]{s}, nil
}

// Handler makes serve the method's handler.
func (m ServerStreamMethod[Req, Resp]) Handler(serve func(context.Context, *Req, *Sender[Resp]) error) Handler {
	m.method.needHandler(serve == nil)
	return Handler{
		Method:   *m.method,
		messages: messagesOf[Req, Resp](),
		Stream: func(ctx context.Context, s Stream) error {
			request := new(Req)
			if err := receiveOnly(s, request); err != nil {
				return &unbegunError{err}
			}
			return serve(ctx, request, &Sender[Resp]{s})
		},
	}
}

// ClientStreamMethod is a method of many requests and one response.
type ClientStreamMethod[Req, Resp any] struct{ method *Method }

// ClientStream describes a client-streaming method.
func ClientStream[Req, Resp any](name string) ClientStreamMethod[Req, Resp] {
	return ClientStreamMethod[Req, Resp]{NewMethod(name, KindClientStream)}
}

// Method is the method without its messages, for a Caller.
func (m ClientStreamMethod[Req, Resp]) Method() *Method { return m.method }

// Open begins a call.
func (m ClientStreamMethod[Req, Resp]) Open(ctx context.Context, c Caller, options ...CallOption) (*RequestStream[Req, Resp], error) {
	s, err := OpenStream(ctx, c, m.method, options...)
	if err != nil {
		return nil, err
	}
	return &RequestStream[Req, Resp]{Sender[Req]{s}}, nil
}

// Handler makes serve the method's handler.
func (m ClientStreamMethod[Req, Resp]) Handler(serve func(context.Context, *Receiver[Req]) (*Resp, error)) Handler {
	m.method.needHandler(serve == nil)
	return Handler{
		Method:   *m.method,
		messages: messagesOf[Req, Resp](),
		Stream: func(ctx context.Context, s Stream) error {
			response, err := serve(ctx, &Receiver[Req]{s})
			if err != nil {
				return err
			}
			if response == nil {
				return errNoResponse
			}
			return s.Send(response)
		},
	}
}

// BidiMethod is a method of many messages both ways.
type BidiMethod[Req, Resp any] struct{ method *Method }

// Bidi describes a bidirectional method.
func Bidi[Req, Resp any](name string) BidiMethod[Req, Resp] {
	return BidiMethod[Req, Resp]{NewMethod(name, KindBidiStream)}
}

// Method is the method without its messages, for a Caller.
func (m BidiMethod[Req, Resp]) Method() *Method { return m.method }

// Open begins a call. It must be received to its end, or closed, or its context
// cancelled.
func (m BidiMethod[Req, Resp]) Open(ctx context.Context, c Caller, options ...CallOption) (*BidiStream[Req, Resp], error) {
	s, err := OpenStream(ctx, c, m.method, options...)
	if err != nil {
		return nil, err
	}
	return &BidiStream[Req, Resp]{Sender[Req]{s}, Receiver[Resp]{s}}, nil
}

// Handler makes serve the method's handler.
func (m BidiMethod[Req, Resp]) Handler(serve func(context.Context, *BidiStream[Resp, Req]) error) Handler {
	m.method.needHandler(serve == nil)
	return Handler{
		Method:   *m.method,
		messages: messagesOf[Req, Resp](),
		Stream: func(ctx context.Context, s Stream) error {
			return serve(ctx, &BidiStream[Resp, Req]{Sender[Resp]{s}, Receiver[Req]{s}})
		},
	}
}

// Sender sends the messages of a stream. It is for one goroutine at a time.
type Sender[T any] struct{ stream Stream }

// Send sends a message, waiting while the peer is slow to consume. It returns
// io.EOF once the call is over, and another error for nil.
func (s *Sender[T]) Send(message *T) error {
	if message == nil {
		return errSendsNil
	}
	return s.stream.Send(message)
}

var errSendsNil = errors.New("trunkcall: Send was given nil, want a message: an empty one is no nil")

// CloseSend says that no more messages will be sent; a handler need not.
func (s *Sender[T]) CloseSend() error { return s.stream.CloseSend() }

// Receiver receives the messages of a stream. It is for one goroutine at a time.
type Receiver[T any] struct{ stream Stream }

// Receive returns the next message, or io.EOF when there are no more. At the
// caller's end any other error is the StatusError that the call ended with.
func (r *Receiver[T]) Receive() (*T, error) {
	message := new(T)
	if err := r.stream.Receive(message); err != nil {
		return nil, err
	}
	return message, nil
}

// ReceiveInto is Receive into a message that was used before. Its content is replaced, in its own
// memory if the decoder can do that, so that a stream of large messages leaves no garbage behind.
// Raw can; so can Protobuf for a type whose UnmarshalVT keeps its memory.
func (r *Receiver[T]) ReceiveInto(message *T) error { return r.stream.Receive(message) }

// BidiStream is both ends of a bidirectional call: what it sends and what it
// receives.
type BidiStream[Out, In any] struct {
	Sender[Out]
	Receiver[In]
}

// RequestStream is the caller's end of a client-streaming call.
type RequestStream[Req, Resp any] struct{ Sender[Req] }

// CloseAndReceive says that all requests were sent and waits for the answer.
func (s *RequestStream[Req, Resp]) CloseAndReceive() (*Resp, error) {
	if err := s.CloseSend(); err != nil {
		return nil, err
	}
	response := new(Resp)
	if err := receiveOnly(s.stream, response); err != nil {
		return nil, err
	}
	return response, nil
}

// sendOnly sends the single request of a call. That the call ended meanwhile is
// for Receive to tell.
func sendOnly(s Stream, request any) error {
	if err := s.Send(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return s.CloseSend()
}

// receiveOnly receives the single message of a side that has just one, and the
// end after it.
func receiveOnly[T any](s Stream, message *T) error {
	if err := s.Receive(message); errors.Is(err, io.EOF) {
		return local(Errorf(Unimplemented, "the other side sent "+wire.NoMessage), Executed)
	} else if err != nil {
		return err
	}
	switch err := s.Receive(new(T)); {
	case err == nil:
		fault := Errorf(Unimplemented, "the other side sent "+wire.SeveralMessages)
		if call, ok := s.(StreamCall); ok {
			return call.Abandon(fault)
		}
		return fault
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}
