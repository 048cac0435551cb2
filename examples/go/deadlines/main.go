// Command deadlines shows deadlines that travel, and cancellation.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var (
	getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")
	front   = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/example.Front/GetUser")
)

func main() {
	started, stopped := make(chan struct{}, 1), make(chan error, 1)
	back := serve(getUser.Handler(func(ctx context.Context, _ *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		started <- struct{}{}
		<-ctx.Done() // at the caller's deadline, or when it gives up
		stopped <- ctx.Err()
		return nil, ctx.Err()
	}))
	behind := connect(back)
	defer behind.Close()
	address := serve(front.Handler(func(ctx context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		return getUser.Call(ctx, behind, in) // has what is left of the caller's time
	}))
	client := connect(address)
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	_, err := front.Call(ctx, client, &pb.GetUserRequest{UserId: 7})
	cancel()
	fmt.Println(trunkcall.StatusOf(err).Code)
	<-started
	fmt.Println("two services on:", <-stopped)

	ctx, cancel = context.WithCancel(context.Background())
	go func() {
		<-started
		cancel()
	}()
	_, err = front.Call(ctx, client, &pb.GetUserRequest{UserId: 7})
	fmt.Println(trunkcall.StatusOf(err).Code)
	fmt.Println("two services on:", <-stopped)
}

func connect(address string) *trunkcall.Client {
	client, err := trunkcall.NewClient(address)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

func serve(handler trunkcall.Handler) (address string) {
	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Register(handler); err != nil {
		log.Fatal(err)
	}
	listening, err := server.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listening.String()
}
