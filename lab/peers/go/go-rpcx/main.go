// Go-rpcx is smallnest's rpcx.
package main

import (
	"context"
	"net"
	"runtime"

	rpcxclient "github.com/smallnest/rpcx/client"
	"github.com/smallnest/rpcx/log"
	"github.com/smallnest/rpcx/protocol"
	"github.com/smallnest/rpcx/server"
	"github.com/smallnest/rpcx/share"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/codec"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

var peer = program.Peer{
	Name:    "go-rpcx",
	Module:  "github.com/smallnest/rpcx",
	Methods: []string{"Say"},
	Codecs:  codec.Names,
	Tunable: true,
	Secure:  true,
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

const (
	service = "BenchService"
	method  = "Say"
)

// encoding fits a codec to the names that rpcx has for its methods.
type encoding struct{ codec.Any }

func (e encoding) Encode(value any) ([]byte, error)    { return e.Marshal(value) }
func (e encoding) Decode(data []byte, value any) error { return e.Unmarshal(data, value) }

// register puts the codec in the place of rpcx's own for Protobuf.
func register(name string) error {
	marshalling, err := codec.New(name)
	if err == nil {
		share.RegisterCodec(protocol.ProtoBuffer, encoding{codec.Any{Codec: marshalling}})
	}
	log.SetDummyLogger()
	return err
}

func serve(listener net.Listener, options program.ServeOptions) error {
	if err := register(options.Codec); err != nil {
		return err
	}
	var serverOptions []server.OptionFn
	if options.Tuned {
		// Handlers run on workers that are kept, and calls may queue for them.
		serverOptions = append(serverOptions, server.WithPool(64*runtime.NumCPU(), 1<<16))
	}
	rpcx := server.NewServer(serverOptions...)
	// A handler instead of a service found by reflection: the faster of the two.
	rpcx.AddHandler(service, method, func(ctx *server.Context) error {
		message := &benchv1.BenchmarkMessage{}
		if err := ctx.Bind(message); err != nil {
			return err
		}
		return ctx.Write(benchmsg.Answer(message))
	})
	return rpcx.ServeListener("tcp", options.Secured(listener))
}

func bench(options program.BenchOptions) (load.Factory, error) {
	if err := register(options.Codec); err != nil {
		return nil, err
	}
	settings := rpcxclient.DefaultOption
	settings.SerializeType = protocol.ProtoBuffer
	settings.TLSConfig = options.TLS
	network, address := load.Network(options.Target)
	dial := func(int) (*rpcxclient.Client, error) {
		client := rpcxclient.NewClient(settings)
		return client, client.Connect(network, address)
	}
	return load.Spread(options.Options, true, dial, func(next func() *rpcxclient.Client) (load.Call, error) {
		request := benchmsg.New()
		return func() error {
			answer := &benchv1.BenchmarkMessage{}
			if err := next().Call(context.Background(), service, method, request, answer); err != nil {
				return err
			}
			return benchmsg.Check(answer)
		}, nil
	})
}
