package grpcstub_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	userRequest  = examplev1.GetUserRequest
	userResponse = examplev1.GetUserResponse
)

func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// stub is a UserService whose methods each test replaces as it needs.
type stub struct {
	services.User
	get func(context.Context, *userRequest) (*userResponse, error)
}

func (s stub) GetUser(ctx context.Context, in *userRequest) (*userResponse, error) {
	if s.get == nil {
		return s.User.GetUser(ctx, in)
	}
	return s.get(ctx, in)
}

// connect serves both services and returns a client of them.
func connect(t testing.TB, user examplev1.UserServiceServer, options ...trunkcall.Option) *trunkcall.Client {
	t.Helper()
	var serverOptions []trunkcall.ServerOption
	var clientOptions []trunkcall.ClientOption
	for _, o := range options {
		serverOptions, clientOptions = append(serverOptions, o), append(clientOptions, o)
	}
	server := newServer(t, serverOptions...)
	examplev1.RegisterUserServiceServer(grpcstub.Registrar(server), user)
	benchv1.RegisterBenchServiceServer(grpcstub.Registrar(server), services.Bench{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client, err := trunkcall.Dial(soon(t), addr.String(), clientOptions...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func users(t testing.TB, user examplev1.UserServiceServer, options ...trunkcall.Option) examplev1.UserServiceClient {
	t.Helper()
	return examplev1.NewUserServiceClient(grpcstub.Conn(connect(t, user, options...)))
}

func wants(t testing.TB, err error, code codes.Code) *status.Status {
	t.Helper()
	s, ok := status.FromError(err)
	if !ok || s.Code() != code {
		t.Fatalf("got %v (%T), want %v", err, err, code)
	}
	return s
}

// newServer is a server that is to be stopped or closed by the test.
func newServer(t testing.TB, options ...trunkcall.ServerOption) *trunkcall.Server {
	t.Helper()
	s, err := trunkcall.NewServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newClient is a client that is to be closed by the test.
func newClient(t testing.TB, target string, options ...trunkcall.ClientOption) *trunkcall.Client {
	t.Helper()
	c, err := trunkcall.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
