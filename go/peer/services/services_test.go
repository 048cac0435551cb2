package services_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/services"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// connect serves both services over grpc-go: what the handlers promise is
// checked apart from the framework that will carry them.
func connect(t *testing.T) grpc.ClientConnInterface {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	examplev1.RegisterUserServiceServer(server, services.User{})
	benchv1.RegisterBenchServiceServer(server, services.Bench{})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		connection.Close()
		server.Stop()
		<-served
	})
	return connection
}

func TestGetUser(t *testing.T) {
	client := examplev1.NewUserServiceClient(connect(t))
	for id, name := range map[int64]string{1: "user-1", 999_999_999: "user-999999999"} {
		got, err := client.GetUser(context.Background(), &examplev1.GetUserRequest{UserId: id})
		if err != nil || got.Name != name || got.Email != name+"@example.com" {
			t.Errorf("user %d: %v, %v", id, got, err)
		}
	}
}

func TestGetUserFailsWithDetails(t *testing.T) {
	client := examplev1.NewUserServiceClient(connect(t))
	for _, id := range []int64{0, -1, -1 << 63} {
		_, err := client.GetUser(context.Background(), &examplev1.GetUserRequest{UserId: id})
		detail, _ := onlyDetail(t, err, codes.InvalidArgument).(*errdetails.BadRequest)
		if violations := detail.GetFieldViolations(); len(violations) != 1 || violations[0].GetField() != "user_id" {
			t.Errorf("user %d: detail %v", id, detail)
		}
	}
	_, err := client.GetUser(context.Background(), &examplev1.GetUserRequest{UserId: 1_000_000_000})
	detail, _ := onlyDetail(t, err, codes.NotFound).(*errdetails.ResourceInfo)
	if detail.GetResourceType() != "user" || detail.GetResourceName() != "1000000000" {
		t.Errorf("detail %v", detail)
	}
}

func onlyDetail(t *testing.T, err error, code codes.Code) any {
	t.Helper()
	got := status.Convert(err)
	if got.Code() != code || len(got.Details()) != 1 {
		t.Fatalf("got %v with details %v, want %v and one detail", got, got.Details(), code)
	}
	return got.Details()[0]
}

func TestListUsers(t *testing.T) {
	client := examplev1.NewUserServiceClient(connect(t))
	stream, err := client.ListUsers(context.Background(), &examplev1.ListUsersRequest{Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"user-1", "user-2", "user-3"} {
		if got, err := stream.Recv(); err != nil || got.Name != want {
			t.Fatalf("got %v, %v, want %s", got, err, want)
		}
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v after the last user", err)
	}

	stream, err = client.ListUsers(context.Background(), &examplev1.ListUsersRequest{Count: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	detail, _ := onlyDetail(t, err, codes.InvalidArgument).(*errdetails.BadRequest)
	if violations := detail.GetFieldViolations(); len(violations) != 1 || violations[0].GetField() != "count" {
		t.Errorf("a negative count: detail %v", detail)
	}
}

func TestImportUsers(t *testing.T) {
	client := examplev1.NewUserServiceClient(connect(t))
	stream, err := client.ImportUsers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := stream.Send(&examplev1.GetUserResponse{}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := stream.CloseAndRecv(); err != nil || got.Count != 5 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestWatchUsersEndsAtTheFirstBadId(t *testing.T) {
	client := examplev1.NewUserServiceClient(connect(t))
	stream, err := client.WatchUsers(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{7, 0} {
		if err := stream.Send(&examplev1.GetUserRequest{UserId: id}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := stream.Recv(); err != nil || got.Name != "user-7" {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = stream.Recv()
	onlyDetail(t, err, codes.InvalidArgument)
}

func TestBenchService(t *testing.T) {
	client := benchv1.NewBenchServiceClient(connect(t))
	said, err := client.Say(context.Background(), benchmsg.New())
	if err == nil {
		err = benchmsg.Check(said)
	}
	if err != nil {
		t.Error(err)
	}
	dictionary, err := client.GetDictionary(context.Background(), &emptypb.Empty{})
	if err != nil || dictionary.Entries["b"] != "2" || len(dictionary.Entries) != 3 {
		t.Errorf("got %v, %v", dictionary, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	emitted, err := client.Emit(ctx, &benchv1.EmitRequest{Size: proto.Uint32(1000)})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := emitted.Recv(); err != nil || benchmsg.CheckBytes(got.GetData(), benchmsg.Bytes(1000)) != nil {
			t.Errorf("got %d bytes, %v", len(got.GetData()), err)
		}
	}
	if emitted, err = client.Emit(ctx, &benchv1.EmitRequest{Size: proto.Uint32(1 << 31)}); err == nil {
		_, err = emitted.Recv()
	}
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a size beyond the limit: %v", err)
	}
	stream, err := client.EchoStream(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&benchv1.Payload{Data: []byte("abc")}); err != nil {
		t.Fatal(err)
	}
	if got, err := stream.Recv(); err != nil || string(got.Data) != "abc" {
		t.Errorf("got %v, %v", got, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v after the end", err)
	}
}
