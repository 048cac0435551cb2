// Go-echo is no RPC framework but what one is measured against: bytes sent back
// by a server that looks at none of them, over as many connections and with as
// many in flight. There is no codec, no dispatch and no copying of answers, so no
// framework on the same sockets can be faster.
package main

import (
	"errors"
	"fmt"
	"net"

	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

var peer = program.Peer{
	Name:    "go-echo",
	Methods: []string{"Say", "Echo", "EchoStream"},
	Codecs:  []string{"raw"},
	Unix:    true,
	Whole:   true,
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

// serve sends back whatever comes. Many frames that arrive together are read
// together and leave together.
func serve(listener net.Listener, _ program.ServeOptions) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer connection.Close()
			buffer := make([]byte, 64<<10)
			for {
				n, err := connection.Read(buffer)
				if err != nil {
					return
				}
				if _, err := connection.Write(buffer[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// bench uses the cheapest way for how callers and connections stand to each
// other: callers with a connection to themselves read and write in turn, callers
// that share one go through a line.
func bench(options program.BenchOptions) (load.Factory, error) {
	payload, err := payload(options)
	if err != nil {
		return nil, err
	}
	dial := func(int) (net.Conn, error) { return options.Dial() }
	alone := options.Callers <= max(options.Connections, options.Clients)
	switch {
	case options.Short == "EchoStream" && !alone:
		return nil, errors.New("each caller of EchoStream needs a connection: raise --connections to --callers")
	case options.Short == "EchoStream":
		return load.Spread(options.Options, true, dial, func(next func() net.Conn) (load.Call, error) {
			return newStream(next(), payload), nil
		})
	case alone:
		return load.Spread(options.Options, true, dial, func(next func() net.Conn) (load.Call, error) {
			return newPingPong(next(), payload), nil
		})
	}
	dialLine := func(int) (*line, error) {
		connection, err := options.Dial()
		if err != nil {
			return nil, err
		}
		return newLine(connection, payload), nil
	}
	return load.Spread(options.Options, true, dialLine, func(next func() *line) (load.Call, error) {
		return next().caller(), nil
	})
}

// payload is the encoded benchmark message, or as many bytes as were asked for.
func payload(options program.BenchOptions) ([]byte, error) {
	if options.Short == "Say" {
		return benchmsg.New().MarshalVT()
	}
	return benchmsg.Bytes(options.Size), nil
}

// wrongEcho tells of an answer that is not what was sent.
func wrongEcho(got []byte) error {
	return fmt.Errorf("%d bytes came back that were not sent", len(got))
}
