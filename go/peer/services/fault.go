package services

import (
	"context"
	"errors"
	"io"
	"runtime"
	"time"

	faultv1 "github.com/trunkcall/trunkcall/go/gen/fault/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// Fault is the service whose handlers misbehave as they are asked to; see
// spec/proto/fault/v1/fault.proto.
type Fault struct {
	faultv1.UnimplementedFaultServiceServer
	// Running tells how many handlers run.
	Running func() int
}

func (Fault) Behave(ctx context.Context, request *faultv1.Behaviour) (*faultv1.Answer, error) {
	if err := behave(ctx, request); err != nil {
		return nil, err
	}
	return answer(request), nil
}

func (Fault) Pour(request *faultv1.Behaviour, stream grpc.ServerStreamingServer[faultv1.Answer]) error {
	if err := behave(stream.Context(), request); err != nil {
		return err
	}
	response := answer(request)
	for sent := uint32(0); request.GetAnswers() == 0 || sent < request.GetAnswers(); sent++ {
		if err := stream.Send(response); err != nil {
			return err
		}
	}
	return nil
}

func (Fault) Take(stream grpc.ClientStreamingServer[faultv1.Behaviour, faultv1.Answer]) error {
	response := &faultv1.Answer{}
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(response)
		}
		if err == nil {
			err = behave(stream.Context(), request)
		}
		if err != nil {
			return err
		}
		response.Requests++
		response.Bytes += uint64(len(request.GetPadding()))
	}
}

func (Fault) Exchange(stream grpc.BidiStreamingServer[faultv1.Behaviour, faultv1.Answer]) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = behave(stream.Context(), request)
		}
		if err == nil {
			err = stream.Send(answer(request))
		}
		if err != nil {
			return err
		}
	}
}

func (f Fault) ReadGauges(context.Context, *emptypb.Empty) (*faultv1.Gauges, error) {
	// Twice: what a pool holds is let go of by the second.
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return &faultv1.Gauges{
		Running:   uint64(f.Running()),
		Tasks:     uint64(runtime.NumGoroutine()),
		HeapBytes: memory.HeapAlloc,
	}, nil
}

func answer(request *faultv1.Behaviour) *faultv1.Answer {
	return &faultv1.Answer{
		Data: make([]byte, request.GetAnswerBytes()), Requests: 1, Bytes: uint64(len(request.GetPadding())),
	}
}

// behave works, waits, then panics or fails, as it is asked.
func behave(ctx context.Context, b *faultv1.Behaviour) error {
	work(time.Duration(b.GetWorkUs()) * time.Microsecond)
	if err := wait(ctx, time.Duration(b.GetWaitMs())*time.Millisecond, b.GetStubborn()); err != nil {
		return err
	}
	switch {
	case b.GetPanics():
		panic(b.GetMessage())
	case b.GetCode() != 0:
		return status.Error(codes.Code(b.GetCode()), b.GetMessage())
	}
	return nil
}

func work(d time.Duration) {
	for end := time.Now().Add(d); d > 0 && time.Now().Before(end); {
	}
}

func wait(ctx context.Context, d time.Duration, stubborn bool) error {
	switch {
	case d <= 0:
		return nil
	case stubborn:
		time.Sleep(d)
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
