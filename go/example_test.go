package trunkcall_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	trunkcall "github.com/trunkcall/trunkcall/go" // by name: that is how documentation finds it
)

// Each example stands alone, with its own server and client in memory: what is
// shown is a program.

// Calls that run at once, without a goroutine for each.
func ExampleUnaryMethod_Start() {
	echo := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/example.Service/Echo")
	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.Register(echo.Handler(func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return in, nil
	})); err != nil {
		log.Fatal(err)
	}
	if _, err := server.Listen("mem:start"); err != nil {
		log.Fatal(err)
	}
	client, err := trunkcall.NewClient("mem:start")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	a, b := echo.Start(ctx, client, wrapperspb.String("one")), echo.Start(ctx, client, wrapperspb.String("two"))
	one, err := a.Result()
	fmt.Println(one.GetValue(), err)
	two, err := b.Result()
	fmt.Println(two.GetValue(), err)
	// Output:
	// one <nil>
	// two <nil>
}

// A call whose outcome a function is given.
func ExampleUnaryMethod_CallFunc() {
	echo := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/example.Service/Echo")
	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.Register(echo.Handler(func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return in, nil
	})); err != nil {
		log.Fatal(err)
	}
	if _, err := server.Listen("mem:callback"); err != nil {
		log.Fatal(err)
	}
	client, err := trunkcall.NewClient("mem:callback")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	done := make(chan struct{})
	echo.CallFunc(context.Background(), client, wrapperspb.String("hello"), func(out *wrapperspb.StringValue, err error) {
		fmt.Println(out.GetValue(), err)
		close(done)
	})
	<-done
	// Output: hello <nil>
}

// A call that its caller does not wait for the end of.
func ExampleOneWay() {
	shout := trunkcall.OneWay[wrapperspb.StringValue]("/example.Service/Shout")
	heard := make(chan string)
	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.Register(shout.Handler(func(_ context.Context, in *wrapperspb.StringValue) error {
		heard <- in.GetValue()
		return nil // an error would be logged and counted
	})); err != nil {
		log.Fatal(err)
	}
	if _, err := server.Listen("mem:one-way"); err != nil {
		log.Fatal(err)
	}
	client, err := trunkcall.NewClient("mem:one-way")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = shout.Send(context.Background(), client, wrapperspb.String("hey"))
	fmt.Println("accepted:", err)
	fmt.Println("heard:", <-heard)
	// Output:
	// accepted: <nil>
	// heard: hey
}

// A server that calls its client back, over the client's own connection.
func ExampleServerCall_Connection() {
	whoAreYou := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/example.Client/WhoAreYou")
	greet := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/example.Service/Greet")
	server, err := trunkcall.NewServer()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.Register(greet.Handler(func(ctx context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		name, err := whoAreYou.Call(ctx, trunkcall.CallFromContext(ctx).Connection(), in)
		if err != nil {
			return nil, err
		}
		return wrapperspb.String("hello " + name.GetValue()), nil
	})); err != nil {
		log.Fatal(err)
	}
	if _, err := server.Listen("mem:both-ways"); err != nil {
		log.Fatal(err)
	}
	client, err := trunkcall.NewClient("mem:both-ways")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := client.Register(whoAreYou.Handler(func(context.Context, *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
		return wrapperspb.String("Ada"), nil
	})); err != nil {
		log.Fatal(err)
	}

	out, err := greet.Call(context.Background(), client, &wrapperspb.StringValue{})
	fmt.Println(out.GetValue(), err)
	// Output: hello Ada <nil>
}

// A server that is told of its connections.
func ExampleWithObserver() {
	tell := trunkcall.OneWay[wrapperspb.StringValue]("/example.Client/Tell")
	server, err := trunkcall.NewServer(trunkcall.WithObserver(trunkcall.Observer{
		Connected: func(c *trunkcall.Connection) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = tell.Send(ctx, c, wrapperspb.String("welcome"))
		},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if _, err := server.Listen("mem:observer"); err != nil {
		log.Fatal(err)
	}
	client, err := trunkcall.NewClient("mem:observer")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	told := make(chan string, 1)
	if err := client.Register(tell.Handler(func(_ context.Context, in *wrapperspb.StringValue) error {
		told <- in.GetValue()
		return nil
	})); err != nil {
		log.Fatal(err)
	}

	_ = client.Connect(context.Background())
	fmt.Println(<-told)
	// Output: welcome
}
