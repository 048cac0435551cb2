// Codefirst serves a value's methods as they are, and calls them as functions: no .proto file, any number of arguments and
// results.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/trunkcall/trunkcall/go"
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

// greeter is the same as its callers see it. They need not be written in Go.
type greeter struct {
	Say    func(ctx context.Context, text string, count, step int, pitch float64) (string, int, int, float64, error)
	Dawdle func(ctx context.Context) error
}

func main() {
	server := trunkcall.NewServer()
	if err := server.RegisterService("hello", hello{}); err != nil {
		log.Fatal(err)
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	client := trunkcall.NewClient(address.String())
	call(client)
	client.Close()
	server.Close()
}

func call(client *trunkcall.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	// A struct of functions …
	var g greeter
	if err := trunkcall.Bind(client, "hello", &g); err != nil {
		log.Fatal(err)
	}
	fmt.Println(g.Say(ctx, "hello", 1, 2, 0.5))

	// … or one function.
	div := trunkcall.Func[func(a, b int) (int, int, error)](client, "hello/div")
	fmt.Println(div(7, 2))
	_, _, err := div(7, 0)
	fmt.Println(err)

	// Asynchronously: a call is a function call, so a goroutine will do.
	answers := make(chan string)
	for i := range 3 {
		go func() {
			text, count, _, _, err := g.Say(ctx, "hello again", i, 0, 0)
			answers <- fmt.Sprint(text, " ", count, " ", err)
		}()
	}
	for range 3 {
		fmt.Println(<-answers)
	}

	// A context that ends also ends the handler's.
	impatient, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	fmt.Println("timed out:", errors.Is(g.Dawdle(impatient), context.DeadlineExceeded))
}
