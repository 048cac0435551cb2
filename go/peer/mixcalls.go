package peer

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/trunkcall/trunkcall/go"
	faultv1 "github.com/trunkcall/trunkcall/go/gen/fault/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
)

// The methods of FaultService that bench calls.
var (
	behave   = trunkcall.Unary[faultv1.Behaviour, faultv1.Answer](faultv1.FaultService_Behave_FullMethodName)
	pour     = trunkcall.ServerStream[faultv1.Behaviour, faultv1.Answer](faultv1.FaultService_Pour_FullMethodName)
	take     = trunkcall.ClientStream[faultv1.Behaviour, faultv1.Answer](faultv1.FaultService_Take_FullMethodName)
	exchange = trunkcall.Bidi[faultv1.Behaviour, faultv1.Answer](faultv1.FaultService_Exchange_FullMethodName)
)

// mixedCall is a call that a mix can hold: a method, and all that happens
// between its begin and its end.
type mixedCall struct {
	name string
	run  func(context.Context, *trunkcall.Client, *mix) error
}

// mixedCalls are the calls by the short names of their methods.
var mixedCalls = map[string]mixedCall{
	"Say":      {"/trunkcall.bench.v1.BenchService/Say", runSay},
	"Echo":     {"/trunkcall.bench.v1.BenchService/Echo", runEcho},
	"Behave":   {faultv1.FaultService_Behave_FullMethodName, runBehave},
	"Pour":     {faultv1.FaultService_Pour_FullMethodName, runPour},
	"Take":     {faultv1.FaultService_Take_FullMethodName, runTake},
	"Exchange": {faultv1.FaultService_Exchange_FullMethodName, runExchange},
}

func mixMethods() []string {
	names := make([]string, 0, len(mixedCalls))
	for name := range mixedCalls {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// streamed is how many requests a call of Take or Exchange has.
const streamed = 3

func runSay(ctx context.Context, client *trunkcall.Client, _ *mix) error {
	answer, err := say.Call(ctx, client, benchmsg.New())
	if err != nil {
		return err
	}
	return benchmsg.Check(answer)
}

func runEcho(ctx context.Context, client *trunkcall.Client, m *mix) error {
	request := newPayload(m.size)
	answer, err := echo.Call(ctx, client, request)
	if err != nil {
		return err
	}
	return benchmsg.CheckBytes(answer.GetData(), request.GetData())
}

func runBehave(ctx context.Context, client *trunkcall.Client, m *mix) error {
	_, err := behave.Call(ctx, client, m.request)
	return err
}

func runPour(ctx context.Context, client *trunkcall.Client, m *mix) error {
	stream, err := pour.Call(ctx, client, m.request)
	if err != nil {
		return err
	}
	return drained(stream)
}

func runTake(ctx context.Context, client *trunkcall.Client, m *mix) error {
	stream, err := take.Open(ctx, client)
	if err != nil {
		return err
	}
	for range streamed {
		if err := stream.Send(m.request); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	answer, err := stream.CloseAndReceive()
	if err == nil && answer.GetRequests() != streamed {
		err = trunkcall.Errorf(trunkcall.DataLoss, "%d requests arrived of %d", answer.GetRequests(), streamed)
	}
	return err
}

func runExchange(ctx context.Context, client *trunkcall.Client, m *mix) error {
	stream, err := exchange.Open(ctx, client)
	if err != nil {
		return err
	}
	for range streamed {
		if err := stream.Send(m.request); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if _, err := stream.Receive(); errors.Is(err, io.EOF) {
			return trunkcall.Errorf(trunkcall.DataLoss, "the call ended before all was answered")
		} else if err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return drained(&stream.Receiver)
}

// drained receives to the end, and returns how the call ended.
func drained(stream *trunkcall.Receiver[faultv1.Answer]) error {
	for {
		if _, err := stream.Receive(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
