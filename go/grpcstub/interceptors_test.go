package grpcstub_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// trace is what interceptors have seen, in order.
type trace struct {
	mu  sync.Mutex
	all []string
}

func (l *trace) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, fmt.Sprintf(format, args...))
}

func (l *trace) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

func (l *trace) conn(name string) []grpcstub.ConnOption {
	return []grpcstub.ConnOption{
		grpcstub.UnaryClientInterceptors(func(ctx context.Context, method string, in, out any, _ *grpc.ClientConn, next grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			l.add("%s %s", name, method)
			return next(metadata.AppendToOutgoingContext(ctx, "by", name), method, in, out, nil, opts...)
		}),
		grpcstub.StreamClientInterceptors(func(ctx context.Context, desc *grpc.StreamDesc, _ *grpc.ClientConn, method string, next grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			l.add("%s %s %v %v", name, method, desc.ClientStreams, desc.ServerStreams)
			return next(ctx, desc, nil, method, opts...)
		}),
	}
}

func (l *trace) registrar(name string) []grpcstub.RegistrarOption {
	return []grpcstub.RegistrarOption{
		grpcstub.UnaryServerInterceptors(func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			l.add("%s %s %T %v", name, info.FullMethod, info.Server, md["by"])
			if u, ok := in.(*userRequest); ok && u.UserId == 403 {
				return nil, status.Error(codes.PermissionDenied, "not this one")
			}
			return next(ctx, in)
		}),
		grpcstub.StreamServerInterceptors(func(server any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			l.add("%s %s %v %v", name, info.FullMethod, info.IsClientStream, info.IsServerStream)
			return next(server, s)
		}),
	}
}

func TestStockInterceptorsOfBothSidesAreChained(t *testing.T) {
	l := &trace{}
	server := newServer(t)
	t.Cleanup(server.Close)
	registrar := grpcstub.Registrar(server, append(l.registrar("outer"), l.registrar("inner")...)...)
	examplev1.RegisterUserServiceServer(registrar, stub{})
	benchv1.RegisterBenchServiceServer(registrar, services.Bench{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkcall.Dial(soon(t), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	conn := grpcstub.Conn(client, append(l.conn("first"), l.conn("second")...)...)

	if _, err := examplev1.NewUserServiceClient(conn).GetUser(soon(t), &userRequest{UserId: 403}); status.Code(err) != codes.PermissionDenied {
		t.Error(err)
	}
	const get = examplev1.UserService_GetUser_FullMethodName
	if got, want := l.take(), []string{"first " + get, "second " + get, "outer " + get + " grpcstub_test.stub [first second]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := benchv1.NewBenchServiceClient(conn).Echo(soon(t), &benchv1.Payload{}); err != nil {
		t.Error(err)
	}
	if got := l.take(); len(got) != 4 || got[3] != "inner "+benchv1.BenchService_Echo_FullMethodName+" services.Bench [first second]" {
		t.Errorf("%q", got)
	}
	for _, desc := range benchv1.BenchService_ServiceDesc.Streams {
		method := "/" + benchv1.BenchService_ServiceDesc.ServiceName + "/" + desc.StreamName
		ctx, cancel := context.WithCancel(soon(t))
		s, err := conn.NewStream(ctx, &desc, method)
		if err != nil {
			t.Fatal(err)
		}
		var request any = &benchv1.Payload{Data: []byte("x")}
		if !desc.ClientStreams {
			request = &benchv1.EmitRequest{}
		}
		if err := s.SendMsg(request); err != nil {
			t.Fatal(err)
		}
		_ = s.CloseSend()
		if err := s.RecvMsg(&benchv1.Payload{}); err != nil {
			t.Error(method, err)
		}
		cancel()
		seen := fmt.Sprintf(" %s %v %v", method, desc.ClientStreams, desc.ServerStreams)
		if got, want := l.take(), []string{"first" + seen, "second" + seen, "outer" + seen, "inner" + seen}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// wrapping replaces streams by ones that cannot be looked under.
func wrapping(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
	err := next(ctx, call)
	if err == nil && call.Stream != nil {
		call.Stream = struct{ trunkcall.Stream }{call.Stream}
	}
	return err
}

func TestAStreamThatCannotBeLookedUnderCanBeUsedAndKeepsNoSlot(t *testing.T) {
	server := newServer(t)
	t.Cleanup(server.Close)
	benchv1.RegisterBenchServiceServer(grpcstub.Registrar(server), services.Bench{})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, err := trunkcall.Dial(soon(t), addr.String(), trunkcall.WithInterceptors(wrapping))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, desc := range benchv1.BenchService_ServiceDesc.Streams {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := grpcstub.Conn(client).NewStream(ctx, &desc, "/"+benchv1.BenchService_ServiceDesc.ServiceName+"/"+desc.StreamName)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := s.RecvMsg(&benchv1.Payload{}); status.Code(err) != codes.Canceled {
			t.Error(err)
		}
	}
	if err := server.Stop(soon(t)); err != nil {
		t.Error("a call is open still:", err)
	}
}

func TestHandlersSeeTheAuthorityOfCallsByHTTP(t *testing.T) {
	got := make(chan []string, 1)
	client := overHTTP(t, func(s grpcstub.Services) {
		examplev1.RegisterUserServiceServer(s, stub{get: func(ctx context.Context, _ *userRequest) (*userResponse, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			got <- md[":authority"]
			return &userResponse{}, nil
		}})
	})
	if _, err := examplev1.NewUserServiceClient(client).GetUser(soon(t), &userRequest{}, grpc.CallAuthority("users.example.com")); err != nil {
		t.Fatal(err)
	}
	if a := <-got; len(a) != 1 || a[0] != "users.example.com" {
		t.Error(a)
	}
}
