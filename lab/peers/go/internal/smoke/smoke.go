// Package smoke checks in a moment that a peer answers what it should.
package smoke

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/selfsigned"
)

// Test makes calls to every method of the peer with every codec and both sets of
// settings, with callers that rotate, and over TLS if the peer has it. The call
// functions check the answers.
func Test(t *testing.T, peer program.Peer) {
	if peer.Secure {
		t.Run(peer.Name+" over TLS", func(t *testing.T) {
			directory := t.TempDir()
			if err := selfsigned.Write(directory); err != nil {
				t.Fatal(err)
			}
			certificate := filepath.Join(directory, selfsigned.CertificateFile)
			server, err := program.ServerTLS(certificate, filepath.Join(directory, selfsigned.KeyFile))
			if err != nil {
				t.Fatal(err)
			}
			testServer(t, peer, program.ServeOptions{Codec: peer.Codecs[0], TLS: server}, certificate)
		})
	}
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
			t.Run(name, func(t *testing.T) { testServer(t, peer, program.ServeOptions{Codec: codec, Tuned: tuned}, "") })
		}
	}
}

func testServer(t *testing.T, peer program.Peer, options program.ServeOptions, trusted string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// It serves until the test binary ends: not all peers can be stopped. One that
	// cannot serve must not leave clients waiting to be accepted.
	go func() {
		if err := peer.Serve(listener, options); err != nil {
			fmt.Fprintln(os.Stderr, "serve ended:", err)
			listener.Close()
		}
	}()
	// Callers that share a connection, callers with one each, callers that rotate, and
	// callers that make one for each call.
	for name, flags := range map[string][]string{
		"shared": {"--connections", "2"}, "alone": {"--connections", "8"}, "rotating": {"--clients", "3", "--rotate"},
		"cold": {"--connection-per-call"},
	} {
		for _, method := range peer.Methods {
			streams := method == "EchoStream" || method == "Emit"
			if name == "rotating" && (peer.Whole || streams) || name == "shared" && streams {
				continue
			}
			if name == "cold" && (!peer.Cold || streams) {
				continue
			}
			t.Run(method+" "+name, func(t *testing.T) {
				args := append(flags, "--target", listener.Addr().String(), "--codec", options.Codec,
					"--method", method, "--callers", "8", "--calls", "400", "--warmup", "0")
				testCalls(t, peer, options.Tuned, trusted, args...)
			})
		}
	}
}

func testCalls(t *testing.T, peer program.Peer, tuned bool, trusted string, args ...string) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	options := program.BenchOptions{Options: load.Flags(fs), Tuned: tuned}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	if trusted != "" {
		var err error
		if options.TLS, err = program.ClientTLS(trusted); err != nil {
			t.Fatal(err)
		}
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
