// Metadata shows what travels beside messages: the caller's with one call, the server's ahead of its answer (the header)
// and behind it (the trailer), and options for one call.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

const service = "/trunkcall.example.v1.UserService/"

var (
	getUser   = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse](service + "GetUser")
	listUsers = trunkcall.ServerStream[pb.ListUsersRequest, pb.GetUserResponse](service + "ListUsers")
)

func answer(ctx context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	call := trunkcall.CallFromContext(ctx)
	tenant := call.Metadata.Get("tenant")
	if err := call.SetHeader(trunkcall.Metadata{{Key: "served-by", Value: "server-1"}}); err != nil {
		return nil, err
	}
	if err := call.SetTrailer(trunkcall.Metadata{{Key: "rows-read", Value: "3"}}); err != nil {
		return nil, err
	}
	return &pb.GetUserResponse{Name: fmt.Sprintf("user-%d of %s", in.UserId, tenant)}, nil
}

func list(ctx context.Context, _ *pb.ListUsersRequest, out *trunkcall.Sender[pb.GetUserResponse]) error {
	call := trunkcall.CallFromContext(ctx)
	if err := call.SetHeader(trunkcall.Metadata{{Key: "served-by", Value: "server-1"}}); err != nil {
		return err
	}
	return out.Send(&pb.GetUserResponse{Name: "user-1 of " + call.Metadata.Get("tenant")})
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server := must(trunkcall.NewServer())
	defer server.Close()
	must(0, server.Register(getUser.Handler(answer), listUsers.Handler(list)))
	address := must(server.Listen("127.0.0.1:0"))
	client := must(trunkcall.NewClient(address.String()))
	defer client.Close()

	ctx = trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: "tenant", Value: "north"}})
	user := must(getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 7}, trunkcall.WaitForReady(), trunkcall.CallTimeout(20*time.Second)))
	fmt.Println(user.Name)

	response := must(getUser.Do(ctx, client, &pb.GetUserRequest{UserId: 8})) // Do has what came beside the message
	fmt.Println(response.Message.Name, response.Reply.Header.Get("served-by"), response.Reply.Trailer.Get("rows-read"))

	users := must(listUsers.Call(ctx, client, &pb.ListUsersRequest{Count: 1}))
	defer users.Close()
	for user, err := range users.All() {
		fmt.Println(must(user, err).Name, users.Header().Get("served-by"))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
