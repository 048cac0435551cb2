package main

import (
	"context"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

type users struct {
	pb.UnimplementedUserServiceServer
}

func (users) GetUser(_ context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	if in.UserId > 1000 {
		missing, err := status.New(codes.NotFound, "no such user").WithDetails(&errdetails.ResourceInfo{ResourceType: "user"})
		if err != nil {
			return nil, err
		}
		return nil, missing.Err()
	}
	return &pb.GetUserResponse{Name: fmt.Sprintf("user-%d", in.UserId)}, nil
}

func Example() {
	server, err := trunkcall.NewServer()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	pb.RegisterUserServiceServer(grpcstub.Registrar(server), users{})
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if err := run(context.Background(), address.String()); err != nil {
		panic(err)
	}
	// Output:
	// found user-7
	// failed with NotFound, 1 detail
}
