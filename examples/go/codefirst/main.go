// Codefirst serves a value's methods as they are, and calls them as functions: no .proto file, any number of arguments and
// results. It calls them synchronously, with a future and with a callback, lets a time run out, and prints what happens to
// the connection.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// hello is what is served. Its methods may take a context first and return an error last; everything else goes over the
// wire. Callers know them by other names: hello/say, hello/dawdle, hello/div.
type hello struct{}

func (hello) Say(text string, count, step int, pitch float64) (string, int, int, float64) {
	return text + "!", count + 1, step, pitch
}

func (hello) Dawdle(ctx context.Context) error {
	<-ctx.Done() // its caller's patience is known here
	return ctx.Err()
}

func (hello) Div(a, b int) (quotient, remainder int, err error) {
	if b == 0 {
		return 0, 0, trunkcall.Errorf(trunkcall.InvalidArgument, "division by zero")
	}
	return a / b, a % b, nil
}

// greeter is the same as its callers see it. They need not be written in Go. Whether a call is waited for, the type of the
// function says: one method may have one of each.
type greeter struct {
	Say      func(ctx context.Context, text string, count, step int, pitch float64) (string, int, int, float64, error)
	StartSay func(ctx context.Context, text string, count, step int, pitch float64) *codefirst.Future[said]                      `trunkcall:"say"`
	SayThen  func(ctx context.Context, text string, count, step int, pitch float64, done func(string, int, int, float64, error)) `trunkcall:"say"`
	Dawdle   func(ctx context.Context) error
}

// said returns what a future call of Say has brought.
type said = func() (text string, count, step int, pitch float64, err error)

func main() {
	listening, disconnected := make(chan struct{}), make(chan struct{}) // observers are told by goroutines of their own
	server, err := trunkcall.NewServer(trunkcall.WithObserver(trunkcall.Observer{
		Listening: func(net.Addr) { fmt.Println("server: listening"); close(listening) },
	}))
	if err != nil {
		log.Fatal(err)
	}
	if err := codefirst.RegisterService(server, "hello", hello{}, codefirst.Methods("Say", "Dawdle", "Div")); err != nil {
		log.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0") // any free port
	if err != nil {
		log.Fatal(err)
	}
	<-listening
	client, err := trunkcall.NewClient(address.String(), trunkcall.WithObserver(trunkcall.Observer{
		Connected:     func(*trunkcall.Connection) { fmt.Println("client: connected") },
		ConnectFailed: func(_ string, err error) { fmt.Println("client: cannot connect:", err) },
		Disconnected:  func(*trunkcall.Connection, error) { fmt.Println("client: disconnected"); close(disconnected) },
	}))
	if err != nil {
		log.Fatal(err)
	}
	call(client)
	client.Close()
	<-disconnected
	server.Close()
}

func call(client *trunkcall.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	// A struct of functions …
	var g greeter
	if err := codefirst.Bind(client, "hello", &g); err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Say(ctx, "hello", 1, 2, 0.5))

	// … or one function.
	div := codefirst.Func[func(a, b int) (int, int, error)](client, "hello/div")
	fmt.Println(div(7, 2))
	_, _, err := div(7, 0)
	fmt.Println(err)

	// Asynchronously, with futures: both calls are under way at once.
	first, second := g.StartSay(ctx, "first", 1, 2, 0.5), g.StartSay(ctx, "second", 2, 2, 0.5)
	fmt.Println(first.Result())
	fmt.Println(second.Result())

	// Asynchronously, with a callback, on another goroutine.
	called := make(chan struct{})
	g.SayThen(ctx, "called back", 3, 2, 0.5, func(text string, count, step int, pitch float64, err error) {
		fmt.Println(text, count, step, pitch, err)
		close(called)
	})
	<-called

	// A time that runs out. The handler's context ends with it.
	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	fmt.Println("timed out:", errors.Is(g.Dawdle(impatient), context.DeadlineExceeded))
}
