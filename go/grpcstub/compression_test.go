package grpcstub_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // stock clients accept it then
	"google.golang.org/grpc/stats"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// choosing is a service whose handlers do something first.
type choosing struct {
	services.Bench
	first func(context.Context) error
}

func (s choosing) Echo(ctx context.Context, in *benchv1.Payload) (*benchv1.Payload, error) {
	if err := s.first(ctx); err != nil {
		return nil, err
	}
	return in, nil
}

func (s choosing) EchoStream(stream grpc.BidiStreamingServer[benchv1.Payload, benchv1.Payload]) error {
	if err := s.first(stream.Context()); err != nil {
		return err
	}
	in, err := stream.Recv()
	if err != nil {
		return err
	}
	return stream.Send(in)
}

// compressedAnswers counts what a stock client receives compressed.
type compressedAnswers struct{ n atomic.Int64 }

func (*compressedAnswers) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return ctx
}
func (*compressedAnswers) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return ctx
}
func (*compressedAnswers) HandleConn(context.Context, stats.ConnStats) {}
func (c *compressedAnswers) HandleRPC(_ context.Context, s stats.RPCStats) {
	if in, ok := s.(*stats.InPayload); ok && in.CompressedLength < in.Length {
		c.n.Add(1)
	}
}

// bothWays runs a test with stubs over a native connection and with a stock client over gRPC;
// compressed tells how many answers came compressed, accepted what the client accepts.
func bothWays(t *testing.T, first func(context.Context) error, test func(t *testing.T, c benchv1.BenchServiceClient, compressed func() int64, accepted []string)) {
	server := newServer(t)
	benchv1.RegisterBenchServiceServer(grpcstub.Registrar(server), choosing{first: first})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	t.Run("native", func(t *testing.T) {
		var n atomic.Int64
		client, err := trunkcall.Dial(soon(t), addr.String(), trunkcall.WithDecompression(counted{trunkcall.Gzip, &n}, counted{trunkcall.Zstd, &n}))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		test(t, benchv1.NewBenchServiceClient(grpcstub.Conn(client)), n.Load, []string{"gzip", "zstd"})
	})
	t.Run("gRPC", func(t *testing.T) {
		var n compressedAnswers
		client, err := grpc.NewClient("passthrough:///"+addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(&n))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		test(t, benchv1.NewBenchServiceClient(client), n.n.Load, []string{"gzip"})
	})
}

// echoes makes a call of each kind.
func echoes(t *testing.T, c benchv1.BenchServiceClient) []error {
	in := &benchv1.Payload{Data: make([]byte, 10_000)}
	_, err := c.Echo(soon(t), in)
	stream, opened := c.EchoStream(soon(t))
	if opened != nil {
		t.Fatal(opened)
	}
	if err := stream.Send(in); err != nil && !errors.Is(err, io.EOF) { // it may have ended already
		t.Fatal(err)
	}
	_, streamed := stream.Recv()
	_ = stream.CloseSend()
	return []error{err, streamed}
}

func TestHandlersChooseTheCompressorOfTheirAnswers(t *testing.T) {
	var name atomic.Value
	set := func(ctx context.Context) error { return grpcstub.SetSendCompressor(ctx, name.Load().(string)) }
	bothWays(t, set, func(t *testing.T, c benchv1.BenchServiceClient, compressed func() int64, accepted []string) {
		before := compressed()
		for _, one := range accepted {
			name.Store(one)
			for _, err := range echoes(t, c) {
				if err != nil {
					t.Error(one, err)
				}
			}
			if n := compressed() - before; n != 2 {
				t.Errorf("%s: %d answers came compressed", one, n)
			}
			before = compressed()
		}
		name.Store("lz4")
		for _, err := range echoes(t, c) {
			if err == nil || !strings.Contains(err.Error(), `compressor not registered "lz4"`) {
				t.Error(err)
			}
		}
		if !slices.Contains(accepted, "zstd") {
			name.Store("zstd")
			for _, err := range echoes(t, c) {
				if err == nil || !strings.Contains(err.Error(), `client does not support compressor "zstd"`) {
					t.Error(err)
				}
			}
		}
	})
}

func TestHandlersChooseToAnswerPlain(t *testing.T) {
	plain := func(ctx context.Context) error { return grpcstub.SetSendCompressor(ctx, "identity") }
	bothWays(t, plain, func(t *testing.T, c benchv1.BenchServiceClient, compressed func() int64, _ []string) {
		in := &benchv1.Payload{Data: make([]byte, 10_000)}
		if _, err := c.Echo(soon(t), in, grpc.UseCompressor("gzip")); err != nil {
			t.Fatal(err)
		}
		if n := compressed(); n > 0 {
			t.Errorf("%d answers came compressed", n)
		}
	})
}

func TestHandlersAreToldWhatTheirClientAccepts(t *testing.T) {
	told := make(chan []string, 2)
	ask := func(ctx context.Context) error {
		names, err := grpcstub.ClientSupportedCompressors(ctx)
		told <- names
		return err
	}
	bothWays(t, ask, func(t *testing.T, c benchv1.BenchServiceClient, _ func() int64, accepted []string) {
		for _, err := range echoes(t, c) {
			if names := <-told; err != nil || !slices.Equal(names, accepted) {
				t.Error(names, err)
			}
		}
	})
}

func TestACompressorIsNotChosenOnceTheAnswerHasBegun(t *testing.T) {
	late := func(ctx context.Context) error {
		if err := grpc.SendHeader(ctx, nil); err != nil {
			return err
		}
		return grpcstub.SetSendCompressor(ctx, "gzip")
	}
	bothWays(t, late, func(t *testing.T, c benchv1.BenchServiceClient, _ func() int64, _ []string) {
		for _, err := range echoes(t, c) {
			if err == nil || !strings.Contains(err.Error(), "the answer has begun") {
				t.Error(err)
			}
		}
	})
}

func TestACompressorIsChosenInAHandlerOnly(t *testing.T) {
	if err := grpcstub.SetSendCompressor(t.Context(), "gzip"); err == nil {
		t.Error("set")
	}
	if names, err := grpcstub.ClientSupportedCompressors(t.Context()); err == nil {
		t.Error(names)
	}
}
