package main

import (
	"bytes"
	"context"
	"fmt"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

// workload is the calls that bench makes.
type workload struct {
	method string // by its short name
	size   int    // of the payload
	stock  bool   // through the stock stubs instead of typed methods
}

// newCall is the call function of one caller. It checks each answer of a unary
// method, and the first of a stream.
//
// Unary calls have the background context, as in the programs of the lab's peers:
// one context for all callers would be what they contend for.
func (w *workload) newCall(ctx context.Context, client *trunkcall.Client) (load.Call, error) {
	switch w.method {
	case "Say":
		return w.newSay(context.Background(), client), nil
	case "Echo":
		return w.newEcho(context.Background(), client), nil
	case "calc/div":
		return newDiv(client), nil
	case "hello/say":
		return newHello(client), nil
	default:
		return w.newStream(ctx, client)
	}
}

func (w *workload) newSay(ctx context.Context, client *trunkcall.Client) load.Call {
	request := benchmsg.New()
	if w.stock {
		stub := stockClient(client)
		return func() error {
			answer, err := stub.Say(ctx, request)
			if err != nil {
				return err
			}
			return benchmsg.Check(answer)
		}
	}
	return func() error {
		answer, err := say.Call(ctx, client, request)
		if err != nil {
			return err
		}
		return benchmsg.Check(answer)
	}
}

func (w *workload) newEcho(ctx context.Context, client *trunkcall.Client) load.Call {
	request := newPayload(w.size)
	if w.stock {
		stub := stockClient(client)
		return func() error {
			answer, err := stub.Echo(ctx, request)
			if err != nil {
				return err
			}
			return checkPayload(answer, request)
		}
	}
	return func() error {
		answer, err := echo.Call(ctx, client, request)
		if err != nil {
			return err
		}
		return checkPayload(answer, request)
	}
}

// newAsync is the calls of one caller that nobody waits for.
func (w *workload) newAsync(client *trunkcall.Client) load.AsyncCall {
	ctx := context.Background()
	if w.method == "Say" {
		request := benchmsg.New()
		return func(ended func(error)) {
			say.CallFunc(ctx, client, request, func(answer *benchv1.BenchmarkMessage, err error) {
				if err == nil {
					err = benchmsg.Check(answer)
				}
				ended(err)
			})
		}
	}
	request := newPayload(w.size)
	return func(ended func(error)) {
		echo.CallFunc(ctx, client, request, func(answer *benchv1.Payload, err error) {
			if err == nil {
				err = checkPayload(answer, request)
			}
			ended(err)
		})
	}
}

// newStream sends without pause from a goroutine of its own, as far as flow
// control lets it; each call takes one message of what comes back.
func (w *workload) newStream(ctx context.Context, client *trunkcall.Client) (load.Call, error) {
	send, receive, err := w.openStream(ctx, client)
	if err != nil {
		return nil, err
	}
	request := newPayload(w.size)
	go func() {
		// What ends sending, ends receiving too, and is told there.
		for send(request) == nil {
		}
	}()
	checked := false
	return func() error {
		answer, err := receive()
		if err == nil && !checked {
			checked, err = true, checkPayload(answer, request)
		}
		return err
	}, nil
}

func (w *workload) openStream(ctx context.Context, client *trunkcall.Client) (
	send func(*benchv1.Payload) error, receive func() (*benchv1.Payload, error), err error,
) {
	if w.stock {
		stream, err := stockClient(client).EchoStream(ctx)
		if err != nil {
			return nil, nil, err
		}
		return stream.Send, stream.Recv, nil
	}
	stream, err := echoStream.Open(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	return stream.Send, stream.Receive, nil
}

func newPayload(size int) *benchv1.Payload {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i)
	}
	return &benchv1.Payload{Data: data}
}

func checkPayload(answer, request *benchv1.Payload) error {
	if !bytes.Equal(answer.GetData(), request.GetData()) {
		return fmt.Errorf("%d bytes came back that were not sent", len(answer.GetData()))
	}
	return nil
}
