// Quickstart is a server and its client in one file: a call that succeeds and one that fails.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

// A method is described once, by its name and its two Protobuf messages, and used at both ends.
var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

func answer(_ context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	if in.UserId < 1 {
		return nil, trunkcall.Errorf(trunkcall.InvalidArgument, "user_id %d: ids begin at 1", in.UserId)
	}
	return &pb.GetUserResponse{Name: fmt.Sprintf("user-%d", in.UserId)}, nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Register(getUser.Handler(answer)); err != nil {
		log.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0") // any free port
	if err != nil {
		log.Fatal(err)
	}

	client, err := trunkcall.Dial(ctx, address.String())
	if err != nil {
		log.Fatal(err)
	}
	user, err := getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("found", user.Name)

	_, err = getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 0})
	status := trunkcall.StatusOf(err)
	fmt.Printf("%v, %v: %s\n", status.Code, status.Delivery, status.Message)

	client.Close()
	if err := server.Stop(ctx); err != nil { // waits for calls that still run
		log.Fatal(err)
	}
}
