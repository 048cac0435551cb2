// Mocked is code that calls a service, and beside it, in main_test.go, a unit test of that code
// which needs no server.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse](pb.UserService_GetUser_FullMethodName)

// greeting takes a Caller, not a *Client: so a test can hand in its own.
func greeting(ctx context.Context, users trunkcall.Caller, id int64) (string, error) {
	user, err := getUser.Call(ctx, users, &pb.GetUserRequest{UserId: id})
	switch {
	case trunkcall.StatusOf(err).Code == trunkcall.NotFound:
		return "Hello, stranger", nil
	case err != nil:
		return "", err
	}
	return "Hello, " + user.GetName(), nil
}

func main() {
	client, err := trunkcall.NewClient(os.Args[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println(greeting(ctx, client, 7))
}
