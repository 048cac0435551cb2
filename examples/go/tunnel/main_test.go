package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

func Example() {
	server := must(trunkcall.NewServer())
	defer server.Close()
	check(server.Register(getUser.Handler(func(context.Context, *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		return &pb.GetUserResponse{Name: "user-7"}, nil
	})))
	address := must(server.Listen("127.0.0.1:0")).(*net.TCPAddr)
	socks := must(net.Listen("tcp", "127.0.0.1:0"))
	defer socks.Close()
	go func() {
		for client, err := socks.Accept(); err == nil; client, err = socks.Accept() {
			go forward(client, address.String())
		}
	}()
	// The host has a name that the proxy alone knows.
	os.Args = []string{"tunnel", socks.Addr().String(), "behind.the.proxy:" + strconv.Itoa(address.Port)}
	main()
	// Output:
	// asked for behind.the.proxy
	// found user-7
}

// forward is as much of RFC 1928 as one CONNECT to a name needs.
func forward(client net.Conn, to string) {
	defer client.Close()
	part := func(n int) []byte {
		b := make([]byte, n)
		_, err := io.ReadFull(client, b)
		check(err)
		return b
	}
	part(int(part(2)[1])) // version, ways to authenticate
	must(client.Write([]byte{5, 0}))
	part(4) // version, CONNECT, reserved, a name follows
	fmt.Printf("asked for %s\n", part(int(part(1)[0])))
	part(2) // port
	server := must(net.Dial("tcp", to))
	defer server.Close()
	must(client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0}))
	go io.Copy(server, client)
	_, _ = io.Copy(client, server)
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
