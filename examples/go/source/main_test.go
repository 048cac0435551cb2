package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

func Example() {
	var listed atomic.Value
	listed.Store("a mem:first\nbroken nowhere\n")
	serve("first", func() { listed.Store("b mem:second\n") })
	serve("second", func() {})
	there := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, listed.Load())
	}))
	defer there.Close()
	os.Args = []string{"source", there.URL, "second"}
	main()
	// Output:
	// answered by first
	// answered by second
}

// serve has a server answer with its name.
func serve(name string, called func()) {
	server, err := trunkcall.NewServer()
	check(err)
	check(server.Register(getUser.Handler(func(context.Context, *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		called()
		return &pb.GetUserResponse{Name: name}, nil
	})))
	_, err = server.Listen("mem:" + name)
	check(err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
