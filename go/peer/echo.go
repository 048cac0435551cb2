package peer

import (
	"context"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// echoHandlers answer Echo and EchoStream. The codec of the call decides whether their messages
// are a Payload or bytes.
func echoHandlers(bench services.Bench) []trunkcall.Handler {
	unary := echo.Handler(bench.Echo)
	stream := trunkcall.Bidi[services.KeptPayload, services.KeptPayload](benchv1.BenchService_EchoStream_FullMethodName).Handler(func(_ context.Context, s *trunkcall.BidiStream[services.KeptPayload, services.KeptPayload]) error {
		return services.EchoAll(s.ReceiveInto, s.Send)
	})
	unaryBytes := echoBytes.Handler(func(_ context.Context, in *[]byte) (*[]byte, error) { return in, nil })
	streamBytes := echoStreamBytes.Handler(func(_ context.Context, s *trunkcall.BidiStream[[]byte, []byte]) error {
		return services.EchoAll(s.ReceiveInto, s.Send)
	})

	asPayload, ofPayloads := unary.Unary, stream.Stream
	unary.Unary = func(ctx context.Context, in *trunkcall.ServerCall) (any, error) {
		if in.Codec().Number() == trunkcall.Raw.Number() {
			return unaryBytes.Unary(ctx, in)
		}
		return asPayload(ctx, in)
	}
	stream.Stream = func(ctx context.Context, s trunkcall.Stream) error {
		if trunkcall.CallFromContext(ctx).Codec().Number() == trunkcall.Raw.Number() {
			return streamBytes.Stream(ctx, s)
		}
		return ofPayloads(ctx, s)
	}
	return []trunkcall.Handler{unary, stream}
}
