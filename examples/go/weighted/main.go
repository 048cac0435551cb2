// Weighted has a balancer of its own: each call goes to an endpoint by chance, as likely as its weight says.
// Its servers are those of its test: go test ./weighted
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

type byWeight struct{}

// Balance is called with each change, and makes the picker for the time until the next.
func (byWeight) Balance(endpoints []*trunkcall.EndpointState) trunkcall.Picker {
	var p picker
	for _, e := range endpoints {
		for range e.Endpoint().Weight {
			if e.State() == trunkcall.StateReady {
				p = append(p, e)
			}
		}
	}
	return p
}

type picker []*trunkcall.EndpointState // each as often as its weight says

func (p picker) Pick(*trunkcall.Pick) *trunkcall.EndpointState {
	if len(p) == 0 {
		return nil // the call waits while there is something to wait for
	}
	return p[rand.IntN(len(p))] //nolint:gosec // a draw, not a secret
}

type list []trunkcall.Endpoint // resolves to itself

func (l list) Resolve(_ context.Context, w *trunkcall.Watch) error { return w.Set(l) }

func main() {
	servers := list{{Addresses: []string{"mem:large"}, Weight: 9}, {Addresses: []string{"mem:small"}, Weight: 1}}
	client, err := trunkcall.Dial(context.Background(), "list:", trunkcall.WithResolver("list", servers), trunkcall.WithBalancer(byWeight{}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	calls := map[string]int{}
	for range 1000 {
		user, err := getUser.Call(context.Background(), client, &pb.GetUserRequest{UserId: 7})
		if err != nil {
			log.Fatal(err)
		}
		calls[user.Name]++
	}
	fmt.Println("most go to the large one:", calls["large"] > 750, "- and some to the small one:", calls["small"] > 0)
}
