// Go-arpc is lesismal's arpc.
package main

import (
	"context"
	"net"

	"github.com/lesismal/arpc"
	arpccodec "github.com/lesismal/arpc/codec"
	"github.com/lesismal/arpc/log"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/codec"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

var peer = program.Peer{
	Name:    "go-arpc",
	Module:  "github.com/lesismal/arpc",
	Methods: []string{"Say"},
	Codecs:  codec.Names,
	Tunable: true,
	Secure:  true,
	Unix:    true,
	Nagle:   true,
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

const method = "/trunkcall.bench.v1.BenchService/Say"

// configure sets what client and server have in common. As arpc comes, handlers
// get a goroutine per call, messages are written one by one from a queue, and
// Nagle's algorithm is on. That last gains arpc a fifth of its throughput, and
// costs a call now and then forty milliseconds.
func configure(handler arpc.Handler, tuned, noDelay bool) {
	log.SetLevel(log.LevelNone)
	if tuned {
		handler.EnablePool(true)         // messages and buffers are reused
		handler.SetSendBufferSize(32768) // messages that queue up leave together
		handler.SetRecvBufferSize(32768) // and are read together
	}
	if noDelay {
		// In the place of arpc's own hook, which switches the algorithm on.
		handler.HandleConnected(func(client *arpc.Client) {
			if connection, ok := client.Conn.(*net.TCPConn); ok {
				_ = connection.SetNoDelay(true)
			}
		})
	}
}

func serve(listener net.Listener, options program.ServeOptions) error {
	marshalling, err := codec.New(options.Codec)
	if err != nil {
		return err
	}
	server := arpc.NewServer()
	server.Codec = codec.Any{Codec: marshalling}
	configure(server.Handler, options.Tuned, options.NoDelay)
	server.Handler.Handle(method, func(ctx *arpc.Context) {
		message := &benchv1.BenchmarkMessage{}
		if err := ctx.Bind(message); err != nil {
			_ = ctx.Error(err)
			return
		}
		_ = ctx.Write(benchmsg.Answer(message))
	})
	return server.Serve(options.Secured(listener))
}

func bench(options program.BenchOptions) (load.Factory, error) {
	marshalling, err := codec.New(options.Codec)
	if err != nil {
		return nil, err
	}
	// The constructor takes the codec from here; it has no parameter for it.
	arpccodec.SetCodec(codec.Any{Codec: marshalling})
	handler := arpc.NewHandler()
	configure(handler, options.Tuned, options.NoDelay)
	dial := func(int) (*arpc.Client, error) { return arpc.NewClient(options.Dial, handler) }
	return load.Spread(options.Options, true, dial, func(next func() *arpc.Client) (load.Call, error) {
		request := benchmsg.New()
		return func() error {
			answer := &benchv1.BenchmarkMessage{}
			if err := next().CallContext(context.Background(), method, request, answer); err != nil {
				return err
			}
			return benchmsg.Check(answer)
		}, nil
	})
}
