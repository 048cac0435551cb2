// Mutualtls has a server that asks its clients for certificates, and a handler that finds out who calls.
//
//	mutualtls ca.pem server.pem server.key client.pem client.key
//
// Both certificates are signed by the authority; the server's is for localhost.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

var getUser = trunkcall.Unary[pb.GetUserRequest, pb.GetUserResponse](pb.UserService_GetUser_FullMethodName)

func answer(ctx context.Context, _ *pb.GetUserRequest) (*pb.GetUserResponse, error) {
	certificate := trunkcall.CallFromContext(ctx).Peer().TLS.PeerCertificates[0] // verified by the handshake
	return &pb.GetUserResponse{Name: "hello " + certificate.Subject.CommonName}, nil
}

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: mutualtls ca.pem server.pem server.key client.pem client.key")
	}
	run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5])
}

func run(authority, serverCert, serverKey, clientCert, clientKey string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server := must(trunkcall.NewServer(
		trunkcall.WithTLSFiles(serverCert, serverKey, authority), // the authority of its clients
	))
	must(0, server.Register(getUser.Handler(answer)))
	must(server.Listen("127.0.0.1:0"))
	target := fmt.Sprint("localhost:", server.Port())

	known := must(trunkcall.NewClient(target,
		trunkcall.WithTLSFiles(clientCert, clientKey, authority), // the authority of its servers
	))
	defer known.Close()
	fmt.Println(must(getUser.Call(ctx, known, &pb.GetUserRequest{})).Name)

	unknown := must(trunkcall.NewClient(target, trunkcall.WithTLSFiles("", "", authority)))
	defer unknown.Close()
	_, err := getUser.Call(ctx, unknown, &pb.GetUserRequest{})
	fmt.Println("without a certificate:", trunkcall.StatusOf(err).Code)
	must(0, server.Stop(ctx))
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
