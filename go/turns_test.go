package trunkcall_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
)

// gathering has those who come first wait for each other, then each of them call.
type gathering struct {
	call func() error
	mu   sync.Mutex
	left int
	all  chan struct{}
}

// turns is how many messages are compressed or decompressed at once.
func turns() int { return max(2, runtime.GOMAXPROCS(0)) }

// newGathering has as many gather as there are turns. They call by way of a message
// that is compressed both ways.
func newGathering(t *testing.T) *gathering {
	_, target := serve(t, nil, standard()...)
	c := dial(t, target, trunkcall.WithCompression(trunkcall.Gzip))
	ctx := soon(t)
	return &gathering{left: turns(), all: make(chan struct{}), call: func() error {
		_, err := echo.Call(ctx, c, wordy(10_000))
		return err
	}}
}

func (g *gathering) come() error {
	g.mu.Lock()
	if g.left--; g.left == 0 {
		close(g.all)
	}
	g.mu.Unlock()
	<-g.all
	return g.call()
}

// calling makes calls while it decodes.
type calling struct {
	trunkcall.Codec
	g *gathering
}

func (c calling) Decode(data []byte, message any) error {
	if err := c.g.come(); err != nil {
		return err
	}
	return c.Codec.Decode(data, message)
}

// callingCompression makes calls while it compresses, or decompresses.
type callingCompression struct {
	trunkcall.Compression
	packing, unpacking *gathering
}

func (c callingCompression) Compress(dst, message []byte) ([]byte, error) {
	if c.packing != nil {
		if err := c.packing.come(); err != nil {
			return nil, err
		}
	}
	return c.Compression.Compress(dst, message)
}

func (c callingCompression) Decompress(dst, data []byte, limit int) ([]byte, error) {
	if c.unpacking != nil {
		if err := c.unpacking.come(); err != nil {
			return nil, err
		}
	}
	return c.Compression.Decompress(dst, data, limit)
}

func TestCodecsAndCompressionsOfOnesOwnMayMakeCalls(t *testing.T) {
	for what, options := range map[string]func(g *gathering) (trunkcall.Option, trunkcall.Compression){
		"a codec that decodes": func(g *gathering) (trunkcall.Option, trunkcall.Compression) {
			return trunkcall.WithCodecs(calling{trunkcall.Protobuf, g}), trunkcall.Gzip
		},
		"a compression that decompresses": func(g *gathering) (trunkcall.Option, trunkcall.Compression) {
			return trunkcall.WithDecompression(callingCompression{trunkcall.Zstd, nil, g}), trunkcall.Zstd
		},
		"a compression that compresses": func(g *gathering) (trunkcall.Option, trunkcall.Compression) {
			return trunkcall.WithCodecs(), callingCompression{trunkcall.Gzip, g, nil}
		},
	} {
		t.Run(what, func(t *testing.T) {
			g := newGathering(t)
			at, with := options(g)
			_, target := serve(t, serverOptions{at}, standard()...)
			c := dial(t, target, trunkcall.WithCompression(with))
			ctx, ended := soon(t), make(chan error, turns())
			for range turns() {
				go func() {
					_, err := echo.Call(ctx, c, wordy(10_000))
					ended <- err
				}()
			}
			for range turns() {
				if err := receive(t, ended, "end of a call"); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-g.all:
			default:
				t.Error("they did not meet")
			}
		})
	}
}

// meeting is where messages gather that make calls while they are decoded.
var meeting atomic.Pointer[gathering]

// callingText makes a call while it is decoded from text.
type callingText struct{ text string }

func (c callingText) MarshalText() ([]byte, error) { return []byte(c.text), nil }
func (c *callingText) UnmarshalText(text []byte) error {
	c.text = string(text)
	return meeting.Load().come()
}

// callingMessage is a Protobuf message with a method of its own that makes a call.
type callingMessage struct{ payload }

func (c *callingMessage) UnmarshalVT(data []byte) error {
	if err := meeting.Load().come(); err != nil {
		return err
	}
	return c.payload.UnmarshalVT(data)
}

func TestMessagesWithMethodsOfOnesOwnMayMakeCalls(t *testing.T) {
	message := trunkcall.Unary[callingMessage, payload]("/test.Service/Calling")
	server, target := serve(t, nil, append(standard(), message.Handler(func(context.Context, *callingMessage) (*payload, error) {
		return &payload{}, nil
	}))...)
	if err := codefirst.RegisterFunc(server, "test/calling", func(callingText) {}); err != nil {
		t.Fatal(err)
	}
	c := dial(t, target, trunkcall.WithCompression(trunkcall.Gzip))
	words := string(wordy(10_000).Data)
	inText := func(codec trunkcall.Codec) func(context.Context) error {
		call := codefirst.Func[func(context.Context, callingText) error](dial(t, target, trunkcall.WithCompression(trunkcall.Gzip), trunkcall.WithCodec(codec)), "test/calling")
		return func(ctx context.Context) error { return call(ctx, callingText{words}) }
	}
	for name, call := range map[string]func(context.Context) error{
		"Protobuf": func(ctx context.Context) error {
			_, err := message.Call(ctx, c, &callingMessage{payload{Data: []byte(words)}})
			return err
		},
		"JSON":        inText(codefirst.JSON),
		"MessagePack": inText(codefirst.MessagePack),
	} {
		t.Run(name, func(t *testing.T) {
			meeting.Store(newGathering(t))
			ctx, ended := soon(t), make(chan error, turns())
			for range turns() {
				go func() { ended <- call(ctx) }()
			}
			for range turns() {
				if err := receive(t, ended, "end of a call"); err != nil {
					t.Error(err)
				}
			}
			select {
			case <-meeting.Load().all:
			default:
				t.Error("they did not meet")
			}
		})
	}
}

// slowCodec decodes when it may.
type slowCodec struct {
	trunkcall.Codec
	entered chan int
	leave   chan struct{}
}

func (c slowCodec) Decode(data []byte, message any) error {
	c.entered <- len(data)
	<-c.leave
	return c.Codec.Decode(data, message)
}

// Messages that have no turn are bounded by what they hold: what there is no room for is
// refused, and may come again.
func TestMessagesDecompressedForACodecOfOnesOwnAreBounded(t *testing.T) {
	for _, compression := range []trunkcall.Compression{trunkcall.Gzip, trunkcall.Zstd, &spy{Compression: trunkcall.Gzip}, &spy{Compression: trunkcall.Zstd}} {
		t.Run(compression.Name(), func(t *testing.T) {
			slow := slowCodec{trunkcall.Protobuf, make(chan int, 10), make(chan struct{})}
			_, target := serve(t, serverOptions{
				trunkcall.WithCodecs(slow), trunkcall.WithMemory(1 << 20), trunkcall.WithDecompression(compression),
			}, standard()...)
			c := dial(t, target, trunkcall.WithCompression(compression))
			call := func(ctx context.Context) error {
				_, err := echo.Call(ctx, c, wordy(700_000))
				return err
			}
			ended := make(chan error, 1)
			ctx := soon(t)
			go func() { ended <- call(ctx) }()
			receive(t, slow.entered, "message")
			refused := make(chan error, 1)
			go func() { refused <- call(ctx) }()
			err := receive(t, refused, "refusal")
			wantsText(t, wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused).Message, "memory 1048576")
			close(slow.leave)
			if err := receive(t, ended, "end of the first"); err != nil {
				t.Error(err)
			}
			if err := call(ctx); err != nil {
				t.Error("when there is room again:", err)
			}
		})
	}
}

// understated says of a message that it comes to 100 bytes.
type understated struct{ trunkcall.Compression }

func (c understated) Compress(dst, message []byte) ([]byte, error) {
	dst, err := c.Compression.Compress(dst, message)
	copy(dst[len(dst)-4:], []byte{100, 0, 0, 0})
	return dst, err
}

// limited notes which limit it is given.
type limited struct {
	trunkcall.Compression
	limit atomic.Int64
}

func (l *limited) Decompress(dst, data []byte, limit int) ([]byte, error) {
	l.limit.Store(int64(limit))
	return l.Compression.Decompress(dst, data, limit)
}

// What counts for a message that has no turn is all that it may come to.
func TestACompressionOfOnesOwnIsGivenWhatTheMessageSays(t *testing.T) {
	own := &limited{Compression: trunkcall.Gzip}
	_, target := serve(t, serverOptions{trunkcall.WithDecompression(own)}, standard()...)
	c := dial(t, target, trunkcall.WithCompression(understated{trunkcall.Gzip}))
	_, err := echo.Call(soon(t), c, wordy(10_000))
	wantsText(t, wants(t, err, trunkcall.InvalidArgument, trunkcall.Refused).Message, "gzip", "100 bytes")
	if n := own.limit.Load(); n != 100 {
		t.Errorf("it may come to %d bytes", n)
	}
}
