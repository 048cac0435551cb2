package grpcstub_test

import (
	"context"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/grpcstub"
)

// A stub's calls take as long as their context allows, unless the client's default timeout is
// asked for.
func TestTheDefaultTimeoutIsNotForStubs(t *testing.T) {
	s, err := trunkcall.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	const name = "/test.Service/Limited"
	limited := false
	err = s.Register(trunkcall.Unary[[]byte, []byte](name).Handler(func(ctx context.Context, in *[]byte) (*[]byte, error) {
		_, limited = ctx.Deadline()
		return in, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen("mem:" + t.Name()); err != nil {
		t.Fatal(err)
	}
	c, err := trunkcall.NewClient("mem:"+t.Name(), trunkcall.WithTimeout(10*time.Minute), trunkcall.WithCodec(trunkcall.Raw))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for want, options := range map[bool][]grpcstub.ConnOption{false: nil, true: {grpcstub.DefaultTimeout()}} {
		var out []byte
		if err := grpcstub.Conn(c, options...).Invoke(context.Background(), name, &[]byte{}, &out); err != nil {
			t.Fatal(err)
		}
		if limited != want {
			t.Errorf("limited: %v, want %v", limited, want)
		}
	}
}
