package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/trunkcall/trunkcall/go"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

type (
	userRequest  = examplev1.GetUserRequest
	userResponse = examplev1.GetUserResponse
	listRequest  = examplev1.ListUsersRequest
	importAnswer = examplev1.ImportUsersResponse
)

func serve() error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	server := trunkcall.NewServer()
	if err := server.Register(handlers()...); err != nil {
		return err
	}
	address, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(address)
	<-stop.Done()
	server.Close()
	return nil
}

func handlers() []trunkcall.Handler {
	return []trunkcall.Handler{
		trunkcall.Unary[userRequest, userResponse](service + "GetUser").Handler(
			func(ctx context.Context, _ *userRequest) (*userResponse, error) {
				name, err := reflect(ctx)
				return &userResponse{Name: name}, err
			}),
		trunkcall.ServerStream[listRequest, userResponse](service + "ListUsers").Handler(
			func(ctx context.Context, request *listRequest, answers *trunkcall.Sender[userResponse]) error {
				name, err := reflect(ctx)
				for n := int32(0); n < request.GetCount() && err == nil; n++ {
					err = answers.Send(&userResponse{Name: name})
				}
				return err
			}),
		{
			Method: trunkcall.Method{Name: service + "ImportUsers", Kind: trunkcall.KindClientStream},
			Stream: func(ctx context.Context, stream trunkcall.Stream) error {
				var answer importAnswer
				_, err := reflect(ctx)
				for err == nil {
					if err = stream.Receive(&userResponse{}); err == nil {
						answer.Count++
					}
				}
				if !errors.Is(err, io.EOF) {
					return err
				}
				return stream.Send(&answer)
			},
		},
		{
			Method: trunkcall.Method{Name: service + "WatchUsers", Kind: trunkcall.KindBidiStream},
			Stream: func(ctx context.Context, stream trunkcall.Stream) error {
				name, err := reflect(ctx)
				for err == nil {
					if err = stream.Receive(&userRequest{}); err == nil {
						err = stream.Send(&userResponse{Name: name})
					}
				}
				if !errors.Is(err, io.EOF) {
					return err
				}
				return nil
			},
		},
	}
}

// reflect gives the request's metadata back and does what its entry `do` says.
// It returns what the answers are to say.
func reflect(ctx context.Context) (name string, err error) {
	call := trunkcall.CallFromContext(ctx)
	if err := call.SetHeader(call.Metadata); err != nil {
		return "", err
	}
	if err := call.SetTrailer(call.Metadata); err != nil {
		return "", err
	}
	do := map[string]string{}
	for _, p := range call.Metadata {
		do[p.Key] = p.Value
	}
	switch do["do"] {
	case "fail":
		return "", failure()
	case "wait":
		fmt.Println("waits")
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			fmt.Println("deadline")
		} else {
			fmt.Println("cancelled")
		}
		return "", ctx.Err()
	case "left":
		deadline, ok := ctx.Deadline()
		if !ok {
			return "none", nil
		}
		return strconv.FormatInt(time.Until(deadline).Milliseconds(), 10), nil
	case "forward":
		return forward(ctx, do["to"])
	case "back":
		return back(ctx, call.Connection())
	}
	return "reflected", nil
}

func failure() error {
	return &trunkcall.Status{Code: trunkcall.Aborted, Message: "a \"<b>\" & c\u2028 许\nd", Details: []trunkcall.Detail{
		{TypeURL: "type.googleapis.com/google.rpc.ErrorInfo", Value: []byte("\n\x01x")},
		{TypeURL: "type.googleapis.com/nobody.Knows", Value: []byte{1, 2, 0xff}},
		{TypeURL: "", Value: nil},
	}}
}

// forward asks another server what time is left there. The deadline is not
// named: it goes along by itself.
func forward(ctx context.Context, target string) (string, error) {
	client := trunkcall.NewClient(target)
	defer client.Close()
	ctx = trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: "do", Value: "left"}})
	var response userResponse
	if err := client.Invoke(ctx, service+"GetUser", &userRequest{}, &response); err != nil {
		return "", err
	}
	return response.GetName(), nil
}

// back asks the caller what time is left there, and for two messages more.
func back(ctx context.Context, caller *trunkcall.Connection) (string, error) {
	ctx = trunkcall.WithMetadata(ctx, trunkcall.Metadata{{Key: "do", Value: "left"}})
	var response userResponse
	if err := caller.Invoke(ctx, service+"GetUser", &userRequest{}, &response); err != nil {
		return "", err
	}
	stream, err := caller.NewStream(ctx, service+"ListUsers", trunkcall.KindServerStream)
	if err != nil {
		return "", err
	}
	if err := errors.Join(stream.Send(&listRequest{Count: 2}), stream.CloseSend()); err != nil {
		return "", err
	}
	answers := 0
	for {
		err := stream.Receive(&userResponse{})
		if errors.Is(err, io.EOF) {
			return fmt.Sprint(response.GetName(), " ", answers), nil
		}
		if err != nil {
			return "", err
		}
		answers++
	}
}
