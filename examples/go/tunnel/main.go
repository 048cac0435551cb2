// Tunnel calls a server through a SOCKS5 proxy: tunnel PROXY SERVER.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"golang.org/x/net/proxy"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse]("/trunkcall.example.v1.UserService/GetUser")

// through dials by way of a proxy, which also looks up the names of hosts.
func through(socks string) (trunkcall.Dialer, error) {
	dialer, err := proxy.SOCKS5("tcp", socks, nil, proxy.Direct)
	if err != nil {
		return nil, err
	}
	inTime, ok := dialer.(proxy.ContextDialer)
	if !ok {
		return nil, fmt.Errorf("%T takes no context", dialer)
	}
	return func(ctx context.Context, _ trunkcall.Endpoint, address string) (net.Conn, error) {
		return inTime.DialContext(ctx, "tcp", address)
	}, nil
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: tunnel PROXY SERVER")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	dialer, err := through(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	client, err := trunkcall.Dial(ctx, os.Args[2], trunkcall.WithDialer(dialer))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	user, err := getUser.Call(ctx, client, &pb.GetUserRequest{UserId: 7})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("found", user.Name)
}
