// Command streams shows the three kinds of streams, at both ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

const service = "/trunkcall.example.v1.UserService/"

// Methods of the same service: one answer after the other, one request after the other, both.
var (
	listUsers   = trunkcall.ServerStream[pb.ListUsersRequest, pb.GetUserResponse](service + "ListUsers")
	importUsers = trunkcall.ClientStream[pb.GetUserResponse, pb.ImportUsersResponse](service + "ImportUsers")
	watchUsers  = trunkcall.Bidi[pb.GetUserRequest, pb.GetUserResponse](service + "WatchUsers")
)

func list(_ context.Context, in *pb.ListUsersRequest, out *trunkcall.Sender[pb.GetUserResponse]) error {
	for id := range in.Count {
		if err := out.Send(&pb.GetUserResponse{Name: fmt.Sprintf("user-%d", id+1)}); err != nil {
			return err // the caller is gone
		}
	}
	return nil
}

func take(_ context.Context, in *trunkcall.Receiver[pb.GetUserResponse]) (*pb.ImportUsersResponse, error) {
	var count int64
	for _, err := range in.All() {
		if err != nil {
			return nil, err
		}
		count++
	}
	return &pb.ImportUsersResponse{Count: count}, nil
}

func watch(_ context.Context, s *trunkcall.BidiStream[pb.GetUserResponse, pb.GetUserRequest]) error {
	for request, err := range s.All() {
		if err != nil {
			return err
		}
		if err := s.Send(&pb.GetUserResponse{Name: fmt.Sprintf("user-%d", request.UserId)}); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.Register(listUsers.Handler(list), importUsers.Handler(take), watchUsers.Handler(watch)); err != nil {
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
	for _, call := range []func(context.Context, *trunkcall.Client) error{listAll, importSome, converse} {
		if err := call(ctx, client); err != nil {
			log.Fatal(err)
		}
	}
}

func listAll(ctx context.Context, client *trunkcall.Client) error {
	users, err := listUsers.Call(ctx, client, &pb.ListUsersRequest{Count: 1_000_000})
	if err != nil {
		return err
	}
	for user, err := range users.All() { // breaking out of it ends the call at the server, too
		if err != nil {
			return err
		}
		if user.Name == "user-3" {
			fmt.Println("found", user.Name)
			break
		}
	}
	return nil
}

func importSome(ctx context.Context, client *trunkcall.Client) error {
	call, err := importUsers.Open(ctx, client)
	if err != nil {
		return err
	}
	defer call.Close() // what has ended already is not touched
	for _, name := range []string{"Ada", "Grace"} {
		if err := call.Send(&pb.GetUserResponse{Name: name}); errors.Is(err, io.EOF) {
			break // the server has answered already: CloseAndReceive says what
		} else if err != nil {
			return err
		}
	}
	answer, err := call.CloseAndReceive()
	if err != nil {
		return err
	}
	fmt.Println("imported", answer.Count)
	return nil
}

func converse(ctx context.Context, client *trunkcall.Client) error {
	call, err := watchUsers.Open(ctx, client)
	if err != nil {
		return err
	}
	defer call.Close()
	for id := int64(7); id < 9; id++ {
		if err := call.Send(&pb.GetUserRequest{UserId: id}); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		user, err := call.Receive()
		if err != nil {
			return err
		}
		fmt.Println("watched", user.Name)
	}
	return call.CloseSend()
}
