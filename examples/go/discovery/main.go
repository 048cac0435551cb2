// Discovery has servers published in a registry, where a client finds them: they come and go, and calls go on.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/registry"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

// serve publishes a server that answers with its name.
func serve(store registry.Store, name string) (*trunkcall.Server, error) {
	registrar := registry.NewRegistrar(store, registry.Published{Zone: "here", Version: "1.4.2"})
	server, err := trunkcall.NewServer(trunkcall.WithRegistrar(registrar))
	if err != nil {
		return nil, err
	}
	err = server.Register(getUser.Handler(func(context.Context, *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		return &pb.GetUserResponse{Name: name}, nil
	}))
	_, listening := server.Listen("127.0.0.1:0")
	return server, errors.Join(err, listening)
}

// run has two servers in turn, of which a client knows nothing but the name of their service.
func run(name string) error {
	store, err := registry.OpenStore(name)
	if err != nil {
		return err
	}
	resolver := trunkcall.WithResolver("registry", registry.Resolver(store, nil))
	client, err := trunkcall.NewClient("registry:trunkcall.example.v1.UserService", resolver)
	if err != nil {
		return err
	}
	defer client.Close()
	var before *trunkcall.Server
	for _, name := range []string{"first", "second"} {
		server, err := serve(store, name)
		if err != nil {
			return err
		}
		defer server.Close()
		for who := ""; who != name; {
			user, err := getUser.Call(context.Background(), client, &pb.GetUserRequest{UserId: 7}, trunkcall.WaitForReady())
			if err != nil {
				return err
			}
			who = user.Name
		}
		fmt.Println("answered by", name)
		if before != nil {
			if err := before.Stop(context.Background()); err != nil { // it is withdrawn, then drained
				return err
			}
		}
		before = server
	}
	return before.Stop(context.Background())
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: discovery REGISTRY, such as file:/run/trunkcall")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
