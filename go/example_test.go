package trunkcall_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// A server and a client in memory, for the examples.
func exampleServer(handlers ...trunkcall.Handler) (*trunkcall.Server, *trunkcall.Client) {
	server := trunkcall.NewServer()
	if err := server.Register(handlers...); err != nil {
		log.Fatal(err)
	}
	where := fmt.Sprintf("mem:example-%p", server)
	if _, err := server.Listen(where); err != nil {
		log.Fatal(err)
	}
	return server, trunkcall.NewClient(where)
}

// Calls that run at once, without a goroutine for each.
func ExampleUnaryMethod_Start() {
	server, client := exampleServer(echo.Handler(serveEcho))
	defer server.Close()
	defer client.Close()
	ctx := context.Background()

	a, b := echo.Start(ctx, client, text("one")), echo.Start(ctx, client, text("two"))
	for _, f := range []*trunkcall.Future[payload]{a, b} {
		out, err := f.Result()
		fmt.Println(string(out.GetData()), err)
	}
	// Output:
	// one <nil>
	// two <nil>
}

// A call whose outcome a function is given.
func ExampleUnaryMethod_CallFunc() {
	server, client := exampleServer(echo.Handler(serveEcho))
	defer server.Close()
	defer client.Close()

	done := make(chan struct{})
	echo.CallFunc(context.Background(), client, text("hello"), func(out *payload, err error) {
		fmt.Println(string(out.GetData()), err)
		close(done)
	})
	<-done
	// Output: hello <nil>
}

// A call that its caller does not wait for the end of.
func ExampleOneWay() {
	shout := trunkcall.OneWay[payload]("/example.Service/Shout")
	heard := make(chan string)
	server, client := exampleServer(shout.Handler(func(_ context.Context, in *payload) error {
		heard <- string(in.Data)
		return nil // an error would be logged and counted
	}))
	defer server.Close()
	defer client.Close()

	err := shout.Send(context.Background(), client, text("hey"))
	fmt.Println("accepted:", err)
	fmt.Println("heard:", <-heard)
	// Output:
	// accepted: <nil>
	// heard: hey
}

// A server that calls its client back, over the client's own connection.
func ExampleServerCall_Connection() {
	whoAreYou := trunkcall.Unary[payload, payload]("/example.Client/WhoAreYou")
	greet := trunkcall.Unary[payload, payload]("/example.Service/Greet")
	server, client := exampleServer(greet.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		name, err := whoAreYou.Call(ctx, trunkcall.CallFromContext(ctx).Connection(), in)
		if err != nil {
			return nil, err
		}
		return text("hello " + string(name.Data)), nil
	}))
	defer server.Close()
	defer client.Close()
	_ = client.Register(whoAreYou.Handler(func(context.Context, *payload) (*payload, error) { return text("Ada"), nil }))

	out, err := greet.Call(context.Background(), client, text(""))
	fmt.Println(string(out.GetData()), err)
	// Output: hello Ada <nil>
}

// A server that is told of its connections.
func ExampleWithObserver() {
	tell := trunkcall.OneWay[payload]("/example.Client/Tell")
	server := trunkcall.NewServer(trunkcall.WithObserver(trunkcall.Observer{
		Connected: func(c *trunkcall.Connection) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = tell.Send(ctx, c, text("welcome"))
		},
	}))
	defer server.Close()
	if _, err := server.Listen("mem:example-observer"); err != nil {
		log.Fatal(err)
	}
	client := trunkcall.NewClient("mem:example-observer")
	defer client.Close()
	told := make(chan string, 1)
	_ = client.Register(tell.Handler(func(_ context.Context, in *payload) error {
		told <- string(in.Data)
		return nil
	}))
	_ = client.Connect(context.Background())
	fmt.Println(<-told)
	// Output: welcome
}
