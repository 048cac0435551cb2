package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- serve(ctx, listener) }()

	conn, err := net.Dial("tcp", listener.Addr().String())
	check(err)
	check(conn.SetDeadline(time.Now().Add(20 * time.Second)))
	in := bufio.NewScanner(conn)
	for _, line := range []string{
		`{"method":"/greeter/greet","argument":["Ada"]}`, `{"method":"/greeter/greet","argument":[""]}`, `{"method":"/greeter/none"}`, `{]`,
	} {
		_, err := fmt.Fprintln(conn, line)
		check(err)
		in.Scan()
		fmt.Println(in.Text())
	}
	client, err := trunkcall.Dial(ctx, listener.Addr().String()) // on the same port
	check(err)
	fmt.Println(codefirst.Func[func(string) (string, error)](client, "greeter/greet")("Grace"))
	client.Close()
	stop()
	fmt.Println(<-served, in.Scan())
	// Output:
	// {"result":"hello, Ada"}
	// {"error":"INVALID_ARGUMENT: whom?"}
	// {"error":"UNIMPLEMENTED: method /greeter/none is not served by this server (refused)"}
	// {"error":"invalid character ']' looking for beginning of object key string"}
	// hello, Grace <nil>
	// trunkcall: the server has been stopped false
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
