package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// call is a call to be made.
type call struct {
	conn     *grpc.ClientConn
	method   string // without the service's name
	requests []any
	waits    bool            // until there is a connection
	held     <-chan struct{} // closed when requests behind the first may be sent; nil: they may
	answered func()          // called at the first answer
}

// result is what came of a call.
type result struct {
	answers         []*conformancev1.Answer
	header, trailer metadata.MD
	err             error // nil: it succeeded
}

func (c *call) make(ctx context.Context) *result {
	r := &result{}
	stub := conformancev1.NewConformanceServiceClient(c.conn)
	if slices.ContainsFunc(c.requests, func(in any) bool { _, raw := in.(asIs); return raw }) {
		c.stream(ctx, r, c.openAsIs)
		return r
	}
	switch c.method {
	case "Unary":
		c.unary(ctx, r, stub.Unary)
	case "Read":
		c.unary(ctx, r, stub.Read)
	case "Unserved":
		c.unary(ctx, r, stub.Unserved)
	case "Tell":
		c.tell(ctx, r, stub)
	default:
		c.stream(ctx, r, func(ctx context.Context) (exchange, error) { return c.open(ctx, stub) })
	}
	return r
}

// first is the request of a method that takes one.
func (c *call) first() any {
	if len(c.requests) == 0 {
		return &conformancev1.Request{}
	}
	return c.requests[0]
}

func (c *call) take(r *result, got *conformancev1.Answer) {
	if r.answers = append(r.answers, got); len(r.answers) == 1 {
		c.answered()
	}
}

type unaryMethod func(context.Context, *conformancev1.Request, ...grpc.CallOption) (*conformancev1.Answer, error)

func (c *call) unary(ctx context.Context, r *result, method unaryMethod) {
	in, _ := c.first().(*conformancev1.Request)
	got, err := method(ctx, in, grpc.Header(&r.header), grpc.Trailer(&r.trailer), grpc.WaitForReady(c.waits))
	if r.err = err; err == nil {
		c.take(r, got)
	}
}

func (c *call) tell(ctx context.Context, r *result, stub conformancev1.ConformanceServiceClient) {
	in, _ := c.first().(*conformancev1.Request)
	_, r.err = stub.Tell(ctx, in, grpc.Header(&r.header), grpc.Trailer(&r.trailer), grpc.WaitForReady(c.waits))
}

// exchange is what the streams of the three kinds have in common.
type exchange struct {
	grpc.ClientStream

	send    func(any) error // nil: all has been sent
	receive func() (*conformancev1.Answer, error)
}

func (c *call) open(ctx context.Context, stub conformancev1.ConformanceServiceClient) (exchange, error) {
	switch c.method {
	case "ServerStream":
		in, _ := c.first().(*conformancev1.Request)
		s, err := stub.ServerStream(ctx, in, grpc.WaitForReady(c.waits))
		if err != nil {
			return exchange{}, err
		}
		return exchange{ClientStream: s, receive: s.Recv}, nil
	case "ClientStream":
		s, err := stub.ClientStream(ctx, grpc.WaitForReady(c.waits))
		if err != nil {
			return exchange{}, err
		}
		return exchange{ClientStream: s, send: s.SendMsg, receive: single(s)}, nil
	case "BidiStream":
		s, err := stub.BidiStream(ctx, grpc.WaitForReady(c.waits))
		if err != nil {
			return exchange{}, err
		}
		return exchange{ClientStream: s, send: s.SendMsg, receive: s.Recv}, nil
	}
	return exchange{}, fmt.Errorf("there is no method %s", c.method)
}

// single receives one answer.
func single(s grpc.ClientStream) func() (*conformancev1.Answer, error) {
	ended := false
	return func() (*conformancev1.Answer, error) {
		if ended {
			return nil, io.EOF
		}
		ended = true
		got := &conformancev1.Answer{}
		return got, s.RecvMsg(got)
	}
}

// openAsIs begins a call some of whose requests are bytes, which no generated code sends.
func (c *call) openAsIs(ctx context.Context) (exchange, error) {
	path := "/" + conformancev1.ConformanceService_ServiceDesc.ServiceName + "/" + c.method
	sends, receives := c.method == "ClientStream" || c.method == "BidiStream", c.method == "ServerStream" || c.method == "BidiStream"
	kind := grpc.StreamDesc{ClientStreams: sends, ServerStreams: receives}
	s, err := c.conn.NewStream(ctx, &kind, path, grpc.ForceCodec(rawCodec{}), grpc.WaitForReady(c.waits))
	if err != nil {
		return exchange{}, err
	}
	if !receives {
		return exchange{ClientStream: s, send: s.SendMsg, receive: single(s)}, nil
	}
	return exchange{ClientStream: s, send: s.SendMsg, receive: func() (*conformancev1.Answer, error) {
		got := &conformancev1.Answer{}
		return got, s.RecvMsg(got)
	}}, nil
}

// stream sends and receives at once, and to the end of both.
func (c *call) stream(ctx context.Context, r *result, open func(context.Context) (exchange, error)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := open(ctx)
	if err != nil {
		r.err = err
		return
	}
	var sending sync.WaitGroup
	var unsent error
	if s.send != nil {
		sending.Go(func() { unsent = c.sendAll(ctx, s) })
	}
	err = c.receiveAll(s, r)
	cancel()
	sending.Wait()
	// A request that could not be sent is known to the sending side alone.
	if r.err = err; unsent != nil {
		r.err = unsent
	}
	if header, err := s.Header(); err == nil {
		r.header = header
	}
	r.trailer = s.Trailer()
}

// sendAll sends the requests. The end of the call meanwhile is for receiving to tell.
func (c *call) sendAll(ctx context.Context, s exchange) error {
	for n, in := range c.requests {
		if n == 1 && c.held != nil {
			select {
			case <-c.held:
			case <-ctx.Done():
				return nil
			}
		}
		if err := s.send(in); errors.Is(err, io.EOF) || ctx.Err() != nil {
			return nil
		} else if err != nil {
			return err
		}
	}
	return s.CloseSend()
}

func (c *call) receiveAll(s exchange, r *result) error {
	for {
		got, err := s.receive()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		c.take(r, got)
	}
}

// outcome tells a result, but for what became of the handler.
func (r *result) outcome() (*outcome, error) {
	s, ok := status.FromError(r.err)
	if !ok {
		return nil, r.err // not gRPC's, but ours
	}
	told := &outcome{
		Code: codeName(s.Code()), Message: s.Message(), Details: []detailLine{},
		Header: toPairs(r.header), Trailer: toPairs(r.trailer), Answers: []map[string]any{},
	}
	for _, d := range s.Proto().GetDetails() {
		told.Details = append(told.Details, detailLine{d.GetTypeUrl(), append([]byte{}, d.GetValue()...)})
	}
	if delivery := r.trailer.Get("trunk-delivery"); len(delivery) > 0 {
		told.Delivery = delivery[0]
	}
	for _, got := range r.answers {
		line, err := answerLine(got)
		if err != nil {
			return nil, err
		}
		told.Answers = append(told.Answers, line)
	}
	return told, nil
}
