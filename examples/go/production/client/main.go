// Command client is a client as one would write it: TLS, a token, deadlines, repeats under a budget, a stream, error
// details.
//
//	TOKEN=secret client -ca cert.pem -target localhost:4000
//
// The target may name several servers: a:4000,b:4000 or dns:api:4000.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

const service = "/trunkcall.example.v1.UserService/"

var (
	getUser   = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse](service + "GetUser")
	listUsers = trunkcall.ServerStream[pb.ListUsersRequest, pb.GetUserResponse](service + "ListUsers")
)

func withToken(token string) trunkcall.Interceptor {
	return func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		call.Metadata.Add("authorization", "Bearer "+token)
		return next(ctx, call)
	}
}

func main() {
	log.SetFlags(0)
	authority, target := flag.String("ca", "cert.pem", "authority of the servers"), flag.String("target", "", "servers")
	flag.Parse()
	if *target == "" || os.Getenv("TOKEN") == "" {
		log.Fatal("usage: TOKEN=secret client -ca cert.pem -target HOST:PORT")
	}
	client, err := trunkcall.NewClient(*target,
		trunkcall.WithTLSFiles("", "", *authority),
		trunkcall.WithInterceptors(withToken(os.Getenv("TOKEN"))),
		trunkcall.WithTimeout(5*time.Second), // of unary calls that name none
		trunkcall.WithPolicy(trunkcall.Policy{Method: service + "GetUser", WaitForReady: new(true)}),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := run(context.Background(), client); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *trunkcall.Client) error {
	user, err := getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 7})
	if err != nil {
		return err
	}
	fmt.Println(user.Name)

	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	users, err := listUsers.Call(ctx, client, &pb.ListUsersRequest{Count: 3})
	if err != nil {
		return err
	}
	listed := 0
	for _, err := range users.All() {
		if err != nil {
			return err
		}
		listed++
	}
	fmt.Println("listed", listed)

	_, err = getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 0})
	var bad errdetails.BadRequest
	if trunkcall.StatusOf(err).Detail(&bad) {
		fmt.Println(err, bad.FieldViolations[0].Field)
	}
	return nil
}
