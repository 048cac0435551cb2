package grpcstub_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionv1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// Stock servicers called by stock stubs over a stock client's connection: only
// the server object is not gRPC's.

// overHTTP serves services and returns a stock client of them.
func overHTTP(t *testing.T, register func(grpcstub.Services)) *grpc.ClientConn {
	t.Helper()
	client, _ := overHTTPOf(t, newServer(t), register)
	return client
}

func overHTTPOf(t *testing.T, server *trunkcall.Server, register func(grpcstub.Services)) (client *grpc.ClientConn, target string) {
	t.Helper()
	register(grpcstub.Registrar(server))
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client, err = grpc.NewClient("passthrough:///"+addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client, addr.String()
}

func TestHelpersOfGRPCWorkInHandlersOverHTTP(t *testing.T) {
	client := overHTTP(t, func(s grpcstub.Services) {
		examplev1.RegisterUserServiceServer(s, stub{get: func(ctx context.Context, in *userRequest) (*userResponse, error) {
			p, _ := peer.FromContext(ctx)
			method, _ := grpc.Method(ctx)
			if p == nil || p.Addr == nil || method != examplev1.UserService_GetUser_FullMethodName {
				return nil, status.Error(codes.Internal, "no peer or method")
			}
			_ = grpc.SetHeader(ctx, metadata.Pairs("h", metadata.ValueFromIncomingContext(ctx, "k")[0]))
			_ = grpc.SetTrailer(ctx, metadata.Pairs("t", "2"))
			return services.User{}.GetUser(ctx, in)
		}})
	})
	users := examplev1.NewUserServiceClient(client)
	var header, trailer metadata.MD
	ctx := metadata.AppendToOutgoingContext(soon(t), "k", "v")
	u, err := users.GetUser(ctx, &userRequest{UserId: 3}, grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil || u.Name != "user-3" || header.Get("h")[0] != "v" || trailer.Get("t")[0] != "2" {
		t.Fatal(u, err, header, trailer)
	}
	_, err = users.GetUser(ctx, &userRequest{UserId: -3})
	if s := wants(t, err, codes.InvalidArgument); len(s.Details()) != 1 {
		t.Fatal(s)
	}
	watch, err := users.WatchUsers(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for id := int64(1); id < 4; id++ {
		if err := watch.Send(&userRequest{UserId: id}); err != nil {
			t.Fatal(err)
		}
		if u, err := watch.Recv(); err != nil || u.Name != fmt.Sprint("user-", id) {
			t.Fatal(u, err)
		}
	}
	if err := watch.CloseSend(); err != nil {
		t.Fatal(err)
	}
}

func TestStockHealthIsServed(t *testing.T) {
	state := health.NewServer()
	client := healthgrpc.NewHealthClient(overHTTP(t, func(s grpcstub.Services) { healthgrpc.RegisterHealthServer(s, state) }))
	answer, err := client.Check(soon(t), &healthgrpc.HealthCheckRequest{})
	if err != nil || answer.Status != healthgrpc.HealthCheckResponse_SERVING {
		t.Fatal(answer, err)
	}
	_, err = client.Check(soon(t), &healthgrpc.HealthCheckRequest{Service: "none"})
	wants(t, err, codes.NotFound)
	watch, err := client.Watch(soon(t), &healthgrpc.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthgrpc.HealthCheckResponse_ServingStatus{
		healthgrpc.HealthCheckResponse_SERVING, healthgrpc.HealthCheckResponse_NOT_SERVING,
	} {
		if answer, err := watch.Recv(); err != nil || answer.Status != want {
			t.Fatal(answer, err)
		}
		state.Shutdown()
	}
}

// Those who watch a server's health are told that it goes, and do not keep it from
// going: Stop returns before the grace is over.
func TestWatchingHealthEndsWhenTheServerIsStopped(t *testing.T) {
	server := newServer(t)
	stock, target := overHTTPOf(t, server, func(s grpcstub.Services) { healthgrpc.RegisterHealthServer(s, health.NewServer()) })
	native, err := trunkcall.Dial(soon(t), target)
	if err != nil {
		t.Fatal(err)
	}
	defer native.Close()
	var watches []grpc.ServerStreamingClient[healthgrpc.HealthCheckResponse]
	for _, conn := range []grpc.ClientConnInterface{stock, grpcstub.Conn(native)} {
		for range 2 {
			watch, err := healthgrpc.NewHealthClient(conn).Watch(soon(t), &healthgrpc.HealthCheckRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if answer, err := watch.Recv(); err != nil || answer.Status != healthgrpc.HealthCheckResponse_SERVING {
				t.Fatal(answer, err)
			}
			watches = append(watches, watch)
		}
	}
	if err := server.Stop(soon(t)); err != nil {
		t.Error(err)
	}
	for _, watch := range watches {
		if answer, err := watch.Recv(); err != nil || answer.Status != healthgrpc.HealthCheckResponse_NOT_SERVING {
			t.Error(answer, err)
		}
		_, err := watch.Recv()
		wants(t, err, codes.Unavailable)
	}
}

// During the drain delay the server serves, and its health says that it soon will not.
func TestHealthSaysNotServingDuringTheDrainDelay(t *testing.T) {
	server := newServer(t, trunkcall.WithDrainDelay(time.Hour))
	state := health.NewServer()
	stock, _ := overHTTPOf(t, server, func(s grpcstub.Services) { healthgrpc.RegisterHealthServer(s, state) })
	client := healthgrpc.NewHealthClient(stock)
	watch, err := client.Watch(soon(t), &healthgrpc.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := watch.Recv(); err != nil || answer.Status != healthgrpc.HealthCheckResponse_SERVING {
		t.Fatal(answer, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- server.Stop(ctx) }()
	if answer, err := watch.Recv(); err != nil || answer.Status != healthgrpc.HealthCheckResponse_NOT_SERVING {
		t.Error("a watcher is not told at once:", answer, err)
	}
	state.SetServingStatus("", healthgrpc.HealthCheckResponse_SERVING)
	if answer, err := client.Check(soon(t), &healthgrpc.HealthCheckRequest{}); err != nil || answer.Status != healthgrpc.HealthCheckResponse_NOT_SERVING {
		t.Error(answer, err)
	}
	if all, err := client.List(soon(t), &healthgrpc.HealthListRequest{}); err != nil || all.Statuses[""].GetStatus() != healthgrpc.HealthCheckResponse_NOT_SERVING {
		t.Error(all, err)
	}
	_, err = client.Check(soon(t), &healthgrpc.HealthCheckRequest{Service: "none"})
	wants(t, err, codes.NotFound)
	cancel()
	_, err = watch.Recv()
	wants(t, err, codes.Unavailable)
	<-stopped
}

func TestStockReflectionListsAndDescribesWhatIsRegistered(t *testing.T) {
	client := overHTTP(t, func(s grpcstub.Services) {
		reflection.Register(s)
		codeFirst, err := codefirst.FuncHandler("calc/negate", func(n int) int { return -n })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.(grpcstub.Registry).Register(codeFirst); err != nil {
			t.Fatal(err)
		}
		examplev1.RegisterUserServiceServer(s, stub{}) // later than the reflection
	})
	const user = "trunkcall.example.v1.UserService"
	v1, err := reflectionv1.NewServerReflectionClient(client).ServerReflectionInfo(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *reflectionv1.ServerReflectionRequest) *reflectionv1.ServerReflectionResponse {
		t.Helper()
		if err := v1.Send(r); err != nil {
			t.Fatal(err)
		}
		answer, err := v1.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	var names []string
	for _, s := range ask(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
	}).GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	if slices.Contains(names, "calc") {
		t.Error("a code-first service is listed, which nobody can ask about")
	}
	if !slices.Contains(names, user) || !slices.Contains(names, "grpc.reflection.v1.ServerReflection") {
		t.Fatal(names)
	}
	described := ask(&reflectionv1.ServerReflectionRequest{
		MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: user},
	})
	if len(described.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Fatal(described)
	}
	_ = v1.CloseSend()

	alpha, err := reflectionv1alpha.NewServerReflectionClient(client).ServerReflectionInfo(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	//nolint:staticcheck // deprecated, and what many clients still ask
	_ = alpha.Send(&reflectionv1alpha.ServerReflectionRequest{MessageRequest: &reflectionv1alpha.ServerReflectionRequest_ListServices{}})
	answer, err := alpha.Recv()
	if err != nil || len(answer.GetListServicesResponse().GetService()) != len(names) { //nolint:staticcheck // as above
		t.Fatal(answer, err)
	}
	_ = alpha.CloseSend()
}
