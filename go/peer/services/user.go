// Package services implements the services of the specification on the stock
// gRPC stubs, so that the same handlers run on whatever takes such stubs.
package services

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
)

// User is the example service; see spec/proto/example/v1/user.proto for its
// rules.
type User struct {
	examplev1.UnimplementedUserServiceServer
}

const lastUser = 999_999_999

func (User) GetUser(_ context.Context, request *examplev1.GetUserRequest) (*examplev1.GetUserResponse, error) {
	return user(request.GetUserId())
}

func (User) ListUsers(request *examplev1.ListUsersRequest, stream grpc.ServerStreamingServer[examplev1.GetUserResponse]) error {
	count := int64(request.GetCount())
	if count < 0 {
		return invalid("count", "must not be negative")
	}
	for id := int64(1); id <= count; id++ {
		response, err := user(id)
		if err == nil {
			err = stream.Send(response)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (User) ImportUsers(stream grpc.ClientStreamingServer[examplev1.GetUserResponse, examplev1.ImportUsersResponse]) error {
	var response examplev1.ImportUsersResponse
	for {
		_, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&response)
		}
		if err != nil {
			return err
		}
		response.Count++
	}
}

func (User) WatchUsers(stream grpc.BidiStreamingServer[examplev1.GetUserRequest, examplev1.GetUserResponse]) error {
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		response, err := user(request.GetUserId())
		if err == nil {
			err = stream.Send(response)
		}
		if err != nil {
			return err
		}
	}
}

func user(id int64) (*examplev1.GetUserResponse, error) {
	switch {
	case id < 1:
		return nil, invalid("user_id", "must be at least 1")
	case id > lastUser:
		return nil, notFound(id)
	}
	name := "user-" + strconv.FormatInt(id, 10)
	return &examplev1.GetUserResponse{Name: name, Email: name + "@example.com"}, nil
}

func invalid(field, rule string) error {
	return failure(codes.InvalidArgument, field+" "+rule, &errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: rule}},
	})
}

func notFound(id int64) error {
	return failure(codes.NotFound, fmt.Sprintf("there is no user %d", id), &errdetails.ResourceInfo{
		ResourceType: "user",
		ResourceName: strconv.FormatInt(id, 10),
		Description:  "ids end at " + strconv.Itoa(lastUser),
	})
}

func failure(code codes.Code, message string, detail protoadapt.MessageV1) error {
	detailed, err := status.New(code, message).WithDetails(detail)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return detailed.Err()
}
