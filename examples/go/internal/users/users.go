// Package users is the service that examples of what stands around calls have in common.
package users

import (
	"context"
	"fmt"
	"log"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

// The methods of the service.
var (
	Get  = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse](pb.UserService_GetUser_FullMethodName)
	List = trunkcall.ServerStream[pb.ListUsersRequest, pb.GetUserResponse](pb.UserService_ListUsers_FullMethodName)
)

// Serve serves it on a free port, for the options to show.
func Serve(options ...trunkcall.ServerOption) *trunkcall.Server {
	server, err := trunkcall.NewServer(options...)
	Check(err)
	Check(server.Register(Get.Handler(get), List.Handler(list)))
	_, err = server.Listen("127.0.0.1:0")
	Check(err)
	return server
}

// Client is a client of a server.
func Client(server *trunkcall.Server, options ...trunkcall.ClientOption) *trunkcall.Client {
	client, err := trunkcall.NewClient(server.Addrs()[0].String(), options...)
	Check(err)
	return client
}

func get(_ context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	return &pb.GetUserResponse{Name: fmt.Sprintf("user-%d", in.UserId)}, nil
}

func list(_ context.Context, in *pb.ListUsersRequest, out *trunkcall.Sender[pb.GetUserResponse]) error {
	for id := range in.Count {
		if err := out.Send(&pb.GetUserResponse{Name: fmt.Sprintf("user-%d", id)}); err != nil {
			return err
		}
	}
	return trunkcall.Errorf(trunkcall.NotFound, "there are no more")
}

// Check ends the program for an error.
func Check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
