package trunkcall_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/trunkcall/trunkcall/go"
)

func TestEveryKindWorksOverEveryTransport(t *testing.T) {
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		t.Run("unary", func(t *testing.T) { mustEcho(t, c, "hello") })
		t.Run("server-streaming", func(t *testing.T) { checkServerStream(t, c) })
		t.Run("client-streaming", func(t *testing.T) { checkClientStream(t, c) })
		t.Run("bidi-streaming", func(t *testing.T) { checkBidi(t, c) })
	})
}

func checkServerStream(t *testing.T, c *trunkcall.Client) {
	s, err := produce.Call(soon(t), c, text("abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for {
		m, err := s.Receive()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got += string(m.Data)
	}
	if got != "abcdef" {
		t.Fatalf("got %q", got)
	}
	if _, err := s.Receive(); !errors.Is(err, io.EOF) {
		t.Fatalf("after the end: %v", err)
	}
}

func checkClientStream(t *testing.T, c *trunkcall.Client) {
	s, err := collect.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a", "", "bc", "d"} {
		if err := s.Send(text(part)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := s.CloseAndReceive(); err != nil || string(out.Data) != "abcd" {
		t.Fatalf("got %v, %v", out, err)
	}
}

func checkBidi(t *testing.T, c *trunkcall.Client) {
	s, err := chat.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		want := fmt.Sprint("message ", i)
		if err := s.Send(text(want)); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(); err != nil || string(m.Data) != want {
			t.Fatalf("got %v, %v", m, err)
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receive(); !errors.Is(err, io.EOF) {
		t.Fatalf("at the end: %v", err)
	}
	if err := s.Send(text("late")); !errors.Is(err, io.EOF) {
		t.Fatalf("sent after the end: %v", err)
	}
}

func TestStreamsWithoutMessagesEndWell(t *testing.T) {
	_, c := join(t)
	s, err := produce.Call(soon(t), c, text(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Receive(); !errors.Is(err, io.EOF) {
		t.Fatalf("empty server stream: %v", err)
	}
	up, err := collect.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := up.CloseAndReceive(); err != nil || len(out.Data) != 0 {
		t.Fatalf("empty client stream: %v, %v", out, err)
	}
	both, err := chat.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := both.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := both.Receive(); !errors.Is(err, io.EOF) {
		t.Fatalf("empty bidi stream: %v", err)
	}
}

// sizes are where messages change the way they travel: one frame, several,
// more than the window, the limit. A Payload takes two to five bytes beside
// its data.
var sizes = []int{0, 1, 1000, 16<<10 - 20, 65529, 65530, 65531, 65532, 65533, 65536, 65537, 131072, 256 << 10, 1 << 20, 8 << 20}

func TestMessagesOfEverySizeArriveWhole(t *testing.T) {
	computes(t)
	everywhere(t, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		s, err := chat.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range sizes {
			data := pattern(n)
			out, err := echo.Call(soon(t), c, &payload{Data: data})
			if err != nil || !bytes.Equal(out.Data, data) {
				t.Fatalf("unary, %d bytes: %d came back, %v", n, len(out.GetData()), err)
			}
			if err := s.Send(&payload{Data: data}); err != nil {
				t.Fatal(err)
			}
			if out, err = s.Receive(); err != nil || !bytes.Equal(out.Data, data) {
				t.Fatalf("stream, %d bytes: %d came back, %v", n, len(out.GetData()), err)
			}
		}
		_ = s.CloseSend()
		if _, err := s.Receive(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	})
}

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return b
}

// overhead is what Protobuf adds to the data of a large Payload.
const overhead = 5

func TestAMessageOfExactlyTheLimitPasses(t *testing.T) {
	computes(t)
	_, c := join(t)
	data := pattern(64<<20 - overhead)
	out, err := echo.Call(soon(t), c, &payload{Data: data})
	if err != nil || !bytes.Equal(out.Data, data) {
		t.Fatalf("%d bytes came back, %v", len(out.GetData()), err)
	}
}

func TestARequestAboveTheLimitIsNotSent(t *testing.T) {
	_, c := join(t)
	_, err := echo.Call(soon(t), c, &payload{Data: make([]byte, 64<<20-overhead+1)})
	s := wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent)
	wantsText(t, s.Message, "max_message", "67108864")
	mustEcho(t, c, "the connection lives")

	stream, err := chat.Open(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	err = stream.Send(&payload{Data: make([]byte, 64<<20-overhead+1)})
	wantsText(t, trunkcall.StatusOf(err).Message, "max_message", "67108864")
	// As with gRPC, a message that cannot be sent ends the call.
	_, err = stream.Receive()
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.DeliveryUnknown)
	mustEcho(t, c, "the connection lives")
}

func TestALowerLimitOfTheServerIsKeptByTheClient(t *testing.T) {
	for _, limit := range []uint32{1, 100, 100_000} {
		_, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{MessageBytes: limit})}, standard()...)
		c := dial(t, target)
		_, err := echo.Call(soon(t), c, &payload{Data: make([]byte, limit)})
		s := trunkcall.StatusOf(err)
		if s.Code != trunkcall.ResourceExhausted || s.Delivery != trunkcall.NotSent && s.Delivery != trunkcall.Refused {
			t.Fatalf("limit %d: %v", limit, err)
		}
		wantsText(t, s.Message, "max_message", fmt.Sprint(limit))
	}
}

func TestAnAnswerAboveTheClientsLimitFailsThatCallAlone(t *testing.T) {
	_, target := serve(t, nil, append(standard(), block.Handler(func(_ context.Context, in *payload) (*payload, error) {
		return &payload{Data: make([]byte, 200_000)}, nil
	}))...)
	for _, limit := range []uint32{10, 100_000} {
		c := dial(t, target, trunkcall.WithLimits(trunkcall.Limits{MessageBytes: limit}))
		_, err := block.Call(soon(t), c, text(""))
		s := trunkcall.StatusOf(err)
		if s.Code != trunkcall.ResourceExhausted {
			t.Fatalf("limit %d: %v", limit, err)
		}
		wantsText(t, s.Message, "max_message", fmt.Sprint(limit))
		mustEcho(t, c, "small")
		stream, err := produce.Call(soon(t), c, text("xyz"))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := stream.Receive(); err != nil || len(m.Data) != 1 {
			t.Fatal(m, err)
		}
		for err = nil; err == nil; {
			_, err = stream.Receive()
		}
	}
}

func TestACallsOwnLimitOfTheAnswer(t *testing.T) {
	_, c := join(t)
	_, err := echo.Call(soon(t), c, text("0123456789"), trunkcall.MaxReceive(5))
	if s := trunkcall.StatusOf(err); s.Code != trunkcall.ResourceExhausted {
		t.Fatal(err)
	}
	s, err := produce.Call(soon(t), c, text("ab"), trunkcall.MaxReceive(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Receive()
	wants(t, err, trunkcall.ResourceExhausted, trunkcall.DeliveryUnknown)
}

// A stock message without generated fast paths goes through Protobuf's own
// library.
func TestMessagesWithoutFastPathsWork(t *testing.T) {
	method := trunkcall.Unary[structpb.Struct, structpb.Struct]("/test.Service/Struct")
	_, c := join(t, method.Handler(func(_ context.Context, in *structpb.Struct) (*structpb.Struct, error) { return in, nil }))
	in, _ := structpb.NewStruct(map[string]any{"a": 1.0, "b": "two"})
	out, err := method.Call(soon(t), c, in)
	if err != nil || out.Fields["b"].GetStringValue() != "two" {
		t.Fatal(out, err)
	}
}

func TestInvokeByNameWorksWithAndWithoutTheSlash(t *testing.T) {
	_, c := join(t)
	for _, name := range []string{"/test.Service/Echo", "test.Service/Echo"} {
		out := &payload{}
		if err := c.Invoke(soon(t), unary(name), text("x"), out); err != nil || string(out.Data) != "x" {
			t.Fatal(name, out, err)
		}
		s, err := trunkcall.OpenStream(soon(t), c, trunkcall.NewMethod("test.Service/Chat", trunkcall.KindBidiStream))
		if err != nil {
			t.Fatal(err)
		}
		_ = s.CloseSend()
		if err := s.Receive(out); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}

func TestMoreNamesThanTheTableHoldsCanBeCalled(t *testing.T) {
	computes(t)
	s, c := join(t)
	for i := range 5000 {
		name := fmt.Sprintf("/test.Many/Method%d", i)
		if i%1000 == 999 {
			if err := s.Register(trunkcall.Unary[payload, payload](name).Handler(serveEcho)); err != nil {
				t.Fatal(err)
			}
		}
		err := c.Invoke(soon(t), unary(name), text("x"), &payload{})
		if i%1000 == 999 && err != nil {
			t.Fatal(name, err)
		}
		if i%1000 != 999 {
			wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
		}
	}
}

func TestGoroutineThatReceivesEndsWithItsHandler(t *testing.T) {
	everywhere(t, func(t *testing.T, s *trunkcall.Server, c *trunkcall.Client) {
		left := trunkcall.Bidi[structpb.Value, structpb.Value]("/test.Left/Behind")
		received := make(chan error, 1)
		s.Register(left.Handler(func(_ context.Context, s *trunkcall.BidiStream[structpb.Value, structpb.Value]) error {
			first, err := s.Receive()
			if err != nil {
				return err
			}
			go func() {
				_, err := s.Receive()
				received <- err
			}()
			return s.Send(first)
		}))
		stream, err := left.Open(soon(t), c)
		if err == nil {
			err = stream.Send(structpb.NewBoolValue(true))
		}
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = stream.Receive()
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		select {
		case err := <-received:
			if err == nil {
				t.Error("it received what nobody has sent")
			}
		case <-soon(t).Done():
			t.Error("it waits for what nobody will send")
		}
	})
}
