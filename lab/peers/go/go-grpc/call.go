package main

import (
	"bytes"
	"context"
	"fmt"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/go/peer/services"
	"github.com/trunkcall/trunkcall/lab/peers/go/internal/program"
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
		request := &benchv1.Payload{Data: payload(options.Size)}
		return func() error {
			answer, err := next().Echo(ctx, request)
			if err != nil {
				return err
			}
			return check(answer, request)
		}, nil
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
	request := &benchv1.Payload{Data: payload(size)}
	go func() {
		// What ends sending, ends receiving too, and is told there.
		for stream.Send(request) == nil {
		}
	}()
	checked := false
	answer := &services.KeptPayload{}
	return func() error {
		err := stream.RecvMsg(answer)
		if err == nil && !checked {
			checked, err = true, check(&answer.Payload, request)
		}
		return err
	}, nil
}

func payload(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i)
	}
	return data
}

func check(answer, request *benchv1.Payload) error {
	if !bytes.Equal(answer.GetData(), request.GetData()) {
		return fmt.Errorf("%d bytes came back that were not sent", len(answer.GetData()))
	}
	return nil
}
