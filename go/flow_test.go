package trunkcall_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func numbered(i, size int) *payload {
	m := &payload{Data: make([]byte, max(size, 4))}
	binary.LittleEndian.PutUint32(m.Data, uint32(i))
	return m
}

func number(m *payload) int { return int(binary.LittleEndian.Uint32(m.GetData())) }

// spent adds up what frames cost of a window.
func spent(h *wire.Header) int64 {
	if h.Flags&wire.FlagMsg == 0 {
		return 0
	}
	return int64(h.Length) + wire.HeaderSize
}

// A client whose server grants no credit sends one window and no more,
// whatever its messages are cut into; with credit it goes on.
func TestASenderStopsAtTheWindow(t *testing.T) {
	for name, size := range map[string]int{"small": 100, "frames": 60_000, "one large": 10 << 20} {
		t.Run(name, func(t *testing.T) {
			l := rawframe.Listen(t)
			c := newClient(t, l.Target())
			t.Cleanup(c.Close)
			ctx, cancel := context.WithCancel(context.Background())
			var sender sync.WaitGroup
			var sent atomic.Int64
			sender.Go(func() {
				s, err := chat.Open(ctx, c)
				if err != nil {
					t.Error(err)
					return
				}
				for s.Send(&payload{Data: make([]byte, size)}) == nil {
					sent.Add(int64(size))
				}
			})
			p := l.Next()
			p.Greet()
			window, id := int64(wire.DefaultWindow), p.Await(wire.Call).Stream
			used := int64(0)
			for round := range 3 {
				for used+int64(size)+64 < window && used+wire.MinPiece+wire.HeaderSize <= window {
					f := p.Await(wire.Data)
					used += spent(&f.Header)
				}
				// Nothing but the answer may follow what the window allowed.
				p.Send(rawframe.Ping(0, uint32(round)))
				for {
					f, err := p.Next()
					if err != nil {
						t.Fatal(err)
					}
					if used += spent(&f.Header); used > window {
						t.Fatalf("round %d: %d of %d bytes", round, used, window)
					}
					if f.Type == wire.Ping {
						break
					}
				}
				window += 200_000
				p.Send(rawframe.Credit(id, 200_000))
			}
			// One message may wait in memory.
			if n := sent.Load(); n > window+int64(size) {
				t.Errorf("Send took %d bytes for a window of %d", n, window)
			}
			cancel()
			sender.Wait()
		})
	}
}

// The same between real ends: while the handler takes nothing, a sender gets
// rid of one window; afterwards everything arrives in order.
func TestASlowConsumerStopsItsSenderAndLosesNothing(t *testing.T) {
	const size = 10_000
	messages := among(2000, 500)
	g := newGate(t)
	method := trunkcall.ClientStream[payload, payload]("/test.Service/Slow")
	everywhereWith(t, []trunkcall.ServerOption{trunkcall.WithLimits(trunkcall.Limits{Pool: -1})}, func(t *testing.T, _ *trunkcall.Server, c *trunkcall.Client) {
		g := newGate(t)
		gates <- g
		s, err := method.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		var sent atomic.Int64
		done := make(chan error, 1)
		go func() {
			for i := range messages {
				if err := s.Send(numbered(i, size)); err != nil {
					done <- err
					return
				}
				sent.Add(1)
			}
			done <- nil
		}()
		const window = wire.DefaultWindow / size
		eventually(t, "the window is used", func() bool { return sent.Load() >= window-1 })
		mustEcho(t, c, "others go on")
		if n := sent.Load(); n > window+1 {
			t.Fatalf("%d messages were taken from the sender, the window holds %d", n, window)
		}
		g.open()
		if err := receive(t, done, "end of sending"); err != nil {
			t.Fatal(err)
		}
		if out, err := s.CloseAndReceive(); err != nil || number(out) != messages {
			t.Fatalf("%v, %v", out, err)
		}
	}, method.Handler(func(_ context.Context, in *trunkcall.Receiver[payload]) (*payload, error) {
		<-(<-gates).leave
		for i := 0; ; i++ {
			m, err := in.Receive()
			if errors.Is(err, io.EOF) {
				return numbered(i, 0), nil
			}
			if err != nil || number(m) != i {
				return nil, trunkcall.Errorf(trunkcall.DataLoss, "message %d is %d: %v", i, number(m), err)
			}
		}
	}))
	g.open()
}

var gates = make(chan *gate, 1)

func TestAHandlerStopsForASlowReader(t *testing.T) {
	const messages, size = 3000, 10_000
	var sent atomic.Int64
	method := trunkcall.ServerStream[payload, payload]("/test.Service/Fast")
	_, target := serve(t, nil, append(standard(), method.Handler(func(_ context.Context, _ *payload, out *trunkcall.Sender[payload]) error {
		for i := range messages {
			if err := out.Send(numbered(i, size)); err != nil {
				return err
			}
			sent.Add(1)
		}
		return nil
	}))...)
	c := dial(t, target, trunkcall.WithLimits(trunkcall.Limits{Pool: -1}))
	s, err := method.Call(soon(t), c, text(""))
	if err != nil {
		t.Fatal(err)
	}
	const window = wire.DefaultWindow / size
	eventually(t, "the window is used", func() bool { return sent.Load() >= window-1 })
	for range 100 {
		mustEcho(t, c, "others go on")
	}
	if n := sent.Load(); n > window+1 {
		t.Fatalf("%d messages were taken from the handler, the window holds %d", n, window)
	}
	for i := range messages {
		if m, err := s.Receive(); err != nil || number(m) != i {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if _, err := s.Receive(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

func TestManyStreamsBothWaysAtOnce(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c := dial(t, target, trunkcall.WithConnections(2))
	streams := among(40, 12)
	var all sync.WaitGroup
	for stream := range streams {
		all.Go(func() {
			s, err := chat.Open(soon(t), c)
			if err != nil {
				t.Error(err)
				return
			}
			size := func(i int) int { return (i*7919 + stream*104729) % 90_000 }
			const messages = 60
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for i := range messages {
					if err := s.Send(numbered(i, size(i))); err != nil {
						t.Error(err)
					}
				}
				_ = s.CloseSend()
			}()
			for i := range messages {
				if m, err := s.Receive(); err != nil || number(m) != i || len(m.Data) != max(size(i), 4) {
					t.Errorf("stream %d, message %d: %d, %d bytes, %v", stream, i, number(m), len(m.GetData()), err)
					break
				}
			}
			if _, err := s.Receive(); !errors.Is(err, io.EOF) {
				t.Errorf("stream %d: %v", stream, err)
			}
			<-sent
		})
	}
	all.Wait()
}

func TestSmallCallsGoOnBesideLargeOnes(t *testing.T) {
	large := among(8<<20, 2<<20)
	_, c := join(t)
	stop := make(chan struct{})
	var bulk sync.WaitGroup
	var rounds atomic.Int32
	for range 3 {
		bulk.Go(func() {
			data := pattern(large)
			for {
				out, err := echo.Call(context.Background(), c, &payload{Data: data})
				if err != nil || !bytes.Equal(out.Data, data) {
					t.Error(err)
					return
				}
				rounds.Add(1)
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for rounds.Load() < 6 {
		mustEcho(t, c, "small")
	}
	close(stop)
	bulk.Wait()
}

func TestAnAbandonedStreamHarmsNobody(t *testing.T) {
	s, c := join(t)
	for range 30 {
		ctx, cancel := context.WithCancel(context.Background())
		stream, err := chat.Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		go func() { // nobody receives: it stops for want of credit
			for stream.Send(&payload{Data: make([]byte, 50_000)}) == nil { // until the call ends
			}
		}()
		mustEcho(t, c, "meanwhile")
		cancel()
	}
	eventually(t, "handlers end", func() bool { return s.Running() == 0 })
	checkBidi(t, c)
}

func TestAHandlerMayReturnWhileTheClientStillSends(t *testing.T) {
	method := trunkcall.ClientStream[payload, payload]("/test.Service/Early")
	_, c := join(t, method.Handler(func(_ context.Context, in *trunkcall.Receiver[payload]) (*payload, error) {
		if _, err := in.Receive(); err != nil {
			return nil, err
		}
		return text("enough"), nil
	}))
	for range 50 {
		s, err := method.Open(soon(t), c)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			err = s.Send(&payload{Data: make([]byte, 30_000)})
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if out, err := s.CloseAndReceive(); err != nil || string(out.Data) != "enough" {
			t.Fatalf("%v, %v", out, err)
		}
	}
	mustEcho(t, c, "x")
}

// Answers of handlers whose calls had been given up are not kept.
func TestAnswersThatNobodyWantsAreNotKept(t *testing.T) {
	g := newGate(t)
	s, c := join(t, trunkcall.Unary[payload, payload]("/test.Service/Large").Handler(func(ctx context.Context, _ *payload) (*payload, error) {
		g.entered <- ctx
		<-g.leave
		return &payload{Data: make([]byte, 8<<20)}, nil
	}))
	before := heap()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = c.Invoke(ctx, unary("/test.Service/Large"), text(""), &payload{}) })
	}
	for range 20 {
		g.await(t)
	}
	cancel()
	all.Wait()
	g.open()
	eventually(t, "all handlers have returned", func() bool { return s.Running() == 0 })
	eventually(t, "their answers are let go of", func() bool { return heap() < before+40<<20 })
}

// Messages of a stream that was cancelled are not kept for a handler that goes
// on without them.
func TestMessagesOfACancelledStreamAreNotKept(t *testing.T) {
	g := newGate(t)
	stuck := trunkcall.Bidi[payload, payload]("/test.Service/Stuck")
	_, target := serve(t, nil, stuck.Handler(func(ctx context.Context, _ *trunkcall.BidiStream[payload, payload]) error {
		g.entered <- ctx
		<-g.leave
		return nil
	}))
	c := dial(t, target)
	before := heap()
	for range 40 {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := stuck.Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		for range 60 { // within the window
			if err := s.Send(&payload{Data: make([]byte, 4000)}); err != nil {
				t.Fatal(err)
			}
		}
		handler := g.await(t)
		cancel()
		ends(t, handler)
	}
	eventually(t, "what was sent is let go of", func() bool { return heap() < before+4<<20 })
}

// A slow reader of many streams stops their senders, however small the messages:
// none of the calls fails for what the others have waiting.
func TestManyStreamsOfTinyMessagesWaitForTheirReader(t *testing.T) {
	const messages = 15_000 // a window holds as many
	streams := among(24, 8)
	var sent atomic.Int64
	arrived := make(chan struct{})
	release := sync.OnceFunc(func() { close(arrived) })
	defer release()
	method := trunkcall.ServerStream[payload, payload]("/test.Service/Tiny")
	_, c := join(t, method.Handler(func(_ context.Context, _ *payload, out *trunkcall.Sender[payload]) error {
		for range messages {
			if err := out.Send(&payload{}); err != nil {
				return err
			}
			sent.Add(1)
		}
		<-arrived // what has ended does not count
		return nil
	}))
	open := make([]*trunkcall.Receiver[payload], streams)
	for i := range open {
		var err error
		if open[i], err = method.Call(soon(t), c, text("")); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all is on its way", func() bool { return sent.Load() == int64(streams*messages) })
	mustEcho(t, c, "what was sent before has arrived")
	release()
	for i, s := range open {
		for n := range messages {
			if _, err := s.Receive(); err != nil {
				t.Fatalf("stream %d, message %d: %v", i, n, err)
			}
		}
		if _, err := s.Receive(); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
}
