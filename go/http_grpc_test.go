package trunkcall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	stockgzip "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// What spec/http.md 3 maps to what, seen by stock gRPC clients.

func TestAStockGRPCClientCallsEveryKindEverywhere(t *testing.T) {
	for _, p := range places(t) {
		if p.name == "memory" {
			continue // a stock client cannot get there
		}
		t.Run(p.name, func(t *testing.T) {
			_, target := start(t, p.where, p.server, standard()...)
			var options []grpc.DialOption
			if p.tls != nil {
				options = append(options, secured(p.tls))
			}
			c := stock(t, target, options...)
			for _, size := range []int{0, 5, 100_000, 5 << 20} {
				if out, err := stockEcho(soon(t), c, "/test.Service/Echo", noise(size)); err != nil || len(out.Data) != size {
					t.Fatalf("echo of %d bytes: %d, %v", size, len(out.Data), err)
				}
			}
			s := stockStream(t, c, "/test.Service/Produce")
			sends(t, s, text("abc"))
			_ = s.CloseSend()
			wantsAnswers(t, s, "a", "b", "c")
			s = stockStream(t, c, "/test.Service/Collect")
			sends(t, s, text("x"), text("y"))
			_ = s.CloseSend()
			wantsAnswers(t, s, "xy")
			s = stockStream(t, c, "/test.Service/Chat")
			for _, word := range []string{"one", "two"} {
				sends(t, s, text(word))
				if m := (&payload{}); s.RecvMsg(m) != nil || string(m.Data) != word {
					t.Fatalf("chat: %q", m.Data)
				}
			}
			_ = s.CloseSend()
			wantsAnswers(t, s)
		})
	}
}

func wantsAnswers(t testing.TB, s grpc.ClientStream, want ...string) {
	t.Helper()
	all, err := answersTo(s)
	if err != nil || strings.Join(all, ",") != strings.Join(want, ",") {
		t.Fatalf("got %q, %v, want %q", all, err, want)
	}
}

func TestMetadataAndPeerOverGRPC(t *testing.T) {
	var seen trunkcall.Metadata
	var who trunkcall.Peer
	_, c := joinStock(t, nil, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		call := trunkcall.CallFromContext(ctx)
		seen, who = call.Metadata, call.Peer()
		err := errors.Join(
			call.SetHeader(trunkcall.Metadata{{Key: "h", Value: "1"}, {Key: "h-bin", Value: "\x00\xff"}}),
			call.SetTrailer(trunkcall.Metadata{{Key: "t", Value: "2"}, {Key: "t", Value: "3"}}))
		return in, err
	}))
	ctx := metadata.AppendToOutgoingContext(soon(t), "k", "v", "k", "w", "k-bin", "\x01\xfe")
	var header, trailer metadata.MD
	if _, err := stockEcho(ctx, c, "/test.Service/Block", text(""), grpc.Header(&header), grpc.Trailer(&trailer)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(seen.Values("k")) != "[v w]" || seen.Get("k-bin") != "\x01\xfe" || seen.Get("content-type")+seen.Get("te") != "" {
		t.Errorf("the handler saw %q", seen)
	}
	if who.Remote == nil || who.Local == nil || who.TLS != nil {
		t.Errorf("peer %v", who)
	}
	if fmt.Sprint(header.Get("h"), trailer.Get("t")) != "[1] [2 3]" || header.Get("h-bin")[0] != "\x00\xff" {
		t.Errorf("header %v, trailer %v", header, trailer)
	}
	large := metadata.AppendToOutgoingContext(soon(t), "k", strings.Repeat("x", 17<<10))
	_, err := stockEcho(large, c, "/test.Service/Block", text(""))
	wantsCode(t, err, codes.ResourceExhausted, "max_metadata_bytes 16384")
}

func TestAHeaderCanGoAheadOverGRPC(t *testing.T) {
	goOn := make(chan struct{})
	_, c := joinStock(t, nil, trunkcall.ServerStream[payload, payload]("/test.Service/Slow").Handler(
		func(ctx context.Context, _ *payload, out *trunkcall.Sender[payload]) error {
			call := trunkcall.CallFromContext(ctx)
			if err := call.SendHeader(trunkcall.Metadata{{Key: "early", Value: "yes"}}); err != nil {
				return err
			}
			<-goOn
			if call.SetHeader(trunkcall.Metadata{{Key: "late", Value: "yes"}}) == nil {
				return errors.New("a header was set after it had gone")
			}
			return out.Send(text("done"))
		}))
	s := stockStream(t, c, "/test.Service/Slow")
	sends(t, s, text(""))
	_ = s.CloseSend()
	header, err := s.Header()
	if err != nil || header.Get("early")[0] != "yes" {
		t.Fatal(header, err)
	}
	close(goOn)
	wantsAnswers(t, s, "done")
}

func TestStatusesAndDeliveryOverGRPC(t *testing.T) {
	_, c := joinStock(t, nil,
		block.Handler(func(context.Context, *payload) (*payload, error) {
			return nil, trunkcall.Status{Code: trunkcall.FailedPrecondition, Message: " 100 % größer\n"}.
				WithDetails(&errdetails.ErrorInfo{Reason: "because"}).Err()
		}),
		trunkcall.Unary[payload, payload]("/test.Service/Panic").Handler(func(context.Context, *payload) (*payload, error) {
			panic("a secret")
		}))
	var trailer metadata.MD
	_, err := stockEcho(soon(t), c, "/test.Service/Block", text(""), grpc.Trailer(&trailer))
	s := wantsCodeOnly(t, err, codes.FailedPrecondition)
	if info, ok := s.Details()[0].(*errdetails.ErrorInfo); !ok || info.GetReason() != "because" || s.Message() != " 100 % größer\n" {
		t.Error(s.Message(), s.Details())
	}
	if len(trailer.Get("trunk-delivery")) != 0 {
		t.Error("the handler has answered, and yet", trailer)
	}
	_, err = stockEcho(soon(t), c, "/test.Service/None", text(""), grpc.Trailer(&trailer))
	wantsCode(t, err, codes.Unimplemented, "/test.Service/None is not served by this server")
	wantsDelivery(t, trailer, "refused")
	_, err = stockEcho(soon(t), c, "/test.Service/Panic", text(""))
	if s := wantsCode(t, err, codes.Internal, "panicked"); strings.Contains(s.Message(), "secret") {
		t.Error(s)
	}
}

func wantsDelivery(t testing.TB, trailer metadata.MD, want string) {
	t.Helper()
	if got := strings.Join(trailer.Get("trunk-delivery"), ","); got != want {
		t.Fatalf("delivery %q, want %q", got, want)
	}
}

func TestAnUndecodableRequestIsRefusedOverGRPC(t *testing.T) {
	_, c := joinStock(t, nil)
	var trailer metadata.MD
	err := c.Invoke(soon(t), "/test.Service/Echo", []byte{0xff}, &payload{}, grpc.ForceCodec(bytesCodec("proto")), grpc.Trailer(&trailer))
	wantsCode(t, err, codes.InvalidArgument, "not a valid protobuf message")
	wantsDelivery(t, trailer, "refused")
}

func TestDeadlineAndCancellationReachHandlersOverGRPC(t *testing.T) {
	g := newGate(t)
	s, c := joinStock(t, nil, g.handler())
	runsOut(t, func(d time.Duration) bool {
		ctx, cancel := within(d)
		defer cancel()
		_, err := stockEcho(ctx, c, "/test.Service/Block", text(""))
		wantsCodeOnly(t, err, codes.DeadlineExceeded)
		return !begins(t, ctx, g.entered, s.Running, func(ctx context.Context) { _, _ = stockEcho(ctx, c, "/test.Service/Echo", text("")) })
	})
	handlers := g.await(t)
	if _, ok := handlers.Deadline(); !ok {
		t.Error("the handler was not told of the deadline")
	}
	ends(t, handlers)
	if s.Running() != 1 {
		t.Error("a handler that outlives its call does not count")
	}

	ctx, cancel := context.WithCancel(soon(t))
	failed := make(chan error, 1)
	go func() {
		_, err := stockEcho(ctx, c, "/test.Service/Block", text(""))
		failed <- err
	}()
	handlers = g.await(t)
	cancel()
	wantsCodeOnly(t, receive(t, failed, "end of the call"), codes.Canceled)
	ends(t, handlers)
	if !errors.Is(handlers.Err(), context.Canceled) {
		t.Error(handlers.Err())
	}
	g.open()
	eventually(t, "no handler runs", func() bool { return s.Running() == 0 })
}

func TestInterceptorsRunOverGRPC(t *testing.T) {
	var kinds []string
	_, c := joinStock(t, serverOptions{trunkcall.WithInterceptors(
		func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
			kinds = append(kinds, call.Method.Kind.String()+" "+call.Metadata.Get("k"))
			err := next(ctx, call)
			call.Trailer.Add("seen", "yes")
			return err
		})})
	ctx := metadata.AppendToOutgoingContext(soon(t), "k", "v")
	var trailer metadata.MD
	if _, err := stockEcho(ctx, c, "/test.Service/Echo", text(""), grpc.Trailer(&trailer)); err != nil {
		t.Fatal(err)
	}
	s := stockStream(t, c, "/test.Service/Chat")
	_ = s.CloseSend()
	wantsAnswers(t, s)
	if strings.Join(kinds, ",") != "unary v,bidi-streaming " || trailer.Get("seen")[0] != "yes" || s.Trailer().Get("seen")[0] != "yes" {
		t.Fatal(kinds, trailer, s.Trailer())
	}
}

func TestCompressionOverGRPC(t *testing.T) {
	gzip := &spy{Compression: trunkcall.Gzip}
	_, c := joinStock(t, serverOptions{trunkcall.WithDecompression(gzip)})
	zipped := grpc.UseCompressor(stockgzip.Name)
	if out, err := stockEcho(soon(t), c, "/test.Service/Echo", wordy(20_000), zipped); err != nil || len(out.Data) != 20_000 {
		t.Fatal(err)
	}
	gzip.wants(t, "the server", 1, 1)
	s := stockStream(t, c, "/test.Service/Chat", zipped)
	sends(t, s, wordy(5000), text("short"))
	_ = s.CloseSend()
	wantsAnswers(t, s, string(wordy(5000).Data), "short")
	gzip.wants(t, "the server", 2, 3)
	if _, err := stockEcho(soon(t), c, "/test.Service/Echo", wordy(20_000)); err != nil {
		t.Fatal(err)
	}
	gzip.wants(t, "the server", 2, 3)

	encoding.RegisterCompressor(fakeZstd{})
	_, err := stockEcho(soon(t), c, "/test.Service/Echo", wordy(20_000), grpc.UseCompressor("zstd"))
	wantsCode(t, err, codes.Unimplemented, "zstd", "identity,gzip")

	limits := trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 1 << 20})
	_, c = joinStock(t, serverOptions{trunkcall.WithCompression(trunkcall.Zstd), limits})
	var header metadata.MD
	if out, err := stockEcho(soon(t), c, "/test.Service/Echo", wordy(20_000), grpc.Header(&header)); err != nil || len(out.Data) != 20_000 {
		t.Fatal("a server that likes to compress:", err)
	}
	_, err = stockEcho(soon(t), c, "/test.Service/Echo", &payload{Data: make([]byte, 1<<20)}, zipped)
	wantsCode(t, err, codes.ResourceExhausted, "max_message 1048576 when decompressed")
}

// fakeZstd is Trunkcall's own zstd as a stock client's.
type fakeZstd struct{}

func (fakeZstd) Name() string { return "zstd" }

func (fakeZstd) Compress(w io.Writer) (io.WriteCloser, error) { return &zstdWriter{to: w}, nil }

func (fakeZstd) Decompress(r io.Reader) (io.Reader, error) {
	packed, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	plain, err := trunkcall.Zstd.Decompress(nil, packed, 64<<20)
	return bytes.NewReader(plain), err
}

type zstdWriter struct {
	bytes.Buffer
	to io.Writer
}

func (z *zstdWriter) Close() error {
	packed, err := trunkcall.Zstd.Compress(nil, z.Bytes())
	if err == nil {
		_, err = z.to.Write(packed)
	}
	return err
}

// bytesCodec sends bytes as they are, under some name.
type bytesCodec string

func (c bytesCodec) Name() string { return string(c) }

func (bytesCodec) Marshal(v any) ([]byte, error) {
	if b, ok := v.([]byte); ok {
		return b, nil
	}
	return nil, errors.New("not bytes")
}

func (bytesCodec) Unmarshal(data []byte, v any) error {
	if to, ok := v.(*[]byte); ok {
		*to = bytes.Clone(data)
	}
	return nil
}

func TestCodecsOverGRPC(t *testing.T) {
	s, c := joinStock(t, serverOptions{trunkcall.WithCodecs(named(9, "mine"))})
	if err := codefirst.RegisterFunc(s, "/calc/div", func(a, b int) (int, int) { return a / b, a % b }); err != nil {
		t.Fatal(err)
	}
	ask := func(codec, method, request string) (string, error) {
		var out []byte
		err := c.Invoke(soon(t), method, []byte(request), &out, grpc.ForceCodec(bytesCodec(codec)))
		return string(out), err
	}
	if out, err := ask("json", "/calc/div", "[7,2]"); err != nil || out != "[3,1]" {
		t.Error(out, err)
	}
	if out, err := ask("json", "/test.Service/Echo", `{"data":"YWJj"}`); err != nil || !json.Valid([]byte(out)) || !strings.Contains(out, "YWJj") {
		t.Error(out, err)
	}
	if _, err := ask("mine", "/test.Service/Echo", ""); err != nil {
		t.Error(err)
	}
	_, err := ask("thrift", "/test.Service/Echo", "")
	wantsCode(t, err, codes.Unimplemented, `codec "thrift" is not known here`, "protobuf", "mine")
	_, err = ask("proto", "/calc/div", "")
	wantsCode(t, err, codes.Unimplemented, "cannot carry the arguments of /calc/div")
}
