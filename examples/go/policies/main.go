// Command policies shows a client whose policy file, its argument, has it retry.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

func main() {
	if len(os.Args) != 2 {
		log.Fatal("want a policy file, such as policies/policy.yaml")
	}
	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	runs := 0
	if err := server.Register(getUser.Handler(func(_ context.Context, _ *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		if runs++; runs < 3 {
			return nil, trunkcall.Errorf(trunkcall.Unavailable, "not yet")
		}
		return &pb.GetUserResponse{Name: "Ada"}, nil
	})); err != nil {
		log.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	client, err := trunkcall.NewClient(address.String(), trunkcall.WithPolicyFile(os.Args[1]))
	if err != nil {
		log.Fatal(err) // a file at fault is told with its lines
	}
	defer client.Close()
	user, err := getUser.Call(context.Background(), client, &pb.GetUserRequest{UserId: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s after %d attempts\n", user.Name, runs)
}
