package trunkcall_test

import (
	"context"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	examplev1 "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

const userService = "/trunkcall.example.v1.UserService/"

func TestAMethodIsRegisteredAsItsProtoFileDescribesIt(t *testing.T) {
	type (
		getRequest  = examplev1.GetUserRequest
		getResponse = examplev1.GetUserResponse
	)
	get := func(name string) trunkcall.Handler {
		return trunkcall.Unary[getRequest, getResponse](name).Handler(
			func(context.Context, *getRequest) (*getResponse, error) { return &getResponse{}, nil })
	}
	for name, tried := range map[string]struct {
		handler trunkcall.Handler
		says    []string // none: it is right
	}{
		"as described":            {get(userService + "GetUser"), nil},
		"of no known service":     {get("/elsewhere.UserService/GetUser"), nil},
		"of a name that is wrong": {get(userService + "GetUsr"), []string{"trunkcall.example.v1.UserService", "has no method GetUsr", "GetUser, ", "example/v1/"}},
		"of a request that is wrong": {
			trunkcall.Unary[payload, getResponse](userService + "GetUser").Handler(
				func(context.Context, *payload) (*getResponse, error) { return &getResponse{}, nil }),
			[]string{userService + "GetUser", "takes trunkcall.example.v1.GetUserRequest", "not trunkcall."},
		},
		"of a response that is wrong": {
			trunkcall.Unary[getRequest, payload](userService + "GetUser").Handler(
				func(context.Context, *getRequest) (*payload, error) { return &payload{}, nil }),
			[]string{userService + "GetUser", "returns trunkcall.example.v1.GetUserResponse", "not trunkcall."},
		},
		"of another kind": {
			trunkcall.ServerStream[getRequest, getResponse](userService + "GetUser").Handler(
				func(context.Context, *getRequest, *trunkcall.Sender[getResponse]) error { return nil }),
			[]string{userService + "GetUser", "is unary", "not server-streaming"},
		},
		"a one-way method": {
			trunkcall.OneWay[getRequest](userService + "GetUser").Handler(func(context.Context, *getRequest) error { return nil }), nil,
		},
		"one of raw bytes": {
			trunkcall.Unary[[]byte, []byte](userService + "GetUser").Handler(
				func(_ context.Context, in *[]byte) (*[]byte, error) { return in, nil }), nil,
		},
		"a proxy of raw bytes": {
			trunkcall.Bidi[[]byte, []byte](userService + "GetUser").Handler(
				func(context.Context, *trunkcall.BidiStream[[]byte, []byte]) error { return nil }), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := newServer(t).Register(tried.handler)
			if len(tried.says) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("it is registered")
			}
			wantsText(t, err.Error(), tried.says...)
		})
	}
}
