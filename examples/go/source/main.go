// Source finds servers in a list that somebody else keeps: an inventory that is asked over HTTP, and answers with
// lines of name and address.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/registry"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

// inventory is a registry, by its URL.
type inventory string

// Watch is called again after an error, later each time. Until then the instances stay that are known.
func (url inventory) Watch(ctx context.Context, service string, w *registry.Watcher) error {
	for {
		entries, err := url.ask(ctx, service)
		if err != nil {
			return err
		}
		w.All(entries) // calls notice only what is new
		select {
		case <-time.After(time.Second):
		case <-w.Failed(): // one cannot be reached: perhaps it has moved
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (url inventory) ask(ctx context.Context, service string) ([]registry.Entry, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, string(url)+"/"+service, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the inventory answers %s", answer.Status)
	}
	var entries []registry.Entry
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, address, _ := strings.Cut(lines.Text(), " ")
		record := registry.Record{Service: service, ID: name, Addresses: []string{address}}
		data, err := record.Bytes()
		entries = append(entries, registry.Entry{ID: name, Data: data, Err: err}) // one at fault is left out, and logged
	}
	return entries, lines.Err()
}

// It tells who answers, whenever that is somebody else: source URL UNTIL-WHO.
func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: source URL UNTIL-WHO")
	}
	found := registry.Resolver(inventory(os.Args[1]), nil)
	client, err := trunkcall.NewClient("inventory:users", trunkcall.WithResolver("inventory", found))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for who := ""; who != os.Args[2]; {
		user, err := getUser.Call(context.Background(), client, &pb.GetUserRequest{UserId: 7}, trunkcall.WaitForReady())
		if err != nil {
			log.Fatal(err)
		} else if user.Name != who {
			who = user.Name
			fmt.Println("answered by", who)
		}
	}
}
