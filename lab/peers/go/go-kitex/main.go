// Go-kitex is CloudWeGo's kitex with multiplexed connections, on its own
// transport and its own Protobuf framing.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/server"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/codec"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

var peer = program.Peer{
	Name:    "go-kitex",
	Module:  "github.com/cloudwego/kitex",
	Methods: []string{"Say"},
	Codecs:  codec.Names,
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

func serve(listener net.Listener, options program.ServeOptions) error {
	klog.SetLevel(klog.LevelError)
	kitex := server.NewServer(server.WithListener(listener), server.WithMuxTransport())
	if err := kitex.RegisterService(serviceInfo(options.Codec), &handler{}); err != nil {
		return err
	}
	return kitex.Run()
}

// bench makes one client, whose pool spreads the calls over its connections in
// turn, whoever makes them; or as many clients of one connection as it is told.
func bench(options program.BenchOptions) (load.Factory, error) {
	klog.SetLevel(klog.LevelError)
	calls := messages[options.Codec]
	_, address := load.Network(options.Target)
	newCall := func(next func() client.Client) (load.Call, error) {
		request := benchmsg.New()
		return func() error {
			answer := calls.empty()
			if err := next().Call(context.Background(), methodName, calls.holding(request), answer); err != nil {
				return err
			}
			return benchmsg.Check(answer.get())
		}, nil
	}
	dial := func(connections int) (client.Client, error) {
		kitex, err := client.NewClient(serviceInfo(options.Codec),
			client.WithDestService(serviceName),
			client.WithHostPorts(address),
			client.WithMuxConnection(connections))
		if err != nil {
			return nil, err
		}
		// The pool opens a connection whenever a call meets an empty place in it: one
		// call for each fills all of them.
		call, _ := newCall(func() client.Client { return kitex })
		for i := range connections {
			if err := call(); err != nil && !errors.Is(err, load.ErrUntimed) {
				return nil, fmt.Errorf("connection %d: %w", i, err)
			}
		}
		return kitex, nil
	}
	return load.Spread(options.Options, false, dial, newCall)
}
