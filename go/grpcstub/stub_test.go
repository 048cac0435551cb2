package grpcstub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

func TestStockStubsOfEveryKind(t *testing.T) {
	c := users(t, stub{})
	got, err := c.GetUser(soon(t), &userRequest{UserId: 7})
	if err != nil || got.Name != "user-7" {
		t.Fatal(got, err)
	}
	down, err := c.ListUsers(soon(t), &examplev1.ListUsersRequest{Count: 3})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for {
		u, err := down.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, u.Name)
	}
	if !slices.Equal(names, []string{"user-1", "user-2", "user-3"}) {
		t.Fatal(names)
	}
	up, err := c.ImportUsers(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := up.Send(&userResponse{Name: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if sum, err := up.CloseAndRecv(); err != nil || sum.Count != 5 {
		t.Fatal(sum, err)
	}
	both, err := c.WatchUsers(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for id := int64(1); id <= 20; id++ {
		if err := both.Send(&userRequest{UserId: id}); err != nil {
			t.Fatal(err)
		}
		if u, err := both.Recv(); err != nil || u.Name != fmt.Sprint("user-", id) {
			t.Fatal(u, err)
		}
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := both.Recv(); err != io.EOF { // generated code's users compare like this
		t.Fatal(err)
	}
}

func TestLargeMessagesThroughStubs(t *testing.T) {
	c := benchv1.NewBenchServiceClient(grpcstub.Conn(connect(t, stub{})))
	s, err := c.EchoStream(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 65536, 70_000, 5 << 20} {
		if p, err := c.Echo(soon(t), &benchv1.Payload{Data: make([]byte, n)}); err != nil || len(p.Data) != n {
			t.Fatal(n, err)
		}
		if err := s.Send(&benchv1.Payload{Data: make([]byte, n)}); err != nil {
			t.Fatal(err)
		}
		if p, err := s.Recv(); err != nil || len(p.Data) != n {
			t.Fatal(n, err)
		}
	}
	_ = s.CloseSend()
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func TestStatusHelpersSeeCodesMessagesAndDetails(t *testing.T) {
	c := users(t, stub{})
	_, err := c.GetUser(soon(t), &userRequest{UserId: -1})
	s := wants(t, err, codes.InvalidArgument)
	if bad, ok := s.Details()[0].(*errdetails.BadRequest); !ok || bad.FieldViolations[0].Field != "user_id" {
		t.Fatal(s.Details())
	}
	if status.Code(err) != codes.InvalidArgument || status.Convert(err).Message() == "" {
		t.Fatal(err)
	}
	if want := "rpc error: code = InvalidArgument desc = " + s.Message(); err.Error() != want {
		t.Fatalf("%q, want %q", err, want)
	}
	if trunkcall.StatusOf(err).Delivery != trunkcall.Executed {
		t.Fatal("the delivery is not to be had")
	}
	both, err := c.WatchUsers(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	_ = both.Send(&userRequest{UserId: 1_000_000_000})
	_, err = both.Recv()
	if _, ok := wants(t, err, codes.NotFound).Details()[0].(*errdetails.ResourceInfo); !ok {
		t.Fatal(err)
	}
}

func TestEveryErrorOfAHandlerBecomesTheStatusThatGRPCWouldGive(t *testing.T) {
	var with error
	c := users(t, stub{get: func(context.Context, *userRequest) (*userResponse, error) { return nil, with }})
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		with = status.Error(code, "the message")
		_, err := c.GetUser(soon(t), &userRequest{})
		if s := wants(t, err, code); s.Message() != "the message" {
			t.Fatal(s)
		}
	}
	for _, tried := range []struct {
		err  error
		code codes.Code
	}{
		{errors.New("plain"), codes.Unknown},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{context.Canceled, codes.Canceled},
		{fmt.Errorf("wrapped: %w", status.Error(codes.Aborted, "inner")), codes.Aborted},
		{trunkcall.Errorf(trunkcall.DataLoss, "native"), codes.DataLoss},
		{status.Error(codes.Code(77), "no such code"), codes.Unknown},
	} {
		with = tried.err
		_, err := c.GetUser(soon(t), &userRequest{})
		wants(t, err, tried.code)
	}
}

func TestAHandlerMayAddToAnErrorOfACallThatItMade(t *testing.T) {
	upstream := users(t, stub{})
	c := users(t, stub{get: func(ctx context.Context, in *userRequest) (*userResponse, error) {
		_, err := upstream.GetUser(ctx, &userRequest{UserId: -1})
		if in.UserId > 0 {
			err = fmt.Errorf("looking up %d: %w", in.UserId, err)
		}
		return nil, err
	}})
	_, err := c.GetUser(soon(t), &userRequest{})
	plain := wants(t, err, codes.InvalidArgument)
	_, err = c.GetUser(soon(t), &userRequest{UserId: 7})
	s := wants(t, err, codes.InvalidArgument)
	if want := "looking up 7: rpc error: code = InvalidArgument desc = " + plain.Message(); s.Message() != want || len(s.Details()) != 1 {
		t.Errorf("%q with %v, want %q", s.Message(), s.Details(), want)
	}
}

func TestTheTextOfAPlainErrorIsTold(t *testing.T) {
	get := func(context.Context, *userRequest) (*userResponse, error) { return nil, errors.New("disk 7 is full") }
	_, err := users(t, stub{get: get}).GetUser(soon(t), &userRequest{})
	if s := wants(t, err, codes.Unknown); s.Message() != "disk 7 is full" {
		t.Errorf("%v", s)
	}
}

func TestTheTextOfAPlainErrorIsHiddenWhereThatIsAskedFor(t *testing.T) {
	var with error
	server := newServer(t, trunkcall.WithLogger(slog.New(slog.DiscardHandler)))
	examplev1.RegisterUserServiceServer(grpcstub.Registrar(server, grpcstub.HideErrorText()),
		stub{get: func(context.Context, *userRequest) (*userResponse, error) { return nil, with }})
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client := newClient(t, addr.String())
	defer client.Close()
	c := examplev1.NewUserServiceClient(grpcstub.Conn(client))
	for _, tried := range []struct {
		err  error
		code codes.Code
		says string
	}{
		{errors.New("disk 7 is full"), codes.Unknown, "the handler failed (error "},
		{context.DeadlineExceeded, codes.DeadlineExceeded, "the handler failed (error "},
		{status.Error(codes.NotFound, "no user 7"), codes.NotFound, "no user 7"},
	} {
		with = tried.err
		_, err := c.GetUser(soon(t), &userRequest{})
		if s := wants(t, err, tried.code); !strings.HasPrefix(s.Message(), tried.says) {
			t.Errorf("%v becomes %v", tried.err, s)
		}
	}
}

func TestContextsEndCallsAsStubsExpect(t *testing.T) {
	entered := make(chan context.Context, 1)
	c := users(t, stub{get: func(ctx context.Context, _ *userRequest) (*userResponse, error) {
		entered <- ctx
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := c.GetUser(ctx, &userRequest{})
	wants(t, err, codes.DeadlineExceeded)
	if handler := <-entered; handler.Err() == nil {
		<-handler.Done()
	}
	ctx, cancel = context.WithCancel(context.Background())
	go func() { <-entered; cancel() }()
	_, err = c.GetUser(ctx, &userRequest{})
	wants(t, err, codes.Canceled)
}

func TestMetadataHelpersAtBothEnds(t *testing.T) {
	c := users(t, stub{get: func(ctx context.Context, in *userRequest) (*userResponse, error) {
		md, ok := metadata.FromIncomingContext(ctx)
		if !ok || !slices.Equal(md.Get("k"), []string{"one", "two"}) || md.Get("raw-bin")[0] != "\x00\xff" {
			t.Errorf("incoming %v", md)
		}
		if got := metadata.ValueFromIncomingContext(ctx, "K"); len(got) != 2 {
			t.Errorf("one value: %v", got)
		}
		if name, ok := grpc.Method(ctx); !ok || name != examplev1.UserService_GetUser_FullMethodName {
			t.Errorf("method %q", name)
		}
		if p, ok := peer.FromContext(ctx); !ok || !strings.HasPrefix(p.Addr.String(), "127.0.0.1:") {
			t.Errorf("peer %v", p)
		}
		for _, err := range []error{
			grpc.SetHeader(ctx, metadata.Pairs("h", "1")), grpc.SetHeader(ctx, metadata.Pairs("h", "2")),
			grpc.SetTrailer(ctx, metadata.Pairs("t", "1", "t-bin", "\x01")), grpc.SendHeader(ctx, metadata.Pairs("h", "3")),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		if grpc.SetHeader(ctx, metadata.Pairs("h", "late")) == nil || grpc.SendHeader(ctx, nil) == nil {
			t.Error("a header after it was sent")
		}
		if in.UserId < 0 {
			return nil, status.Error(codes.NotFound, "none")
		}
		return &userResponse{}, nil
	}})
	ctx := metadata.AppendToOutgoingContext(soon(t), "k", "one", "K", "two", "raw-bin", "\x00\xff")
	for _, id := range []int64{1, -1} {
		var header, trailer metadata.MD
		var p peer.Peer
		_, err := c.GetUser(ctx, &userRequest{UserId: id}, grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&p))
		if (err != nil) != (id < 0) {
			t.Fatal(err)
		}
		if !slices.Equal(header.Get("h"), []string{"1", "2", "3"}) || trailer.Get("t")[0] != "1" || trailer.Get("t-bin")[0] != "\x01" {
			t.Fatalf("header %v, trailer %v", header, trailer)
		}
		if p.Addr == nil || p.LocalAddr == nil {
			t.Fatalf("peer %v", p)
		}
	}
}

// streaming serves WatchUsers with metadata of every sort.
type streaming struct{ stub }

func (streaming) WatchUsers(s grpc.BidiStreamingServer[userRequest, userResponse]) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	if err := s.SetHeader(metadata.Pairs("a", "1")); err != nil {
		return err
	}
	if err := s.SendHeader(metadata.Pairs("b", md.Get("k")[0])); err != nil {
		return err
	}
	s.SetTrailer(metadata.Pairs("t", "end"))
	if _, err := s.Recv(); err != nil {
		return err
	}
	if name, _ := grpc.Method(s.Context()); name != examplev1.UserService_WatchUsers_FullMethodName {
		return status.Error(codes.Internal, name)
	}
	return s.Send(&userResponse{Name: "x"})
}

func TestMetadataOfStreamsThroughStubs(t *testing.T) {
	c := users(t, streaming{})
	var header, trailer metadata.MD
	s, err := c.WatchUsers(metadata.AppendToOutgoingContext(soon(t), "k", "v"), grpc.Header(&header), grpc.Trailer(&trailer))
	if err != nil {
		t.Fatal(err)
	}
	md, err := s.Header() // before anything was asked
	if err != nil || md.Get("a")[0] != "1" || md.Get("b")[0] != "v" {
		t.Fatal(md, err)
	}
	_ = s.Send(&userRequest{})
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if s.Trailer().Get("t")[0] != "end" || header.Get("b")[0] != "v" || trailer.Get("t")[0] != "end" {
		t.Fatal(s.Trailer(), header, trailer)
	}
	if s.Context() == nil {
		t.Fatal("no context")
	}
}

func TestUnimplementedAndUnknownMethods(t *testing.T) {
	c := users(t, examplev1.UnimplementedUserServiceServer{})
	_, err := c.GetUser(soon(t), &userRequest{})
	wants(t, err, codes.Unimplemented)
	if trunkcall.StatusOf(err).Delivery != trunkcall.Executed {
		t.Fatal(trunkcall.StatusOf(err))
	}
	s, err := c.WatchUsers(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Recv()
	wants(t, err, codes.Unimplemented)

	conn := grpcstub.Conn(connect(t, stub{}))
	err = conn.Invoke(soon(t), "/no.Such/Method", &userRequest{}, &userResponse{})
	wants(t, err, codes.Unimplemented)
	if trunkcall.StatusOf(err).Delivery != trunkcall.Refused {
		t.Fatal(trunkcall.StatusOf(err))
	}
}

func TestAMessageThatIsNilIsAnEmptyOne(t *testing.T) {
	conn := grpcstub.Conn(connect(t, stub{get: func(_ context.Context, in *userRequest) (*userResponse, error) {
		return &userResponse{Name: fmt.Sprintf("for %d", in.GetUserId())}, nil
	}}))
	answer := new(userResponse)
	if err := conn.Invoke(soon(t), examplev1.UserService_GetUser_FullMethodName, nil, answer); err != nil || answer.GetName() != "for 0" {
		t.Errorf("got %v, %v", answer, err)
	}
	err := conn.Invoke(soon(t), "/trunkcall.example.v1.UserService/Unserved", nil, nil)
	if wants(t, err, codes.Unimplemented); trunkcall.StatusOf(err).Delivery != trunkcall.Refused {
		t.Errorf("got %v, want it from the server", err)
	}
	stream, err := conn.NewStream(soon(t), &grpc.StreamDesc{ClientStreams: true}, examplev1.UserService_ImportUsers_FullMethodName)
	if err != nil {
		t.Fatal(err)
	}
	imported := new(examplev1.ImportUsersResponse)
	if err := errors.Join(stream.SendMsg(nil), stream.CloseSend(), stream.RecvMsg(imported)); err != nil || imported.GetCount() != 1 {
		t.Errorf("got %v, %v", imported, err)
	}
}
