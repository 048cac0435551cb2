package trunkcall_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// A thousand streams of one connection whose readers read nothing fill their windows and use
// up the pool; one that is read goes on beside them. The detector of races learns as much from fewer.
func TestAStreamGoesOnBesideAThousandThatStandStill(t *testing.T) {
	const small, large = 16_000, 1 << 20
	stalled, messages := among(1000, 100), among(64, 16)
	full := int64(stalled * (wire.DefaultWindow - 2*small)) // and no less lies there
	down := trunkcall.ServerStream[payload, payload]("/test.Service/Down")
	up := trunkcall.ClientStream[payload, payload]("/test.Service/Up")
	leave := make(chan struct{})
	s, target := serve(t, serverOptions{trunkcall.WithMemory(1 << 30)},
		down.Handler(func(_ context.Context, in *payload, out *trunkcall.Sender[payload]) error {
			for i := 0; len(in.Data) == small || i < messages; i++ {
				if err := out.Send(in); err != nil {
					return err
				}
			}
			return nil
		}),
		up.Handler(func(ctx context.Context, in *trunkcall.Receiver[payload]) (*payload, error) {
			for n := 0; ; n++ {
				m, err := in.Receive()
				if errors.Is(err, io.EOF) {
					return numbered(n, 4), nil
				}
				if err != nil {
					return nil, err
				}
				if len(m.Data) == small {
					select {
					case <-leave:
					case <-ctx.Done():
					}
					return &payload{}, nil
				}
			}
		}))
	defer close(leave)

	t.Run("from the server", func(t *testing.T) {
		c := dial(t, target, trunkcall.WithMemory(1<<30))
		ctx, cancel := context.WithCancel(soon(t))
		defer cancel()
		for range stalled {
			if _, err := down.Call(ctx, c, numbered(0, small)); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "they stand still", func() bool { return c.Gauges().HeldBytes >= full })
		fast, err := down.Call(ctx, c, numbered(0, large))
		if err != nil {
			t.Fatal(err)
		}
		for range messages {
			if m, err := fast.Receive(); err != nil || len(m.Data) != large {
				t.Fatal(err)
			}
		}
	})
	t.Run("from the client", func(t *testing.T) {
		c := dial(t, target)
		ctx, cancel := context.WithCancel(soon(t))
		defer cancel()
		for range stalled {
			s, err := up.Open(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for err := error(nil); err == nil; {
					err = s.Send(numbered(0, small))
				}
			}()
		}
		eventually(t, "they stand still", func() bool { return s.Gauges().HeldBytes >= full })
		fast, err := up.Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		for range messages {
			if err := fast.Send(numbered(0, large)); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := fast.CloseAndReceive(); err != nil || number(n) != messages {
			t.Fatal(n, err)
		}
	})
}
