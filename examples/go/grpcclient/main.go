// Grpcclient is a client of gRPC and knows nothing of Trunkcall, whose server it calls: that serves both on one port.
//
//	make peer examples
//	build/peer-go serve --listen 127.0.0.1:4000
//	build/examples/grpcclient 127.0.0.1:4000
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: grpcclient HOST:PORT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, target string) error {
	connection, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	users := pb.NewUserServiceClient(connection)

	found, err := users.GetUser(ctx, &pb.GetUserRequest{UserId: 7})
	if err != nil {
		return err
	}
	fmt.Println("found", found.Name)

	_, err = users.GetUser(ctx, &pb.GetUserRequest{UserId: 1_000_000_000})
	failure := status.Convert(err)
	fmt.Printf("failed with %v, %d detail\n", failure.Code(), len(failure.Details()))
	return nil
}
