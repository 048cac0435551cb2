package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

func Example() {
	folder, err := os.MkdirTemp("", "registry")
	check(err)
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "endpoints.json")
	write := func(text string) {
		check(os.WriteFile(path+".new", []byte(text), 0o600))
		check(os.Rename(path+".new", path)) // whole, or as it was
	}
	serve("first", func() { write(`[{"Addresses": ["mem:second"]}]`) })
	serve("second", func() {})
	write(`[{"Addresses": ["mem:first"], "Zone": "here"}]`)
	os.Args = []string{"registry", path, "second"}
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
