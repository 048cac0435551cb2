package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
	pb "github.com/trunkcall/trunkcall/go/gen/example/v1"
)

// users is a service of users that is none: a Caller which answers by itself.
type users map[int64]string

func (u users) Invoke(_ context.Context, m *trunkcall.Method, request, response any, _ ...trunkcall.CallOption) error {
	in, out := request.(*pb.GetUserRequest), response.(*pb.GetUserResponse)
	name, known := u[in.UserId]
	if !known {
		return trunkcall.Status{Code: trunkcall.NotFound, Message: m.Name + ": no such user", Delivery: trunkcall.Executed}.Err()
	}
	out.Name = name
	return nil
}

func (users) NewStream(_ context.Context, m *trunkcall.Method, _ ...trunkcall.CallOption) (trunkcall.Stream, error) {
	return nil, trunkcall.Errorf(trunkcall.Unimplemented, "%s is not mocked", m.Name)
}

func TestGreeting(t *testing.T) {
	for id, want := range map[int64]string{7: "Hello, Ada", 8: "Hello, stranger"} {
		if got, err := greeting(context.Background(), users{7: "Ada"}, id); got != want || err != nil {
			t.Errorf("user %d: %q, %v, want %q", id, got, err, want)
		}
	}
}

// An in-memory server tests both ends, with all that lies between them.
func TestGreetingThroughAServerInMemory(t *testing.T) {
	server, err := trunkcall.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_ = server.Register(getUser.Handler(func(context.Context, *pb.GetUserRequest) (*pb.GetUserResponse, error) {
		return nil, trunkcall.Errorf(trunkcall.NotFound, "no such user")
	}))
	if _, err := server.Listen("mem:users"); err != nil {
		t.Fatal(err)
	}
	client, err := trunkcall.Dial(t.Context(), "mem:users")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got, err := greeting(t.Context(), client, 7); got != "Hello, stranger" || err != nil {
		t.Error(got, err)
	}
}

// In a bubble of testing/synctest time passes at once while all wait, and what is
// in memory belongs to the bubble.
func TestGreetingByASlowService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := trunkcall.NewServer()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		_ = server.Register(getUser.Handler(func(ctx context.Context, _ *pb.GetUserRequest) (*pb.GetUserResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		if _, err := server.Listen("mem:slow"); err != nil {
			t.Fatal(err)
		}
		client, err := trunkcall.Dial(t.Context(), "mem:slow")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, err = greeting(ctx, client, 7)
		if code := trunkcall.StatusOf(err).Code; code != trunkcall.DeadlineExceeded || time.Since(began) != time.Hour {
			t.Error(err, time.Since(began))
		}
	})
}
