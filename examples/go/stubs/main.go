// Stubs runs code that protoc-gen-go-grpc generated, client and server, on Trunkcall. Against the same program on gRPC
// two expressions differ: what the service is registered with and what the client is made from.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

type users struct {
	pb.UnimplementedUserServiceServer
}

func (users) GetUser(ctx context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	if in.UserId < 1 {
		return nil, status.Error(codes.InvalidArgument, "ids begin at 1")
	}
	if err := grpc.SetHeader(ctx, metadata.Pairs("served-by", "stubs")); err != nil {
		return nil, err
	}
	return user(in.UserId), nil
}

func (users) ListUsers(in *pb.ListUsersRequest, stream grpc.ServerStreamingServer[pb.GetUserResponse]) error {
	for id := int64(1); id <= int64(in.Count); id++ {
		if err := stream.Send(user(id)); err != nil {
			return err
		}
	}
	return nil
}

func user(id int64) *pb.GetUserResponse {
	return &pb.GetUserResponse{Name: fmt.Sprintf("user-%d", id)}
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	server, err := trunkcall.NewServer()
	if err != nil {
		return err
	}
	defer server.Close()
	pb.RegisterUserServiceServer(grpcstub.Registrar(server), users{})
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}

	client, err := trunkcall.Dial(ctx, address.String())
	if err != nil {
		return err
	}
	defer client.Close()
	return call(ctx, pb.NewUserServiceClient(grpcstub.Conn(client)))
}

// call knows nothing of Trunkcall.
func call(ctx context.Context, stub pb.UserServiceClient) error {
	var header metadata.MD
	found, err := stub.GetUser(ctx, &pb.GetUserRequest{UserId: 7}, grpc.Header(&header))
	if err != nil {
		return err
	}
	fmt.Println("found", found.Name, "served by", header.Get("served-by"))

	stream, err := stub.ListUsers(ctx, &pb.ListUsersRequest{Count: 3})
	if err != nil {
		return err
	}
	for {
		next, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		fmt.Println("listed", next.Name)
	}

	_, err = stub.GetUser(ctx, &pb.GetUserRequest{UserId: 0})
	fmt.Println("failed with", status.Code(err))
	return nil
}
