package trunkcall_test

import (
	"context"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
)

// A message that is received into again holds what came last and nothing of what
// came before, whatever the codec and whether its memory is kept or not.
func TestAMessageUsedAgainHoldsWhatCameLast(t *testing.T) {
	users := trunkcall.Bidi[benchv1.UserModels, benchv1.UserModels]("/test.Service/Users")
	server := users.Handler(func(_ context.Context, s *trunkcall.BidiStream[benchv1.UserModels, benchv1.UserModels]) error {
		message := &benchv1.UserModels{}
		for {
			if err := s.ReceiveInto(message); err != nil {
				return nil
			}
			if err := s.Send(message); err != nil {
				return err
			}
		}
	})
	_, target := serve(t, nil, append(standard(), server)...)
	for _, codec := range []trunkcall.Codec{trunkcall.Protobuf, trunkcall.ProtobufStock, trunkcall.ProtoJSON} {
		c := dial(t, target, trunkcall.WithCodec(codec))
		stream, err := users.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		answer := &benchv1.UserModels{}
		for _, n := range []int{3, 1, 0, 2} {
			request := &benchv1.UserModels{}
			for range n {
				name := strings.Repeat("n", n)
				request.Users = append(request.Users, &benchv1.UserModel{Name: &name})
			}
			if err := stream.Send(request); err != nil {
				t.Fatal(err)
			}
			if err := stream.ReceiveInto(answer); err != nil || len(answer.Users) != n {
				t.Fatalf("%s: %d of %d users, %v", codec.Name(), len(answer.Users), n, err)
			}
		}
		_ = stream.CloseSend()
		out := &payload{Data: []byte("what was there")}
		if err := c.Invoke(soon(t), unary("/test.Service/Echo"), &payload{}, out); err != nil || len(out.Data) != 0 {
			t.Fatalf("%s: %q, %v", codec.Name(), out.Data, err)
		}
	}
}

// What a typed call decodes into is new, unless an interceptor has it filled in twice.
func TestAnAnswerThatIsDecodedTwiceHoldsWhatCameLast(t *testing.T) {
	users := trunkcall.Unary[benchv1.UserModels, benchv1.UserModels]("/test.Service/Users")
	server := users.Handler(func(_ context.Context, r *benchv1.UserModels) (*benchv1.UserModels, error) { return r, nil })
	_, target := serve(t, nil, append(standard(), server)...)
	twice := func(ctx context.Context, call *trunkcall.Call, next trunkcall.Next) error {
		if err := next(ctx, call); err != nil {
			return err
		}
		return next(ctx, call)
	}
	c := dial(t, target, trunkcall.WithInterceptors(twice))
	answer, err := users.Call(soon(t), c, &benchv1.UserModels{Users: []*benchv1.UserModel{{}, {}}})
	if err != nil || len(answer.Users) != 2 {
		t.Fatalf("%d users, %v", len(answer.GetUsers()), err)
	}
}

// capacious is a payload that keeps its memory.
type capacious struct {
	payload
	memory []byte
}

func (c *capacious) UnmarshalVT(b []byte) error {
	c.Data = c.memory[:0]
	return c.payload.UnmarshalVT(b)
}

func TestAMessageMayKeepItsMemory(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	stream, err := trunkcall.Bidi[payload, capacious]("/test.Service/Chat").Open(soon(t), dial(t, target))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.CloseSend() }()
	answer := &capacious{memory: make([]byte, 0, 1000)}
	for _, words := range []string{"some words", "", "fewer"} {
		if err := stream.Send(text(words)); err != nil {
			t.Fatal(err)
		}
		if err := stream.ReceiveInto(answer); err != nil || string(answer.Data) != words {
			t.Fatalf("%q, %v", answer.Data, err)
		}
		if cap(answer.Data) != 1000 || &answer.Data[:1][0] != &answer.memory[:1][0] {
			t.Fatal("other memory")
		}
	}
}
