package grpcstub_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

// What gRPC's interoperability cases cancel_after_begin and cancel_after_first_response
// ask: whoever has cancelled is never told of a success. Those cases run with grpc-go's own client too; of an
// answer and a cancelled context that are both there it takes either, so it is not asked a hundred times here.
func TestACallThatItsCallerHasCancelledNeverSucceeds(t *testing.T) {
	const times = 100
	native := grpcstub.Conn(connect(t, stub{}))
	users, bench := examplev1.NewUserServiceClient(native), benchv1.NewBenchServiceClient(native)
	t.Run("after begin", func(t *testing.T) {
		for range times {
			ctx, cancel := context.WithCancel(soon(t))
			s, err := users.ImportUsers(ctx)
			if err != nil {
				t.Fatal(err)
			}
			cancel()
			if _, err := s.CloseAndRecv(); status.Code(err) != codes.Canceled {
				t.Fatal(err)
			}
		}
	})
	t.Run("after first response", func(t *testing.T) {
		for range times {
			ctx, cancel := context.WithCancel(soon(t))
			s, err := bench.EchoStream(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Send(&benchv1.Payload{Data: make([]byte, 27_182)}); err != nil {
				t.Fatal(err)
			}
			if m, err := s.Recv(); err != nil || len(m.Data) != 27_182 {
				t.Fatal(err)
			}
			cancel()
			if _, err := s.Recv(); status.Code(err) != codes.Canceled || errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
		}
	})
}
