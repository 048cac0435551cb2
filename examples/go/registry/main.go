// Registry finds servers in a JSON file that may change at any time: a list of endpoints.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

// file resolves targets file:PATH, looking at the file that often.
type file time.Duration

// Resolve is called again after an error, later each time, and the last endpoints stay.
func (f file) Resolve(ctx context.Context, w *trunkcall.Watch) error {
	for last := ""; ; {
		data, err := os.ReadFile(w.Target())
		if err != nil {
			return err
		} else if string(data) != last {
			var endpoints []trunkcall.Endpoint
			if err := json.Unmarshal(data, &endpoints); err != nil {
				return err
			} else if err := w.Set(endpoints); err != nil {
				return err // says what is wrong with them
			}
			last = string(data)
		}
		select {
		case <-time.After(time.Duration(f)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// It tells who answers, whenever that is somebody else: registry FILE UNTIL-WHO.
func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: registry FILE UNTIL-WHO")
	}
	client, err := trunkcall.NewClient("file:"+os.Args[1], trunkcall.WithResolver("file", file(50*time.Millisecond)))
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
