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
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// What gRPC's interoperability cases cancel_after_begin and cancel_after_first_response
// ask: whoever has cancelled is never told of a success.
func TestACallThatItsCallerHasCancelledNeverSucceeds(t *testing.T) {
	const times = 100
	stock := overHTTP(t, func(s grpcstub.Services) {
		examplev1.RegisterUserServiceServer(s, stub{})
		benchv1.RegisterBenchServiceServer(s, services.Bench{})
	})
	native := grpcstub.Conn(connect(t, stub{}))
	for name, c := range map[string]struct {
		users examplev1.UserServiceClient
		bench benchv1.BenchServiceClient
	}{
		"native": {examplev1.NewUserServiceClient(native), benchv1.NewBenchServiceClient(native)},
		"gRPC":   {examplev1.NewUserServiceClient(stock), benchv1.NewBenchServiceClient(stock)},
	} {
		t.Run(name+": after begin", func(t *testing.T) {
			for range times {
				ctx, cancel := context.WithCancel(soon(t))
				s, err := c.users.ImportUsers(ctx)
				if err != nil {
					t.Fatal(err)
				}
				cancel()
				if _, err := s.CloseAndRecv(); status.Code(err) != codes.Canceled {
					t.Fatal(err)
				}
			}
		})
		t.Run(name+": after first response", func(t *testing.T) {
			for range times {
				ctx, cancel := context.WithCancel(soon(t))
				s, err := c.bench.EchoStream(ctx)
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
}
