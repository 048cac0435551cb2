// Command serve is grpc-go's test service on a Trunkcall server, for stubs of other languages: it prints the address at
// which it listens, and ends with its input.
package main

import (
	"fmt"
	"io"
	"log"
	"os"

	"google.golang.org/grpc/interop"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func serve(until io.Reader, told io.Writer) error {
	server, err := trunkcall.NewServer()
	if err != nil {
		return err
	}
	defer server.Close()
	testgrpc.RegisterTestServiceServer(grpcstub.Registrar(server), interop.NewTestServer())
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(told, address); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, until)
	return err
}
