package trunkcall_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
)

// stock returns a stock gRPC client of a server.
func stock(t testing.TB, target string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	if !strings.HasPrefix(target, "unix:") {
		target = "passthrough:///" + target
	}
	options = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(65 << 20)),
	}, options...)
	c, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func secured(config *tls.Config) grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(config))
}

// stockEcho calls a unary method that answers with a payload.
func stockEcho(ctx context.Context, c *grpc.ClientConn, method string, in *payload, options ...grpc.CallOption) (*payload, error) {
	out := &payload{}
	return out, c.Invoke(ctx, method, in, out, options...)
}

func stockStream(t testing.TB, c *grpc.ClientConn, method string, options ...grpc.CallOption) grpc.ClientStream {
	t.Helper()
	s, err := c.NewStream(soon(t), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sends(t testing.TB, s grpc.ClientStream, messages ...*payload) {
	t.Helper()
	for _, m := range messages {
		if err := s.SendMsg(m); err != nil {
			t.Fatal(err)
		}
	}
}

// answersTo receives all messages of a stream.
func answersTo(s grpc.ClientStream) (all []string, err error) {
	for {
		m := &payload{}
		if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		all = append(all, string(m.Data))
	}
}

func wantsCodeOnly(t testing.TB, err error, code codes.Code) *status.Status {
	t.Helper()
	s := status.Convert(err)
	if s.Code() != code {
		t.Fatalf("got %v, want %v", err, code)
	}
	return s
}

// wantsCode fails unless err is a gRPC status of this code that says all parts.
func wantsCode(t testing.TB, err error, code codes.Code, parts ...string) *status.Status {
	t.Helper()
	s := wantsCodeOnly(t, err, code)
	wantsText(t, s.Message(), parts...)
	return s
}

// joinStock is join with a stock client.
func joinStock(t testing.TB, options serverOptions, more ...trunkcall.Handler) (*trunkcall.Server, *grpc.ClientConn) {
	t.Helper()
	s, target := serve(t, options, append(standard(), more...)...)
	return s, stock(t, target)
}
