package main

import (
	"context"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/go/peer/services"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// clients names the client of each call; see load.Spread.
type clients = func() benchv1.BenchServiceClient

func newCall(next clients, options program.BenchOptions) (load.Call, error) {
	ctx := context.Background()
	switch options.Short {
	case "Say":
		request := benchmsg.New()
		return func() error {
			answer, err := next().Say(ctx, request)
			if err != nil {
				return err
			}
			return benchmsg.Check(answer)
		}, nil
	case "Echo":
		request := &benchv1.Payload{Data: benchmsg.Bytes(options.Size)}
		return func() error {
			answer, err := next().Echo(ctx, request)
			if err != nil {
				return err
			}
			return benchmsg.CheckBytes(answer.GetData(), request.GetData())
		}, nil
	case "Emit":
		return newEmit(ctx, next(), options.Size)
	default:
		return newStream(ctx, next(), options.Size)
	}
}

// newStream sends without pause from a goroutine of its own; each call takes one
// message of what comes back.
func newStream(ctx context.Context, client benchv1.BenchServiceClient, size int) (load.Call, error) {
	stream, err := client.EchoStream(ctx)
	if err != nil {
		return nil, err
	}
	request := &benchv1.Payload{Data: benchmsg.Bytes(size)}
	go func() {
		// What ends sending, ends receiving too, and is told there.
		for stream.Send(request) == nil {
		}
	}()
	return checkingFirst(stream, request.GetData()), nil
}

// newEmit has the server send without pause; each call takes one message.
func newEmit(ctx context.Context, client benchv1.BenchServiceClient, size int) (load.Call, error) {
	stream, err := client.Emit(ctx, &benchv1.EmitRequest{Size: proto.Uint32(uint32(size))})
	if err != nil {
		return nil, err
	}
	return checkingFirst(stream, benchmsg.Bytes(size)), nil
}

// checkingFirst receives a message, and checks it if it is the first.
func checkingFirst(stream grpc.ClientStream, want []byte) load.Call {
	checked := false
	answer := &services.KeptPayload{}
	return func() error {
		err := stream.RecvMsg(answer)
		if err == nil && !checked {
			checked, err = true, benchmsg.CheckBytes(answer.GetData(), want)
		}
		return err
	}
}
