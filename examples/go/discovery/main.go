// Discovery is a server that is published in a registry, and a client that finds all servers there: they come and go,
// in whatever language they are, and no call fails. `make discovery` has three of each (examples/discovery).
//
//	discovery serve REGISTRY NAME [ADDRESS]   answers with its name, until SIGTERM
//	discovery call REGISTRY                   calls until SIGTERM, then tells who answered
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trunkcall/trunkcall/go"
	_ "github.com/trunkcall/trunkcall/go/consul"
	_ "github.com/trunkcall/trunkcall/go/etcd"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/registry"
	_ "github.com/trunkcall/trunkcall/go/zookeeper"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

// serve publishes a server that answers with its name, and stops it when ctx ends.
func serve(ctx context.Context, in, name, address string) error {
	store, err := registry.OpenStore(in)
	if err != nil {
		return err
	}
	registrar := registry.NewRegistrar(store, registry.Published{Zone: "here", Version: "1.4.2"})
	server, err := trunkcall.NewServer(
		trunkcall.WithRegistrar(registrar),
		trunkcall.WithDrainDelay(time.Second), // it serves on until clients have heard that it is withdrawn
	)
	if err != nil {
		return err
	}
	defer server.Close()
	var answered atomic.Int64
	err = server.Register(getUser.Handler(func(context.Context, *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		time.Sleep(20 * time.Millisecond) // what a database would take
		answered.Add(1)
		return &pb.GetUserResponse{Name: name}, nil
	}))
	if err != nil {
		return err
	}
	at, err := server.Listen(address)
	if err != nil {
		return err
	}
	if registrar.Wait(ctx) == nil {
		fmt.Println(name, "serves", at)
		<-ctx.Done()
	}
	err = server.Stop(context.Background()) // it is withdrawn, then drained
	fmt.Println(name, "answered", answered.Load(), "calls")
	return err
}

// answers are those of a client's calls.
type answers struct {
	mu     sync.Mutex
	of     map[string]int // by the name of the server
	failed int
}

func (a *answers) note(user *pb.GetUserResponse, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failed++
		log.Print("failed: ", err)
		return
	}
	if a.of[user.Name]++; a.of[user.Name] == 1 {
		fmt.Println("found", user.Name)
	}
}

// call calls until ctx ends, four calls at a time, and tells whose answers came.
func call(ctx context.Context, in string) error {
	source, err := registry.Open(in)
	if err != nil {
		return err
	}
	resolver := trunkcall.WithResolver("registry", registry.Resolver(source, nil))
	client, err := trunkcall.NewClient("registry:trunkcall.example.v1.UserService", resolver, trunkcall.WithTimeout(10*time.Second))
	if err != nil {
		return err
	}
	defer client.Close()
	// The first call waits for a server to be found. The others need not.
	user, err := getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 7}, trunkcall.WaitForReady())
	if ctx.Err() != nil {
		return nil // it was stopped before there was a server
	} else if err != nil {
		return err
	}
	noted := answers{of: map[string]int{}}
	noted.note(user, nil)
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				user, err := getUser.Call(context.Background(), client, &pb.GetUserRequest{UserId: 7})
				noted.note(user, err)
				if err != nil { // whoever calls again at once keeps busy what is in trouble
					select {
					case <-time.After(100 * time.Millisecond):
					case <-ctx.Done():
					}
				}
			}
		})
	}
	callers.Wait()
	for _, name := range slices.Sorted(maps.Keys(noted.of)) {
		fmt.Println(name, "answered", noted.of[name], "calls")
	}
	fmt.Println(noted.failed, "calls failed")
	if noted.failed > 0 {
		return errors.New("calls failed")
	}
	return nil
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer cancel()
	var err error
	switch words := os.Args[1:]; {
	case len(words) == 3 && words[0] == "serve":
		err = serve(ctx, words[1], words[2], "127.0.0.1:0")
	case len(words) == 4 && words[0] == "serve":
		err = serve(ctx, words[1], words[2], words[3])
	case len(words) == 2 && words[0] == "call":
		err = call(ctx, words[1])
	default:
		log.Fatal("usage: discovery serve REGISTRY NAME [ADDRESS] | call REGISTRY, such as file:/run/trunkcall")
	}
	if err != nil {
		log.Fatal(err)
	}
}
