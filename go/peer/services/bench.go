package services

import (
	"context"
	"errors"
	"io"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Bench is the benchmark service; see spec/proto/bench/v1/bench.proto.
type Bench struct {
	benchv1.UnimplementedBenchServiceServer
}

func (Bench) Say(_ context.Context, message *benchv1.BenchmarkMessage) (*benchv1.BenchmarkMessage, error) {
	return benchmsg.Answer(message), nil
}

// Limited is the benchmark service at a server with --slots: Say waits, and may fail.
type Limited struct{ Bench }

func (l Limited) Say(ctx context.Context, message *benchv1.BenchmarkMessage) (*benchv1.BenchmarkMessage, error) {
	switch err := benchmsg.Station(ctx); {
	case errors.Is(err, benchmsg.ErrFailing):
		return nil, status.Error(codes.Unavailable, err.Error())
	case err != nil:
		return nil, status.FromContextError(err).Err()
	}
	return l.Bench.Say(ctx, message)
}

func (Bench) Echo(_ context.Context, payload *benchv1.Payload) (*benchv1.Payload, error) {
	return payload, nil
}

func (Bench) EchoStream(stream grpc.BidiStreamingServer[benchv1.Payload, benchv1.Payload]) error {
	return EchoAll(
		func(into *KeptPayload) error { return stream.RecvMsg(into) },
		func(payload *KeptPayload) error { return stream.Send(&payload.Payload) },
	)
}

// KeptPayload is a Payload that is received into the memory of the one before it,
// which a stream of large messages would else leave to the garbage collector.
type KeptPayload struct {
	benchv1.Payload
	memory []byte
}

// UnmarshalVT fills in the payload.
func (p *KeptPayload) UnmarshalVT(b []byte) error {
	p.Reset()
	p.Data = p.memory[:0]
	if err := p.Payload.UnmarshalVT(b); err != nil {
		return err
	}
	if len(p.Data) == 0 { // there, or not at all
		p.Reset()
		return p.Payload.UnmarshalVT(b)
	}
	p.memory = p.Data
	return nil
}

// EchoAll sends back what is received until there is no more. One message takes
// it all: it is encoded when send returns.
func EchoAll[Message any](receive func(into *Message) error, send func(*Message) error) error {
	message := new(Message)
	for {
		err := receive(message)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = send(message)
		}
		if err != nil {
			return err
		}
	}
}

// maxEmit bounds what a request can have made for it.
const maxEmit = 16 << 20

func (Bench) Emit(request *benchv1.EmitRequest, stream grpc.ServerStreamingServer[benchv1.Payload]) error {
	if request.GetSize() > maxEmit {
		return status.Errorf(codes.InvalidArgument, "size is %d: want at most %d", request.GetSize(), maxEmit)
	}
	payload := &benchv1.Payload{Data: benchmsg.Bytes(int(request.GetSize()))}
	for {
		if err := stream.Send(payload); err != nil {
			return err
		}
	}
}

func (Bench) GetDictionary(context.Context, *emptypb.Empty) (*benchv1.Dictionary, error) {
	return &benchv1.Dictionary{Entries: map[string]string{"a": "1", "b": "2", "c": "3"}}, nil
}

func (Bench) GetUser(_ context.Context, user *benchv1.UserModel) (*benchv1.UserModel, error) {
	return user, nil
}

func (Bench) GetUsers(_ context.Context, users *benchv1.UserModels) (*benchv1.UserModels, error) {
	return users, nil
}
