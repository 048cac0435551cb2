package main

import (
	"context"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

func Example() {
	for _, name := range []string{"large", "small"} {
		server, err := trunkcall.NewServer()
		check(err)
		check(server.Register(getUser.Handler(func(context.Context, *pb.GetUserRequest) (*pb.GetUserResponse, error) {
			return &pb.GetUserResponse{Name: name}, nil
		})))
		_, err = server.Listen("mem:" + name)
		check(err)
	}
	main()
	// Output:
	// most go to the large one: true - and some to the small one: true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
