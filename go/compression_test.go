package trunkcall_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// spy counts what a compression is asked to do.
type spy struct {
	trunkcall.Compression
	packed, unpacked atomic.Int64
}

func (s *spy) Compress(dst, message []byte) ([]byte, error) {
	s.packed.Add(1)
	return s.Compression.Compress(dst, message)
}

func (s *spy) Decompress(dst, data []byte, limit int) ([]byte, error) {
	s.unpacked.Add(1)
	return s.Compression.Decompress(dst, data, limit)
}

func (s *spy) wants(t testing.TB, who string, packed, unpacked int64) {
	t.Helper()
	if p, u := s.packed.Load(), s.unpacked.Load(); p != packed || u != unpacked {
		t.Errorf("%s compressed %d and decompressed %d messages, want %d and %d", who, p, u, packed, unpacked)
	}
}

var bothCompressions = []trunkcall.Compression{trunkcall.Gzip, trunkcall.Zstd}

// wordy is text that shrinks.
func wordy(size int) *payload { return text(strings.Repeat("Ferngespräch ", size/14+1)[:size]) }

func noise(size int) *payload {
	b := make([]byte, size)
	_, _ = rand.Read(b)
	return &payload{Data: b}
}

// fresh is a service of all kinds whose answers are as long as the requests.
func fresh() []trunkcall.Handler {
	return append(standard(), again.Handler(func(_ context.Context, in *payload, out *trunkcall.Sender[payload]) error {
		for range 3 {
			if err := out.Send(in); err != nil {
				return err
			}
		}
		return nil
	}))
}

var again = trunkcall.ServerStream[payload, payload]("/test.Service/Again")

// exchange makes a call of each kind with a message and returns how many
// messages went each way.
func exchange(t testing.TB, c *trunkcall.Client, in *payload, options ...trunkcall.CallOption) (sent, answered int64) {
	t.Helper()
	same := func(what string, out *payload, err error) {
		t.Helper()
		if err != nil || !bytes.Equal(out.Data, in.Data) {
			t.Fatalf("%s: %d bytes, %v", what, len(out.GetData()), err)
		}
		answered++
	}
	out, err := echo.Call(soon(t), c, in, options...)
	same("unary", out, err)
	responses, err := again.Call(soon(t), c, in, options...)
	for range 3 {
		if err == nil {
			out, err = responses.Receive()
		}
		same("server-streaming", out, err)
	}
	if _, err := responses.Receive(); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	requests, err := collect.Open(soon(t), c, options...)
	if err == nil {
		_ = requests.Send(in)
		out, err = requests.CloseAndReceive()
	}
	same("client-streaming", out, err)
	both, err := chat.Open(soon(t), c, options...)
	for range 2 {
		if err == nil {
			_ = both.Send(in)
			out, err = both.Receive()
		}
		same("bidi-streaming", out, err)
	}
	_ = both.CloseSend()
	return 5, answered
}

func TestMessagesOfAllKindsAreCompressedBothWays(t *testing.T) {
	for _, compression := range bothCompressions {
		for _, size := range []int{1 << 10, 60_000, 3 << 20} {
			t.Run(fmt.Sprint(compression.Name(), size), func(t *testing.T) {
				ours, theirs := &spy{Compression: compression}, &spy{Compression: compression}
				_, target := serve(t, serverOptions{trunkcall.WithDecompression(theirs)}, fresh()...)
				c := dial(t, target, trunkcall.WithCompression(ours), trunkcall.WithDecompression(ours))
				sent, answered := exchange(t, c, wordy(size))
				ours.wants(t, "the client", sent, answered)
				theirs.wants(t, "the server", answered, sent)
			})
		}
	}
}

func TestOneCallMayBeCompressed(t *testing.T) {
	ours := &spy{Compression: trunkcall.Zstd}
	_, target := serve(t, nil, fresh()...)
	c := dial(t, target, trunkcall.WithDecompression(ours))
	exchange(t, c, wordy(10_000))
	ours.wants(t, "a client that was not told", 0, 0)
	sent, answered := exchange(t, c, wordy(10_000), trunkcall.CallCompression(ours))
	ours.wants(t, "a call that was told", sent, answered)

	c = dial(t, target, trunkcall.WithCompression(ours))
	exchange(t, c, wordy(10_000), trunkcall.CallCompression())
	ours.wants(t, "a call that was told not to", sent, answered)
}

func TestAServerMayCompressWhatItIsNotAskedTo(t *testing.T) {
	theirs := &spy{Compression: trunkcall.Gzip}
	_, target := serve(t, serverOptions{trunkcall.WithCompression(theirs)}, fresh()...)
	_, answered := exchange(t, dial(t, target), wordy(10_000))
	theirs.wants(t, "the server", answered, 0)
	exchange(t, dial(t, target, trunkcall.WithDecompression(trunkcall.Zstd)), wordy(10_000))
	theirs.wants(t, "the server, to one that does not accept it,", answered, 0)
}

func TestAServerMayAnswerPlainAlways(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithCompression()}, fresh()...)
	ours := &spy{Compression: trunkcall.Gzip}
	c := dial(t, target, trunkcall.WithCompression(ours), trunkcall.WithDecompression(ours))
	sent, _ := exchange(t, c, wordy(10_000))
	ours.wants(t, "the client", sent, 0)
}

func TestTheFirstCompressionThatThePeerAcceptsIsUsed(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithDecompression(trunkcall.Gzip)}, fresh()...)
	zstd, gzip := &spy{Compression: trunkcall.Zstd}, &spy{Compression: trunkcall.Gzip}
	sent, _ := exchange(t, dial(t, target, trunkcall.WithCompression(zstd, gzip)), wordy(10_000))
	zstd.wants(t, "what is not accepted", 0, 0)
	gzip.wants(t, "what is", sent, 0)

	_, target = serve(t, serverOptions{trunkcall.WithDecompression()}, fresh()...)
	exchange(t, dial(t, target, trunkcall.WithCompression(zstd, gzip)), wordy(10_000))
	gzip.wants(t, "where nothing is", sent, 0)
}

func TestShortAndEmptyMessagesAreNotCompressed(t *testing.T) {
	ours, theirs := &spy{Compression: trunkcall.Gzip}, &spy{Compression: trunkcall.Gzip}
	both := trunkcall.WithCompression(theirs)
	_, target := serve(t, serverOptions{both, trunkcall.WithDecompression(theirs)}, fresh()...)
	c := dial(t, target, trunkcall.WithCompression(ours), trunkcall.WithDecompression(ours))
	for _, size := range []int{0, 1, 1000} { // with what Protobuf adds, less than 1 KiB
		exchange(t, c, wordy(size))
	}
	ours.wants(t, "the client", 0, 0)
	theirs.wants(t, "the server", 0, 0)
}

func TestWhatDoesNotShrinkIsSentAsItIsAndSoonNotTried(t *testing.T) {
	ours, theirs := &spy{Compression: trunkcall.Zstd}, &spy{Compression: trunkcall.Zstd}
	_, target := serve(t, serverOptions{trunkcall.WithCompression(theirs), trunkcall.WithDecompression(theirs)}, standard()...)
	c := dial(t, target, trunkcall.WithCompression(ours))
	in := noise(5000)
	for range 200 {
		if out, err := echo.Call(soon(t), c, in); err != nil || !bytes.Equal(out.Data, in.Data) {
			t.Fatal(err)
		}
	}
	// 4 at first; then after 16, 32, 64 that were not tried one each.
	ours.wants(t, "the client", 7, 0)
	theirs.wants(t, "the server", 7, 0)
}

// broken fails.
type broken struct{ trunkcall.Compression }

func (broken) Compress(dst, _ []byte) ([]byte, error) { return dst, errors.New("out of order") }

func TestACompressionThatFailsLeavesMessagesPlain(t *testing.T) {
	_, target := serve(t, serverOptions{trunkcall.WithCompression(broken{trunkcall.Zstd})}, fresh()...)
	exchange(t, dial(t, target, trunkcall.WithCompression(broken{trunkcall.Gzip})), wordy(10_000))
}

func TestNothingIsCompressedBeforeThePeersSettingsAreKnown(t *testing.T) {
	l := rawframe.Listen(t)
	c := newClient(t, l.Target(), trunkcall.WithCompression(trunkcall.Gzip))
	t.Cleanup(c.Close)
	called := make(chan error, 2)
	call := func() {
		_, err := echo.Call(soon(t), c, wordy(10_000))
		called <- err
	}
	go call()
	p := l.Next()
	p.ReadPreface()
	first := p.Await(wire.Call)
	if first.Compression != 0 {
		t.Errorf("compression %d", first.Compression)
	}
	p.Send(rawframe.Preface(func(preface *wire.Preface) { preface.Settings.Compressions = 1 << wire.Gzip }))
	p.Send(rawframe.Result(first.Stream, nil))
	if err := receive(t, called, "answer"); err != nil {
		t.Fatal(err)
	}
	go call()
	second := p.Await(wire.Call)
	if second.Compression != wire.Gzip || len(second.Body) > 1000 {
		t.Errorf("compression %d, %d bytes", second.Compression, len(second.Body))
	}
	p.Send(rawframe.Result(second.Stream, nil))
	if err := receive(t, called, "answer"); err != nil {
		t.Fatal(err)
	}
}

func TestACompressedMessageCountsByItsLengthBefore(t *testing.T) {
	limits := trunkcall.WithLimits(trunkcall.Limits{MessageBytes: 100_000})
	_, target := serve(t, serverOptions{limits}, fresh()...)
	c := dial(t, target, trunkcall.WithCompression(trunkcall.Gzip))
	_, err := echo.Call(soon(t), c, wordy(200_000))
	wantsText(t, wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent).Message, "100000")

	_, target = serve(t, nil, fresh()...)
	c = dial(t, target, trunkcall.WithCompression(trunkcall.Gzip), limits)
	_, err = echo.Call(soon(t), c, wordy(200_000))
	wantsText(t, wants(t, err, trunkcall.ResourceExhausted, trunkcall.Executed).Message, "100000")

	c = dial(t, target, trunkcall.WithCompression(trunkcall.Gzip))
	_, err = echo.Call(soon(t), c, wordy(200_000), trunkcall.MaxReceive(150_000))
	wantsText(t, wants(t, err, trunkcall.ResourceExhausted, trunkcall.Executed).Message, "call's limit", "150000")
}

func TestCompressionsThatCannotBeAreTold(t *testing.T) {
	_, served := serve(t, nil, standard()...)
	for _, one := range []trunkcall.Compression{nil, renumbered{trunkcall.Gzip, 3}} {
		_, err := echo.Call(soon(t), dial(t, served), text("x"), trunkcall.CallCompression(one))
		wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent)
		_, err = chat.Open(soon(t), dial(t, served), trunkcall.CallCompression(one))
		wants(t, err, trunkcall.InvalidArgument, trunkcall.NotSent)
	}
	for _, option := range []trunkcall.Option{
		trunkcall.WithCompression(renumbered{trunkcall.Gzip, 3}), trunkcall.WithDecompression(renumbered{trunkcall.Gzip, 200}),
		trunkcall.WithCompression(trunkcall.Compression(nil)), trunkcall.WithDecompression(trunkcall.Compression(nil)),
	} {
		faulty(t, "mem:none", option, "compression")
	}
}

// renumbered is a compression by another number.
type renumbered struct {
	trunkcall.Compression
	number uint8
}

func (n renumbered) Number() uint8 { return n.number }

// One-way, asynchronous and code-first calls are compressed like others, those of a
// server to its client included.
func TestEveryWayOfCallingIsCompressed(t *testing.T) {
	post := trunkcall.OneWay[payload]("/test.Service/Post")
	for _, size := range []int{2 << 10, 70_000, 3 << 20} {
		posted := make(chan *payload, 1)
		same, err := codefirst.FuncHandler("code/same", func(s string) string { return s })
		if err != nil {
			t.Fatal(err)
		}
		handlers := append(fresh(), same, post.Handler(func(_ context.Context, in *payload) error {
			posted <- in
			return nil
		}))
		atServer, atClient := &spy{Compression: trunkcall.Zstd}, &spy{Compression: trunkcall.Zstd}
		s, target := serve(t, serverOptions{trunkcall.WithCompression(atServer), trunkcall.WithDecompression(atServer)}, handlers...)
		c := dial(t, target, trunkcall.WithCompression(atClient), trunkcall.WithDecompression(atClient))
		register(t, c, handlers...)
		in := wordy(size)
		for _, caller := range []trunkcall.Caller{c, connected(t, s, c)} {
			if err := post.Send(soon(t), caller, in); err != nil {
				t.Fatal(err)
			}
			if got := receive(t, posted, "message"); !bytes.Equal(got.Data, in.Data) {
				t.Errorf("one-way: %d bytes", len(got.Data))
			}
			if out, err := echo.Start(soon(t), caller, in).Result(); err != nil || !bytes.Equal(out.Data, in.Data) {
				t.Errorf("asynchronous: %d bytes, %v", len(out.GetData()), err)
			}
			call := codefirst.Func[func(context.Context, string) (string, error)](caller, "code/same")
			if out, err := call(soon(t), string(in.Data)); err != nil || out != string(in.Data) {
				t.Errorf("code-first: %d bytes, %v", len(out), err)
			}
		}
		// Each side sends three requests and answers two.
		atServer.wants(t, "the server", 5, 5)
		atClient.wants(t, "the client", 5, 5)
	}
}

func TestAZstdMessageOfUnknownSizeMayComeToTheLimit(t *testing.T) {
	for _, limit := range []int{1000, 200 << 10, 300_000} {
		message := bytes.Repeat([]byte("trunk"), limit/5)
		var packed bytes.Buffer
		w, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(message)
		_ = w.Flush() // so that the frame does not tell its size
		_ = w.Close()
		out, err := trunkcall.Zstd.Decompress(nil, packed.Bytes(), limit)
		if err != nil || !bytes.Equal(out, message) {
			t.Errorf("limit %d: %d bytes, %v", limit, len(out), err)
		}
		if _, err = trunkcall.Zstd.Decompress(nil, packed.Bytes(), len(message)-1); !errors.Is(err, trunkcall.ErrTooLong) {
			t.Errorf("limit %d: %v", len(message)-1, err)
		}
	}
}
