package conformance

import (
	"context"
	"errors"
	"io"

	"github.com/trunkcall/trunkcall/go"
	conformancev1 "github.com/trunkcall/trunkcall/go/gen/conformance/v1"
)

// Service is what the cases call. Its zero value is ready; one may be registered
// with a server, or with a client whose servers call it.
type Service struct{ ledger ledger }

// Handlers are those of all methods that are served.
func (s *Service) Handlers() []trunkcall.Handler {
	read := trunkcall.Unary[request, answer](service + "Read").Handler(s.unary)
	read.NoSideEffects = true
	return []trunkcall.Handler{
		read,
		trunkcall.Unary[request, answer](service + "Unary").Handler(s.unary),
		trunkcall.OneWay[request](service + "Tell").Handler(func(ctx context.Context, in *request) error {
			_, err := s.unary(ctx, in)
			return err
		}),
		trunkcall.ServerStream[request, answer](service + "ServerStream").Handler(
			func(ctx context.Context, in *request, out *trunkcall.Sender[answer]) error {
				_, err := s.handle(ctx, only(in), out.Send)
				return err
			}),
		trunkcall.ClientStream[request, answer](service + "ClientStream").Handler(
			func(ctx context.Context, in *trunkcall.Receiver[request]) (*answer, error) {
				return s.handle(ctx, in.Receive, nil)
			}),
		trunkcall.Bidi[request, answer](service + "BidiStream").Handler(
			func(ctx context.Context, stream *trunkcall.BidiStream[answer, request]) error {
				_, err := s.handle(ctx, stream.Receive, stream.Send)
				return err
			}),
		trunkcall.Unary[conformancev1.ObserveRequest, observed](service + "Observe").Handler(s.observe),
	}
}

func (s *Service) observe(ctx context.Context, in *conformancev1.ObserveRequest) (*observed, error) {
	return s.ledger.observe(ctx, in.GetId(), in.GetUntil())
}

func (s *Service) unary(ctx context.Context, in *request) (*answer, error) {
	return s.handle(ctx, only(in), nil)
}

// only reads the one request of a call.
func only(in *request) func() (*request, error) {
	read := false
	return func() (*request, error) {
		if read {
			return nil, io.EOF
		}
		read = true
		return in, nil
	}
}

// handle carries out the plan of the first request. Without send there is one
// answer, which it returns.
func (s *Service) handle(ctx context.Context, read func() (*request, error), send func(*answer) error) (*answer, error) {
	h := &handling{ctx: ctx, call: trunkcall.CallFromContext(ctx), receive: read, send: send}
	h.seen.begin(ctx, h.call)
	first, err := h.read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	h.plan = first.GetPlan()
	defer s.ledger.start(ctx, h.plan.GetId(), &h.seen)()
	if err := h.prepare(); err != nil {
		return nil, err
	}
	if err := h.exchange(first); err != nil {
		return nil, err
	}
	if err := h.wait(); err != nil {
		return nil, err
	}
	return h.finish()
}

// observeMethod and the like are what clients call beside the methods of cases.
var observeMethod = trunkcall.Unary[conformancev1.ObserveRequest, observed](service + "Observe")
