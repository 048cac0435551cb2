package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/kitex/pkg/serviceinfo"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"google.golang.org/protobuf/proto"
)

// This file stands where kitex's generator would put its own: the description of
// the service, and the holders in which kitex carries arguments and results.

const (
	serviceName = "BenchService"
	methodName  = "Say"
)

type benchService interface {
	Say(ctx context.Context, message *benchv1.BenchmarkMessage) (*benchv1.BenchmarkMessage, error)
}

type handler struct{}

func (*handler) Say(_ context.Context, message *benchv1.BenchmarkMessage) (*benchv1.BenchmarkMessage, error) {
	return benchmsg.Answer(message), nil
}

func serviceInfo(codecName string) *serviceinfo.ServiceInfo {
	empty := func() any { return messages[codecName].empty() }
	say := func(ctx context.Context, service, argument, result any) error {
		answer, err := service.(benchService).Say(ctx, argument.(holder).get())
		if err == nil {
			result.(holder).SetSuccess(answer)
		}
		return err
	}
	return &serviceinfo.ServiceInfo{
		ServiceName:  serviceName,
		HandlerType:  (*benchService)(nil),
		PayloadCodec: serviceinfo.Protobuf,
		Methods: map[string]serviceinfo.MethodInfo{
			methodName: serviceinfo.NewMethodInfo(say, empty, empty, false, serviceinfo.WithStreamingMode(serviceinfo.StreamingUnary)),
		},
		Extra: map[string]any{serviceinfo.PackageName: "trunkcall.bench.v1"},
	}
}

// holder carries a message through kitex, as an argument or as a result. Marshal
// and Unmarshal are what kitex's Protobuf codec asks of every holder.
type holder interface {
	Marshal(out []byte) ([]byte, error)
	Unmarshal(data []byte) error
	GetFirstArgument() any
	GetResult() any
	SetSuccess(answer any)
	get() *benchv1.BenchmarkMessage
}

// messages makes holders, by the name of the codec.
var messages = map[string]struct {
	empty   func() holder
	holding func(*benchv1.BenchmarkMessage) holder
}{
	load.CodecFast: {
		empty:   func() holder { return &fast{} },
		holding: func(message *benchv1.BenchmarkMessage) holder { return &fast{held{message}} },
	},
	load.CodecStock: {
		empty:   func() holder { return &stock{} },
		holding: func(message *benchv1.BenchmarkMessage) holder { return &stock{held{message}} },
	},
}

type held struct {
	message *benchv1.BenchmarkMessage
}

func (h *held) GetFirstArgument() any          { return h.message }
func (h *held) GetResult() any                 { return h.message }
func (h *held) SetSuccess(answer any)          { h.message, _ = answer.(*benchv1.BenchmarkMessage) }
func (h *held) get() *benchv1.BenchmarkMessage { return h.message }

// stock uses the reflective code.
type stock struct{ held }

func (s *stock) Marshal(out []byte) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(out, s.message)
}

func (s *stock) Unmarshal(data []byte) error {
	s.message = &benchv1.BenchmarkMessage{}
	return proto.Unmarshal(data, s.message)
}

// fast uses the generated code. Size and FastWrite make kitex's codec have it
// write straight into the connection's buffer.
type fast struct{ held }

func (f *fast) Size() int { return f.message.SizeVT() }

// FastWrite cannot report an error; a message that cannot be encoded is a mistake
// in the benchmark.
func (f *fast) FastWrite(buffer []byte) int {
	n, err := f.message.MarshalToSizedBufferVT(buffer)
	if err != nil {
		panic(fmt.Sprintf("the message cannot be encoded: %v", err))
	}
	return n
}

func (f *fast) Marshal(out []byte) ([]byte, error) {
	data, err := f.message.MarshalVT()
	return append(out, data...), err
}

func (f *fast) Unmarshal(data []byte) error {
	f.message = &benchv1.BenchmarkMessage{}
	return f.message.UnmarshalVT(data)
}
