package main

import (
	"context"
	"fmt"
	"log"

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
	server := must(trunkcall.NewServer())
	if err := server.Register(greet.Handler(hello)); err != nil {
		log.Fatal(err)
	}
	address := must(server.Listen("127.0.0.1:0")) // any free port
	client := must(trunkcall.NewClient(address.String()))
	for _, name := range []string{"Ada", ""} {
		out, err := greet.Call(context.Background(), client, &pb.Name{Name: name})
		fmt.Println(out.GetText(), err)
	}
}

func must[T any](made T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return made
}
