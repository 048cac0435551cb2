package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"example.com/hello/pb"
	"github.com/trunkcall/trunkcall/go"
)

// A method is its name and its two messages, described once and used at both ends.
var greet = trunkcall.Unary[pb.Name, pb.Greeting]("/hello.Greeter/Greet")

func hello(_ context.Context, in *pb.Name) (*pb.Greeting, error) {
	if in.Name == "" {
		return nil, trunkcall.Errorf(trunkcall.InvalidArgument, "who?")
	}
	return &pb.Greeting{Text: "hello " + in.Name}, nil
}

func main() {
	server := trunkcall.NewServer()
	if err := server.Register(greet.Handler(hello)); err != nil {
		log.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0") // any free port
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client := trunkcall.NewClient(address.String())
	for _, name := range []string{"Ada", ""} {
		out, err := greet.Call(ctx, client, &pb.Name{Name: name})
		fmt.Println(out.GetText(), err)
	}
}
