package peer

import (
	"context"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/services"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

// nativeHandlers are both services on the typed methods of package trunkcall.
// The functions of package services are written for the stock stubs: their streams and
// failures are converted here. Unary methods that cannot fail are registered as they are,
// so that measurements of them have no conversion.
func nativeHandlers() []trunkcall.Handler {
	var user services.User
	var bench services.Bench
	sayHandler := say.Handler(bench.Say)
	if benchmsg.HasStation() {
		sayHandler = say.Handler(ownFailures(services.Limited{Bench: bench}.Say))
	}
	return append([]trunkcall.Handler{
		getUser.Handler(ownFailures(user.GetUser)),
		listUsers.Handler(serverStreaming(user.ListUsers)),
		importUsers.Handler(clientStreaming(user.ImportUsers)),
		watchUsers.Handler(bidiStreaming(user.WatchUsers)),
		sayHandler,
		trunkcall.ServerStream[benchv1.EmitRequest, benchv1.Payload](benchv1.BenchService_Emit_FullMethodName).Handler(serverStreaming(bench.Emit)),
		getDictionary.Handler(bench.GetDictionary),
		getUserModel.Handler(bench.GetUser),
		getUserModels.Handler(bench.GetUsers),
	}, echoHandlers(bench)...)
}

// ownFailure turns the stock stubs' status into Trunkcall's; other errors stay.
func ownFailure(err error) error {
	if err == nil {
		return nil
	}
	stock, ok := status.FromError(err)
	if !ok {
		return err
	}
	message := stock.Proto()
	own := trunkcall.Status{Code: trunkcall.Code(stock.Code()), Message: message.GetMessage()}
	for _, detail := range message.GetDetails() {
		own.Details = append(own.Details, trunkcall.Detail{TypeURL: detail.GetTypeUrl(), Value: detail.GetValue()})
	}
	return own.Err()
}

func ownFailures[Req, Resp any](serve func(context.Context, *Req) (*Resp, error)) func(context.Context, *Req) (*Resp, error) {
	return func(ctx context.Context, request *Req) (*Resp, error) {
		response, err := serve(ctx, request)
		return response, ownFailure(err)
	}
}

// stockStream has the methods of a stock stream that our handlers do without:
// calling one is a mistake in package services and panics.
type stockStream struct{ grpc.ServerStream }

type (
	sending[Out any] struct {
		stockStream
		*trunkcall.Sender[Out]
	}
	receiving[In, Out any] struct {
		stockStream
		*trunkcall.Receiver[In]
		answer *Out
	}
	sendingAndReceiving[In, Out any] struct {
		stockStream
		*trunkcall.BidiStream[Out, In]
	}
)

func (s *receiving[In, Out]) Recv() (*In, error) { return s.Receive() }

func (s *receiving[In, Out]) SendAndClose(answer *Out) error {
	s.answer = answer
	return nil
}

func (s *sendingAndReceiving[In, Out]) Recv() (*In, error) { return s.Receive() }

func serverStreaming[Req, Resp any](
	serve func(*Req, grpc.ServerStreamingServer[Resp]) error,
) func(context.Context, *Req, *trunkcall.Sender[Resp]) error {
	return func(_ context.Context, request *Req, sender *trunkcall.Sender[Resp]) error {
		return ownFailure(serve(request, &sending[Resp]{Sender: sender}))
	}
}

func clientStreaming[Req, Resp any](
	serve func(grpc.ClientStreamingServer[Req, Resp]) error,
) func(context.Context, *trunkcall.Receiver[Req]) (*Resp, error) {
	return func(_ context.Context, receiver *trunkcall.Receiver[Req]) (*Resp, error) {
		stream := &receiving[Req, Resp]{Receiver: receiver}
		err := serve(stream)
		return stream.answer, ownFailure(err)
	}
}

func bidiStreaming[Req, Resp any](
	serve func(grpc.BidiStreamingServer[Req, Resp]) error,
) func(context.Context, *trunkcall.BidiStream[Resp, Req]) error {
	return func(_ context.Context, stream *trunkcall.BidiStream[Resp, Req]) error {
		return ownFailure(serve(&sendingAndReceiving[Req, Resp]{BidiStream: stream}))
	}
}
