// Command errors shows statuses with details, and what their delivery is for.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

func answer(_ context.Context, in *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	switch {
	case in.UserId < 1:
		status := trunkcall.Status{Code: trunkcall.InvalidArgument, Message: "ids begin at 1"}
		return nil, status.WithDetails(&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: "user_id", Description: "must be at least 1"},
		}}).Err()
	case in.UserId > 1000:
		return nil, errors.New("disk on fire") // callers see an id, the server's log the text beside it
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
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	client, err := trunkcall.NewClient(address.String())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_, err = getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 0})
	status := trunkcall.StatusOf(err)
	fmt.Printf("%v, %v: %s\n", status.Code, status.Delivery, status.Message)
	var bad errdetails.BadRequest
	if status.Detail(&bad) {
		fmt.Println(bad.FieldViolations[0].Field, bad.FieldViolations[0].Description)
	}

	if err := server.Stop(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 7})
	fmt.Println(advice(err))
}

// advice says what the caller may do about a failure.
func advice(err error) string {
	switch status := trunkcall.StatusOf(err); status.Delivery {
	case trunkcall.NotSent, trunkcall.Refused:
		return fmt.Sprintf("%v: it did not run; repeat it if you like", status.Code)
	case trunkcall.Executed:
		return fmt.Sprintf("%v: the handler itself said so", status.Code)
	default:
		return fmt.Sprintf("%v: it may have run; repeat it only if that does no harm", status.Code)
	}
}
