package http2

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// TestH2spec runs the public test suite for HTTP/2 (github.com/summerwind/h2spec) against
// the engine alone, with a handler that answers a request once it has come
// whole: `make conformance` builds it and names it in the environment.
func TestH2spec(t *testing.T) {
	program := os.Getenv("TRUNKCALL_H2SPEC")
	if program == "" {
		t.Skip("TRUNKCALL_H2SPEC does not name h2spec's program")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pool, handler := &roles.Pool{}, &hello{closed: make(chan error, 1000)}
	config := Config{Handler: handler, Pool: pool}.Complete()
	served := make(chan int)
	go func() {
		n := 0
		for {
			socket, err := listener.Accept()
			if err != nil {
				served <- n
				return
			}
			Serve(socket, nil, config, nil)
			n++
		}
	}()
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	report, err := exec.Command(program, "-h", "127.0.0.1", "-p", port, "--timeout", "10").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, report)
	}
	_ = listener.Close()
	for range <-served {
		<-handler.closed
	}
	pool.Close()
}
