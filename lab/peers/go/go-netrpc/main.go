// Go-netrpc is the standard library's net/rpc with a Protobuf codec.
package main

import (
	"net"
	"net/rpc"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/codec"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

var peer = program.Peer{
	Name:    "go-netrpc",
	Methods: []string{"Say"},
	Codecs:  codec.Names,
	Secure:  true,
	Unix:    true,
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

const (
	service = "BenchService"
	method  = service + ".Say"
)

// benchService has the shape that net/rpc wants.
type benchService struct{}

// Answer is what a handler fills in, exported because net/rpc insists. It points
// to the message, because the one that came in is also the one to send back, and
// may not be copied.
type Answer struct {
	message *benchv1.BenchmarkMessage
}

// Say is exported for net/rpc, which finds methods by reflection.
func (benchService) Say(request *benchv1.BenchmarkMessage, reply *Answer) error {
	reply.message = benchmsg.Answer(request)
	return nil
}

func serve(listener net.Listener, options program.ServeOptions) error {
	marshalling, err := codec.New(options.Codec)
	if err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.RegisterName(service, benchService{}); err != nil {
		return err
	}
	listener = options.Secured(listener)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go server.ServeCodec(&serverCodec{newWire(connection, marshalling)})
	}
}

func bench(options program.BenchOptions) (load.Factory, error) {
	marshalling, err := codec.New(options.Codec)
	if err != nil {
		return nil, err
	}
	dial := func(int) (*rpc.Client, error) {
		connection, err := options.Dial()
		if err != nil {
			return nil, err
		}
		return rpc.NewClientWithCodec(&clientCodec{newWire(connection, marshalling)}), nil
	}
	return load.Spread(options.Options, true, dial, func(next func() *rpc.Client) (load.Call, error) {
		request := benchmsg.New()
		return func() error {
			reply := &benchv1.BenchmarkMessage{}
			if err := next().Call(method, request, reply); err != nil {
				return err
			}
			return benchmsg.Check(reply)
		}, nil
	})
}
