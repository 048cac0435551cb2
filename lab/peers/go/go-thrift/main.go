// Go-thrift is Apache Thrift with its own codecs. A connection carries one call
// at a time, so callers that share one wait for each other.
package main

import (
	"context"
	"net"
	"sync"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/lab/peers/go/go-thrift/benchthrift"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
)

// The compiler is Apache Thrift's, version 0.25.0, which has to be installed.
//go:generate thrift -out . --gen go:skip_remote bench.thrift

const (
	codecBinary  = "thrift-binary"
	codecCompact = "thrift-compact"
)

var peer = program.Peer{
	Name:    "go-thrift",
	Module:  "github.com/apache/thrift",
	Methods: []string{"Say"},
	Codecs:  []string{codecBinary, codecCompact},
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

// buffering and protocol are what both ends use. Buffered, a message is read and
// written in one system call each; the framed transport does so too, but copies
// more, and is a third slower here.
var buffering = thrift.NewTBufferedTransportFactory(8192)

func protocol(codec string) thrift.TProtocolFactory {
	if codec == codecCompact {
		return thrift.NewTCompactProtocolFactoryConf(nil)
	}
	return thrift.NewTBinaryProtocolFactoryConf(nil)
}

type handler struct{}

func (handler) Say(_ context.Context, message *benchthrift.BenchmarkMessage) (*benchthrift.BenchmarkMessage, error) {
	message.Field1, message.Field2 = benchmsg.AnswerText, benchmsg.Work()
	return message, nil
}

func serve(listener net.Listener, options program.ServeOptions) error {
	socket := thrift.NewTServerSocketFromFactoryTimeout(
		func(net.Addr) (net.Listener, error) { return listener, nil }, listener.Addr(), 0)
	processor := benchthrift.NewBenchServiceProcessor(handler{})
	return thrift.NewTSimpleServer4(processor, socket, buffering, protocol(options.Codec)).Serve()
}

// connection is a client and the lock under which its one call at a time is made.
type connection struct {
	mu     sync.Mutex
	client *benchthrift.BenchServiceClient
}

func bench(options program.BenchOptions) (load.Factory, error) {
	_, address := load.Network(options.Target)
	dial := func(int) (*connection, error) {
		socket := thrift.NewTSocketConf(address, nil)
		if err := socket.Open(); err != nil {
			return nil, err
		}
		transport, err := buffering.GetTransport(socket)
		if err != nil {
			return nil, err
		}
		client := benchthrift.NewBenchServiceClientFactory(transport, protocol(options.Codec))
		return &connection{client: client}, nil
	}
	return load.Spread(options.Options, true, dial, func(next func() *connection) (load.Call, error) {
		request := newMessage()
		return func() error {
			shared := next()
			shared.mu.Lock()
			answer, err := shared.client.Say(context.Background(), request)
			shared.mu.Unlock()
			if err != nil {
				return err
			}
			return benchmsg.CheckFields(answer.Field1, answer.Field2)
		}, nil
	})
}
