package grpcstub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

func TestOnFinishIsCalledOnceWithTheOutcome(t *testing.T) {
	c := users(t, stub{})
	var finished []error
	option := grpc.OnFinish(func(err error) { finished = append(finished, err) })
	take := func() []error { f := finished; finished = nil; return f }

	if _, err := c.GetUser(soon(t), &userRequest{UserId: 1}, option); err != nil {
		t.Fatal(err)
	}
	if got := take(); len(got) != 1 || got[0] != nil {
		t.Fatal(got)
	}
	_, err := c.GetUser(soon(t), &userRequest{UserId: -1}, option)
	if got := take(); len(got) != 1 || !errors.Is(got[0], err) {
		t.Fatal(got)
	}
	s, err := c.ListUsers(soon(t), &examplev1.ListUsersRequest{Count: 2}, option)
	for err == nil {
		if len(finished) > 0 {
			t.Fatal("too early")
		}
		_, err = s.Recv()
	}
	_, _ = s.Recv()
	if got := take(); len(got) != 1 || got[0] != nil {
		t.Fatal(got)
	}
	up, err := c.ImportUsers(soon(t), option)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := up.CloseAndRecv(); err != nil {
		t.Fatal(err)
	}
	if got := take(); len(got) != 1 || got[0] != nil {
		t.Fatal(got)
	}
	_, err = c.GetUser(soon(t), &userRequest{}, option, grpc.CallContentSubtype("json"))
	if got := take(); len(got) != 1 || !errors.Is(got[0], err) {
		t.Fatal(got)
	}
}

// token is per-call credentials.
type token struct {
	value  string
	err    error
	secure bool
	uri    *string
}

func (c token) GetRequestMetadata(_ context.Context, uri ...string) (map[string]string, error) {
	if c.uri != nil && len(uri) == 1 {
		*c.uri = uri[0]
	}
	return map[string]string{"authorization": c.value}, c.err
}

func (c token) RequireTransportSecurity() bool { return c.secure }

func TestPerCallCredentials(t *testing.T) {
	seen := ""
	c := users(t, stub{get: func(ctx context.Context, _ *userRequest) (*userResponse, error) {
		seen = strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), ",")
		return &userResponse{}, nil
	}})
	uri := ""
	if _, err := c.GetUser(soon(t), &userRequest{}, grpc.PerRPCCredentials(token{value: "Bearer x", uri: &uri})); err != nil {
		t.Fatal(err)
	}
	if seen != "Bearer x" || !strings.HasPrefix(uri, "https://") || !strings.HasSuffix(uri, "/trunkcall.example.v1.UserService") {
		t.Fatalf("authorization %q for %q", seen, uri)
	}
	seen = ""
	_, err := c.GetUser(soon(t), &userRequest{}, grpc.PerRPCCredentials(token{err: errors.New("expired")}))
	if s := wants(t, err, codes.Unauthenticated); !strings.Contains(s.Message(), "expired") {
		t.Fatal(s)
	}
	_, err = c.GetUser(soon(t), &userRequest{}, grpc.PerRPCCredentials(token{value: "secret", secure: true}))
	wants(t, err, codes.Unauthenticated)
	_, err = c.WatchUsers(soon(t), grpc.PerRPCCredentials(token{value: "secret", secure: true}))
	wants(t, err, codes.Unauthenticated)
	if seen != "" {
		t.Fatal("credentials went over a connection without TLS, or in spite of an error")
	}
}

func TestMessageSizeOptions(t *testing.T) {
	c := users(t, stub{})
	_, err := c.GetUser(soon(t), &userRequest{UserId: 1}, grpc.MaxCallRecvMsgSize(3))
	wants(t, err, codes.ResourceExhausted)
	_, err = c.GetUser(soon(t), &userRequest{UserId: 1 << 40}, grpc.MaxCallSendMsgSize(3))
	wants(t, err, codes.ResourceExhausted)
	if trunkcall.StatusOf(err).Delivery != trunkcall.NotSent {
		t.Fatal(trunkcall.StatusOf(err))
	}
	if _, err = c.GetUser(soon(t), &userRequest{UserId: 1}, grpc.MaxCallRecvMsgSize(1000), grpc.MaxCallSendMsgSize(1000)); err != nil {
		t.Fatal(err)
	}
	s, err := c.ListUsers(soon(t), &examplev1.ListUsersRequest{Count: 2}, grpc.MaxCallRecvMsgSize(3))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Recv()
	wants(t, err, codes.ResourceExhausted)
}

func TestWaitForReadyWaits(t *testing.T) {
	// The server comes up only after the call was begun.
	client := newClient(t, "mem:late")
	defer client.Close()
	c := examplev1.NewUserServiceClient(grpcstub.Conn(client))
	_, err := c.GetUser(soon(t), &userRequest{UserId: 1})
	wants(t, err, codes.Unavailable)
	ended := make(chan error, 1)
	go func() {
		_, err := c.GetUser(soon(t), &userRequest{UserId: 1}, grpc.WaitForReady(true))
		ended <- err
	}()
	server := newServer(t)
	examplev1.RegisterUserServiceServer(grpcstub.Registrar(server), stub{})
	if _, err := server.Listen("mem:late"); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestOptionsThatCannotBeHonouredFailTheCall(t *testing.T) {
	c := users(t, stub{})
	for name, option := range map[string]grpc.CallOption{
		"CallContentSubtype": grpc.CallContentSubtype("json"), "CallAuthority": grpc.CallAuthority("x"),
		"UseCompressor": grpc.UseCompressor("lz4"),
		"ForceCodecV2":  grpc.ForceCodecV2(encoding.GetCodecV2("proto")),
	} {
		_, err := c.GetUser(soon(t), &userRequest{UserId: 1}, option)
		wants(t, err, codes.Unimplemented)
		if _, err = c.WatchUsers(soon(t), option); err == nil {
			t.Errorf("%s: a stream was opened", name)
		}
	}
	for _, hint := range []grpc.CallOption{
		grpc.MaxRetryRPCBufferSize(1), grpc.StaticMethod(), grpc.EmptyCallOption{}, grpc.WaitForReady(false),
	} {
		if _, err := c.GetUser(soon(t), &userRequest{UserId: 1}, hint); err != nil {
			t.Errorf("%T: %v", hint, err)
		}
	}
}

// counted counts the messages that are compressed.
type counted struct {
	trunkcall.Compression
	n *atomic.Int64
}

func (c counted) Decompress(dst, data []byte, limit int) ([]byte, error) {
	c.n.Add(1)
	return c.Compression.Decompress(dst, data, limit)
}

func TestUseCompressor(t *testing.T) {
	var gzip, zstd atomic.Int64
	client := connect(t, stub{}, trunkcall.WithDecompression(counted{trunkcall.Gzip, &gzip}, counted{trunkcall.Zstd, &zstd}))
	c := benchv1.NewBenchServiceClient(grpcstub.Conn(client))
	in := &benchv1.Payload{Data: make([]byte, 10_000)}
	for name, wanted := range map[string][2]int64{"": {0, 0}, "identity": {0, 0}, "gzip": {2, 0}, "zstd": {0, 2}} {
		gzip.Store(0)
		zstd.Store(0)
		var options []grpc.CallOption
		if name != "" {
			options = append(options, grpc.UseCompressor(name))
		}
		if _, err := c.Echo(soon(t), in, options...); err != nil {
			t.Fatal(err)
		}
		if got := [2]int64{gzip.Load(), zstd.Load()}; got != wanted { // request and response
			t.Errorf("%q: %v decompressed", name, got)
		}
	}
}

func panics(t *testing.T, says string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); p == nil || !strings.Contains(p.(string), says) {
			t.Errorf("panic %v, want one about %q", p, says)
		}
	}()
	f()
}

func TestRegistrationsThatCannotBeRightPanic(t *testing.T) {
	server := newServer(t)
	defer server.Close()
	examplev1.RegisterUserServiceServer(grpcstub.Registrar(server), stub{})
	panics(t, "already", func() { examplev1.RegisterUserServiceServer(grpcstub.Registrar(server), stub{}) })
	panics(t, "does not implement", func() {
		grpcstub.Registrar(newServer(t)).RegisterService(&examplev1.UserService_ServiceDesc, struct{}{})
	})
}

// A client-streaming method of a server that answers no message, or several.
func TestTheAnswerOfAClientStreamIsExactlyOne(t *testing.T) {
	answers := 0
	server := newServer(t)
	if err := server.Register(trunkcall.Handler{
		Method: trunkcall.Method{Name: examplev1.UserService_ImportUsers_FullMethodName, Kind: trunkcall.KindBidiStream},
		Stream: func(_ context.Context, s trunkcall.Stream) error {
			for range answers {
				if err := s.Send(&examplev1.ImportUsersResponse{Count: 1}); err != nil {
					return err
				}
			}
			for {
				if err := s.Receive(&emptypb.Empty{}); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
			}
		},
	}); err != nil {
		t.Fatal(err)
	}
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := trunkcall.Dial(soon(t), addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := examplev1.NewUserServiceClient(grpcstub.Conn(client))
	for answers = range 3 {
		s, err := c.ImportUsers(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		sum, err := s.CloseAndRecv()
		if answers == 1 {
			if err != nil || sum.Count != 1 {
				t.Fatal(sum, err)
			}
			continue
		}
		wants(t, err, codes.Unimplemented)
	}
}

func TestInterceptorsRunAroundStubs(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	record := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		mu.Lock()
		seen = append(seen, call.Method.Kind.String())
		mu.Unlock()
		return next(ctx, call)
	}
	c := users(t, stub{}, trunkcall.WithInterceptors(record))
	if u, err := c.GetUser(soon(t), &userRequest{UserId: 3}); err != nil || u.Name != "user-3" {
		t.Fatal(u, err)
	}
	_, err := c.GetUser(soon(t), &userRequest{UserId: -3})
	if s := wants(t, err, codes.InvalidArgument); len(s.Details()) != 1 {
		t.Fatal(s)
	}
	s, err := c.ListUsers(soon(t), &examplev1.ListUsersRequest{Count: 1})
	for err == nil {
		_, err = s.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(seen, " "); got != "unary unary unary unary server-streaming server-streaming" {
		t.Fatal(got)
	}
}

func TestManyCallersThroughOneStub(t *testing.T) {
	c := users(t, stub{})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for id := int64(1); id < 100; id++ {
				if u, err := c.GetUser(soon(t), &userRequest{UserId: id}); err != nil || u.Name != fmt.Sprint("user-", id) {
					t.Error(u, err)
				}
			}
		})
	}
	all.Wait()
}
