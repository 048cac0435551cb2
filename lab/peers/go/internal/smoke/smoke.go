// Package smoke checks in a moment that a peer answers what it should.
package smoke

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

// Test makes calls to every method of the peer with every codec and both sets of
// settings. The call functions check the answers.
func Test(t *testing.T, peer program.Peer) {
	settings := []bool{false}
	if peer.Tunable {
		settings = append(settings, true)
	}
	for _, tuned := range settings {
		for _, codec := range peer.Codecs {
			name := peer.Name + " " + codec
			if tuned {
				name += " tuned"
			}
			t.Run(name, func(t *testing.T) { testServer(t, peer, codec, tuned) })
		}
	}
}

func testServer(t *testing.T, peer program.Peer, codec string, tuned bool) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// It serves until the test binary ends: not all peers can be stopped. One that
	// cannot serve must not leave clients waiting to be accepted.
	go func() {
		if err := peer.Serve(listener, program.ServeOptions{Codec: codec, Tuned: tuned}); err != nil {
			fmt.Fprintln(os.Stderr, "serve ended:", err)
			listener.Close()
		}
	}()
	for _, method := range peer.Methods {
		// Callers that share a connection, and callers with one each.
		for _, connections := range []string{"2", "8"} {
			if method == "EchoStream" && connections == "2" {
				continue
			}
			t.Run(method+" over "+connections, func(t *testing.T) {
				testCalls(t, peer, tuned, "--target", listener.Addr().String(), "--codec", codec,
					"--method", method, "--connections", connections, "--callers", "8", "--calls", "400", "--warmup", "0")
			})
		}
	}
}

func testCalls(t *testing.T, peer program.Peer, tuned bool, args ...string) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	options := program.BenchOptions{Options: load.Flags(fs), Tuned: tuned}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	options.Short, _ = load.BenchMethod(options.Method)
	factory, err := peer.Bench(options)
	if err != nil {
		t.Fatal(err)
	}
	result, err := load.Run(options.Config(), factory)
	if err != nil {
		t.Fatal(err)
	}
	if result.Calls != 400 || result.Errors != 0 {
		t.Errorf("%d calls, %d errors, the first: %v", result.Calls, result.Errors, result.FirstError)
	}
}
