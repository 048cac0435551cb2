package peer

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// workload is the calls that bench makes.
type workload struct {
	method string // by its short name
	size   int    // of the payload
	stock  bool   // through the stock stubs instead of typed methods
	raw    bool   // with messages that are bytes; Echo and EchoStream only
}

// calling is a client, with its stock stub.
type calling struct {
	*trunkcall.Client
	stub benchv1.BenchServiceClient
}

func newCalling(client *trunkcall.Client) *calling { return &calling{client, stockClient(client)} }

// clients names the client of each call; see load.Spread.
type clients = func() *calling

// newCall is the call function of one caller. It checks each answer of a unary
// method, and the first of a stream.
//
// Unary calls have the background context, as in the programs of the lab's peers:
// a context that can be cancelled, shared by all callers, would have them contend for its lock.
func (w *workload) newCall(ctx context.Context, next clients) (load.Call, error) {
	switch w.method {
	case "Say":
		return unaryCall(w, next, say, benchv1.BenchServiceClient.Say, benchmsg.New(), benchmsg.Check), nil
	case "GetDictionary":
		return unaryCall(w, next, getDictionary, benchv1.BenchServiceClient.GetDictionary, &emptypb.Empty{}, checkDictionary), nil
	case "GetUser":
		request := newUser(1)
		return unaryCall(w, next, getUserModel, benchv1.BenchServiceClient.GetUser, request, same(request)), nil
	case "GetUsers":
		request := &benchv1.UserModels{}
		for i := range usersAtOnce {
			request.Users = append(request.Users, newUser(i+1))
		}
		return unaryCall(w, next, getUserModels, benchv1.BenchServiceClient.GetUsers, request, same(request)), nil
	case "Echo":
		return w.newEcho(next), nil
	case "calc/div":
		return newDiv(next().Client), nil
	case "hello/say":
		return newHello(next().Client), nil
	case "Emit":
		return w.newEmit(ctx, next().Client)
	default:
		return w.newStream(ctx, next().Client)
	}
}

// unaryCall calls a method with the same request each time.
func unaryCall[Req, Resp any](
	w *workload, next clients, method trunkcall.UnaryMethod[Req, Resp],
	stub func(benchv1.BenchServiceClient, context.Context, *Req, ...grpc.CallOption) (*Resp, error), request *Req, check func(*Resp) error,
) load.Call {
	ctx := context.Background()
	if w.stock {
		return func() error {
			answer, err := stub(next().stub, ctx, request)
			if err != nil {
				return err
			}
			return check(answer)
		}
	}
	return func() error {
		answer, err := method.Call(ctx, next().Client, request)
		if err != nil {
			return err
		}
		return check(answer)
	}
}

func (w *workload) newEcho(next clients) load.Call {
	request := newPayload(w.size)
	if w.raw {
		return unaryCall(w, next, echoBytes, nil, &request.Data, func(answer *[]byte) error {
			return benchmsg.CheckBytes(*answer, request.Data)
		})
	}
	return unaryCall(w, next, echo, benchv1.BenchServiceClient.Echo, request, func(answer *benchv1.Payload) error {
		return benchmsg.CheckBytes(answer.GetData(), request.GetData())
	})
}

// newAsync is the calls of one caller that nobody waits for.
func (w *workload) newAsync(client *trunkcall.Client) load.AsyncCall {
	ctx := context.Background()
	switch w.method {
	case "calc/div":
		return newAsyncDiv(client)
	case "hello/say":
		return newAsyncHello(client)
	case "Say":
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
				err = benchmsg.CheckBytes(answer.GetData(), request.GetData())
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
		// The receiver meets the same failure and reports it.
		for send(request) == nil {
		}
	}()
	return checkingFirst(receive, request.GetData()), nil
}

func (w *workload) openStream(ctx context.Context, client *trunkcall.Client) (
	send func(*benchv1.Payload) error, receive func() ([]byte, error), err error,
) {
	switch {
	case w.stock:
		stream, err := stockClient(client).EchoStream(ctx)
		if err != nil {
			return nil, nil, err
		}
		return stream.Send, dataOf(func(into *services.KeptPayload) error { return stream.RecvMsg(into) }), nil
	case w.raw:
		stream, err := echoStreamBytes.Open(ctx, client)
		if err != nil {
			return nil, nil, err
		}
		var answer []byte
		return func(payload *benchv1.Payload) error { return stream.Send(&payload.Data) }, func() ([]byte, error) {
			err := stream.ReceiveInto(&answer)
			return answer, err
		}, nil
	}
	stream, err := echoStream.Open(ctx, client)
	if err != nil {
		return nil, nil, err
	}
	return stream.Send, dataOf(stream.ReceiveInto), nil
}

// dataOf receives each answer into the same message, so that none is allocated.
func dataOf(receive func(into *services.KeptPayload) error) func() ([]byte, error) {
	answer := &services.KeptPayload{}
	return func() ([]byte, error) {
		err := receive(answer)
		return answer.GetData(), err
	}
}

// newEmit has the server send without pause; each call takes one message.
func (w *workload) newEmit(ctx context.Context, client *trunkcall.Client) (load.Call, error) {
	request := &benchv1.EmitRequest{Size: proto.Uint32(uint32(w.size))}
	var receive func(*services.KeptPayload) error
	if w.stock {
		stream, err := stockClient(client).Emit(ctx, request)
		if err != nil {
			return nil, err
		}
		receive = func(into *services.KeptPayload) error { return stream.RecvMsg(into) }
	} else {
		stream, err := emit.Call(ctx, client, request)
		if err != nil {
			return nil, err
		}
		receive = stream.ReceiveInto
	}
	return checkingFirst(dataOf(receive), benchmsg.Bytes(w.size)), nil
}

// checkingFirst receives a message, and checks it if it is the first.
func checkingFirst(receive func() ([]byte, error), want []byte) load.Call {
	checked := false
	return func() error {
		answer, err := receive()
		if err == nil && !checked {
			checked, err = true, benchmsg.CheckBytes(answer, want)
		}
		return err
	}
}

func newPayload(size int) *benchv1.Payload { return &benchv1.Payload{Data: benchmsg.Bytes(size)} }

// usersAtOnce is how many records GetUsers moves.
const usersAtOnce = 100

func newUser(n int) *benchv1.UserModel {
	return &benchv1.UserModel{
		UserId: proto.Int64(int64(n)), Name: proto.String(fmt.Sprintf("user-%d", n)), Age: proto.Int32(int32(20 + n%60)),
	}
}

func checkDictionary(answer *benchv1.Dictionary) error {
	if len(answer.GetEntries()) != 3 || answer.GetEntries()["c"] != "3" {
		return fmt.Errorf("another dictionary came: %v", answer.GetEntries())
	}
	return nil
}

// sized is what generated code knows of a message without decoding it.
type sized interface{ SizeVT() int }

// same checks an answer by its encoded length alone: comparing whole messages would
// take more time than the call that is measured.
func same[M sized](request M) func(M) error {
	size := request.SizeVT()
	return func(answer M) error {
		if answer.SizeVT() != size {
			return fmt.Errorf("a message of %d bytes came back for one of %d", answer.SizeVT(), size)
		}
		return nil
	}
}
