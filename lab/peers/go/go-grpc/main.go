// Go-grpc is grpc-go on its own server and client.
package main

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"strings"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/go/peer/services"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/codec"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

var peer = program.Peer{
	Name:    "go-grpc",
	Module:  "google.golang.org/grpc",
	Methods: []string{"Say", "Echo", "EchoStream", "Emit"},
	Codecs:  codec.Names,
	Tunable: true,
	Secure:  true,
	Cold:    true,
	Unix:    true,
	Several: true,
	Serve:   serve,
	Bench:   bench,
}

func main() { peer.Main() }

// The tuned settings: workers that are reused instead of a goroutine per stream,
// write buffers shared between connections, and fixed windows, which spare the
// pings that estimate the bandwidth.
const tunedWindow = 4 << 20

func serve(listener net.Listener, options program.ServeOptions) error {
	serverOptions := []grpc.ServerOption{grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage)}
	if options.Codec == load.CodecFast {
		serverOptions = append(serverOptions, grpc.ForceServerCodecV2(fastCodec{}))
	}
	if options.Tuned {
		serverOptions = append(serverOptions,
			grpc.NumStreamWorkers(uint32(runtime.NumCPU())),
			grpc.SharedWriteBuffer(true),
			grpc.InitialWindowSize(tunedWindow),
			grpc.InitialConnWindowSize(tunedWindow))
	}
	if options.TLS != nil {
		serverOptions = append(serverOptions, grpc.Creds(credentials.NewTLS(options.TLS)))
	}
	if options.Limit > 0 {
		serverOptions = append(serverOptions, grpc.UnaryInterceptor(limited(options.Limit)))
	}
	server := grpc.NewServer(serverOptions...)
	if benchmsg.HasStation() {
		benchv1.RegisterBenchServiceServer(server, services.Limited{})
	} else {
		benchv1.RegisterBenchServiceServer(server, services.Bench{})
	}
	examplev1.RegisterUserServiceServer(server, services.User{})
	return server.Serve(listener)
}

func bench(options program.BenchOptions) (load.Factory, error) {
	dialOptions := dialOptions(options)
	if options.ConnectionPerCall {
		return func(int) (load.Call, error) {
			return func() error { return coldCall(options, dialOptions) }, nil
		}, nil
	}
	dial := func(int) (benchv1.BenchServiceClient, error) {
		connection, err := dial(options.Target, dialOptions)
		return benchv1.NewBenchServiceClient(connection), err
	}
	return load.Spread(options.Options, true, dial, func(next clients) (load.Call, error) {
		return newCall(next, options)
	})
}

// coldCall makes a connection and a call. It ends with the answer: the end of the
// connection is not waited for.
func coldCall(options program.BenchOptions, dialOptions []grpc.DialOption) error {
	connection, err := dial(options.Target, dialOptions)
	if err != nil {
		return err
	}
	defer func() { go connection.Close() }()
	client := benchv1.NewBenchServiceClient(connection)
	call, err := newCall(func() benchv1.BenchServiceClient { return client }, options)
	if err != nil {
		return err
	}
	return call()
}

// maxMessage lets payloads be as large as Trunkcall takes them by default.
const maxMessage = 64 << 20

func dialOptions(options program.BenchOptions) []grpc.DialOption {
	calls := []grpc.CallOption{grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)}
	if options.Codec == load.CodecFast {
		calls = append(calls, grpc.ForceCodecV2(fastCodec{}))
	}
	security := insecure.NewCredentials()
	if options.TLS != nil {
		security = credentials.NewTLS(options.TLS)
	}
	dialOptions := []grpc.DialOption{
		grpc.WithDefaultCallOptions(calls...),
		grpc.WithTransportCredentials(security),
		grpc.WithNoProxy(),
	}
	if options.Tuned {
		dialOptions = append(dialOptions,
			grpc.WithSharedWriteBuffer(true),
			grpc.WithInitialWindowSize(tunedWindow),
			grpc.WithInitialConnWindowSize(tunedWindow))
	}
	if options.ServiceConfig != "" {
		dialOptions = append(dialOptions,
			grpc.WithDefaultServiceConfig(options.ServiceConfig),
			grpc.WithStatsHandler(attemptCounter{options.Attempts}))
	}
	return dialOptions
}

// dial makes a channel of one connection and waits until it stands.
func dial(target string, options []grpc.DialOption) (*grpc.ClientConn, error) {
	switch network, _ := load.Network(target); {
	case strings.Contains(target, ","):
		target, options = several(target, options)
	case network == "tcp":
		// One address and nothing to look up.
		target = "passthrough:///" + target
	}
	connection, err := grpc.NewClient(target, options...)
	if err != nil {
		return nil, err
	}
	connection.Connect()
	for state := connection.GetState(); state != connectivity.Ready; state = connection.GetState() {
		if state == connectivity.TransientFailure {
			// The state has no reason; a call that cannot be sent has.
			_, err := benchv1.NewBenchServiceClient(connection).Echo(context.Background(), &benchv1.Payload{})
			return nil, fmt.Errorf("cannot connect: %w", err)
		}
		connection.WaitForStateChange(context.Background(), state)
	}
	return connection, nil
}
