package trunkcall_test

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// inBombs is how many zeros there are in each, far more than anything here may allocate.
const inBombs = 256 << 20

// zeros compresses so many.
func zeros(w io.WriteCloser) {
	block := make([]byte, 1<<20)
	for range inBombs / len(block) {
		_, _ = w.Write(block)
	}
	_ = w.Close()
}

// bombs are nothing but zeros. One says of itself how long it is.
var bombs = sync.OnceValue(func() map[string][]byte {
	var zipped, streamed, claimed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&zipped, gzip.BestSpeed)
	zeros(w)
	s, _ := zstd.NewWriter(&streamed, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	zeros(s)
	c, _ := zstd.NewWriter(&claimed, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithZeroFrames(true))
	c.ResetContentSize(&claimed, inBombs)
	zeros(c)
	return map[string][]byte{"gzip": zipped.Bytes(), "zstd": streamed.Bytes(), "zstd that says so": claimed.Bytes()}
})

func compressionOf(name string) trunkcall.Compression {
	if strings.HasPrefix(name, "gzip") {
		return trunkcall.Gzip
	}
	return trunkcall.Zstd
}

// allocated is how many bytes f allocates, whether they are kept or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestACompressionBombStopsAtTheLimit(t *testing.T) {
	computes(t)
	const limit = 1 << 20
	_, target := serve(t, serverOptions{trunkcall.WithLimits(trunkcall.Limits{MessageBytes: limit, Window: 8 << 20})}, append(standard(), takeOne())...)
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			if len(bomb) > limit {
				t.Fatalf("%d bytes do not fit as they are", len(bomb))
			}
			explode(t, target, compressionOf(name).Number(), bomb, limit)
		})
	}
}

// takeOne is a stream whose handler takes one message after it has started.
func takeOne() trunkcall.Handler {
	return trunkcall.Bidi[payload, payload]("/test.Service/Swallow").Handler(
		func(_ context.Context, s *trunkcall.BidiStream[payload, payload]) error {
			_, err := s.Receive()
			return err
		})
}

// explode sends a bomb in a unary call and in a stream.
func explode(t *testing.T, target string, compression uint8, bomb []byte, limit int) {
	t.Helper()
	p := raw(t, target)
	p.Send(rawframe.Define(1, "/test.Service/Echo"), rawframe.Define(2, "/test.Service/Swallow"))
	for _, method := range []uint16{1, 2} {
		id := rawframe.ID(uint32(method), 1)
		h := rawframe.CallHeader(uint32(method), 1, method, 0)
		var f rawframe.Frame
		var code wire.Code
		var message string
		used := allocated(func() {
			p.Send(rawframe.Bytes(h))
			sendCompressed(p, id, compression, bomb)
			f, code, message = p.AwaitResult(id)
		})
		flag := wire.FlagRefused
		if method == 2 {
			flag = 0 // its handler has received it, and has returned
		}
		if code != trunkcall.ResourceExhausted || f.Flags&(wire.FlagRefused|wire.FlagCut) != flag {
			t.Errorf("method %d: %v %q, flags %#x", method, code, message, f.Flags)
		}
		wantsText(t, message, "max_message")
		// The bomb itself is held by both sides, and its message grows by doubling.
		if most := uint64(6*len(bomb) + 4*limit + 4<<20); used > most {
			t.Errorf("method %d: %d bytes were allocated for a bomb of %d and a limit of %d", method, used, len(bomb), limit)
		}
	}
}

// sendCompressed sends a request of any length, in pieces.
func sendCompressed(p *rawframe.Peer, id wire.StreamID, compression uint8, message []byte) {
	h := wire.Header{Type: wire.Data, Stream: id, Codec: 1, Compression: compression}
	var total []byte
	if len(message) > wire.MinPiece {
		total = wire.AppendVarint(nil, uint32(len(message)))
	}
	for rest := message; ; {
		h.Flags = wire.FlagMsg | wire.FlagEnd
		piece := rest
		if room := wire.MinPiece - len(total); len(rest) > room {
			piece, h.Flags = rest[:room], wire.FlagMsg|wire.FlagMore
		}
		p.Send(rawframe.Bytes(h, total, piece))
		if rest = rest[len(piece):]; h.Flags&wire.FlagEnd != 0 {
			return
		}
		total = nil
	}
}

// damaged is data that no compression may take.
func damaged(t testing.TB, compression trunkcall.Compression) map[string][]byte {
	t.Helper()
	whole, err := compression.Compress(nil, wordy(5000).Data)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x40
	return map[string][]byte{
		"cut short":         whole[:len(whole)-1],
		"cut to its header": whole[:5],
		"one byte":          whole[:1],
		"nothing":           {},
		"damaged":           flipped,
		"a byte behind it":  append(bytes.Clone(whole), 0),
		"twice":             append(bytes.Clone(whole), whole...),
		"not compressed":    []byte("as it is"),
		"the other's":       map[uint8][]byte{1: zstdFrame(), 2: gzipMember()}[compression.Number()],
	}
}

func gzipMember() []byte {
	b, _ := trunkcall.Gzip.Compress(nil, []byte("short"))
	return b
}

func zstdFrame() []byte {
	b, _ := trunkcall.Zstd.Compress(nil, []byte("short"))
	return b
}

func TestWhatDoesNotDecompressIsNotAMessage(t *testing.T) {
	_, target := serve(t, nil, append(standard(), takeOne())...)
	for _, compression := range bothCompressions {
		for name, data := range damaged(t, compression) {
			if len(data) == 0 {
				continue // a raw empty message; below, by itself
			}
			t.Run(compression.Name()+" "+name, func(t *testing.T) {
				if out, err := compression.Decompress(nil, data, 1<<20); err == nil {
					t.Fatalf("it decompresses to %d bytes", len(out))
				}
				p := raw(t, target)
				p.Send(rawframe.Define(1, "/test.Service/Echo"), rawframe.Define(2, "/test.Service/Swallow"))
				for method, flag := range map[uint16]wire.Flags{1: wire.FlagRefused, 2: 0} { // the second's handler receives it, and returns
					h := rawframe.CallHeader(uint32(method), 1, method, wire.FlagMsg|wire.FlagEnd)
					h.Compression = compression.Number()
					p.Send(rawframe.Bytes(h, data))
					f, code, message := p.AwaitResult(h.Stream)
					if code != trunkcall.InvalidArgument || f.Flags&(wire.FlagRefused|wire.FlagCut) != flag {
						t.Errorf("method %d: %v %q, flags %#x", method, code, message, f.Flags)
					}
					wantsText(t, message, compression.Name())
				}
				answerWith(t, compression.Number(), data)
			})
		}
	}
}

// answerWith has a server answer with a message that does not decompress.
func answerWith(t *testing.T, compression uint8, data []byte) {
	t.Helper()
	l := rawframe.Listen(t)
	c := newClient(t, l.Target())
	t.Cleanup(c.Close)
	called := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text("x"))
		called <- err
	}()
	p := l.Next()
	p.Greet()
	f := p.Await(wire.Call)
	p.Send(rawframe.Bytes(wire.Header{Type: wire.Result, Stream: f.Stream, Flags: wire.FlagMsg, Codec: 1, Compression: compression}, data))
	wants(t, receive(t, called, "answer"), trunkcall.Internal, trunkcall.Executed)
	_ = p.Close() // else the client's Close waits for it
}

func TestAFrameMustNotClaimWhatItsBlocksCannotHold(t *testing.T) {
	// A frame of one segment with 8 bytes of length: 60 MiB, in one block of 5 bytes.
	lie := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0xc0, 3, 0, 0, 0, 0, 5<<3 | 1, 0, 0, 'l', 'i', 'e', 's', '!'}
	var err error
	used := allocated(func() { _, err = trunkcall.Zstd.Decompress(nil, lie, 64<<20) })
	if err == nil || used > 1<<20 {
		t.Errorf("%v, %d bytes allocated", err, used)
	}
	wantsText(t, err.Error(), "62914560")
}

func TestAFrameMustNotLookBackFurtherThanTheLimit(t *testing.T) {
	computes(t)
	for window, fits := range map[int]bool{8 << 20: true, 16 << 20: false} {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		data := noise(20 << 20).Data
		w.Write(data[:10<<20])
		w.Flush()
		w.Write(data[10<<20:])
		w.Close()
		if _, err := trunkcall.Zstd.Decompress(nil, b.Bytes(), 64<<20); (err == nil) != fits {
			t.Errorf("window of %d: %v", window, err)
		}
	}
}

func TestDecompressingStopsJustPastTheLimit(t *testing.T) {
	for _, compression := range bothCompressions {
		for _, size := range []int{0, 1, 1023, 100_000, 3 << 20} {
			plain := wordy(size).Data
			packed, err := compression.Compress([]byte("before "), plain)
			if err != nil || !bytes.HasPrefix(packed, []byte("before ")) {
				t.Fatalf("%s: %v", compression.Name(), err)
			}
			packed = packed[len("before "):]
			if size == 0 && len(packed) == 0 {
				continue // never sent
			}
			out, err := compression.Decompress([]byte("before "), packed, size)
			if err != nil || string(out) != "before "+string(plain) {
				t.Errorf("%s: %d bytes of %d: %v", compression.Name(), len(out), size, err)
			}
			if size == 0 {
				continue
			}
			if _, err := compression.Decompress(nil, packed, size-1); err != trunkcall.ErrTooLong {
				t.Errorf("%s of %d: %v", compression.Name(), size, err)
			}
		}
	}
}

func FuzzDecompress(f *testing.F) {
	for _, compression := range bothCompressions {
		for _, data := range damaged(f, compression) {
			f.Add(data)
		}
		whole, _ := compression.Compress(nil, wordy(5000).Data)
		f.Add(whole)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 100_000
		for _, compression := range bothCompressions {
			out, err := compression.Decompress(nil, data, limit)
			if err == nil && len(out) > limit {
				t.Fatalf("%s: %d bytes", compression.Name(), len(out))
			}
			if err != nil {
				continue
			}
			packed, err := compression.Compress(nil, out)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := compression.Decompress(nil, packed, limit); len(packed) > 0 && (err != nil || !bytes.Equal(again, out)) {
				t.Fatalf("%s: %d bytes come back as %d: %v", compression.Name(), len(out), len(again), err)
			}
		}
	})
}

// roomy notes how much memory it is given to decompress into.
type roomy struct {
	trunkcall.Compression
	room atomic.Int64
}

func (r *roomy) Decompress(dst, data []byte, limit int) ([]byte, error) {
	r.room.Store(int64(cap(dst)))
	return r.Compression.Decompress(dst, data, limit)
}

// A message that is long when compressed gets no multiple of that in advance.
func TestMemoryToDecompressIntoIsBoundedByTheLimit(t *testing.T) {
	const limit = 8 << 20
	at := &roomy{Compression: trunkcall.Gzip}
	_, target := serve(t, serverOptions{
		trunkcall.WithDecompression(at), trunkcall.WithLimits(trunkcall.Limits{MessageBytes: limit}),
	}, standard()...)
	c := dial(t, target, trunkcall.WithCompression(trunkcall.Gzip))
	in := noise(limit - 1<<10)
	clear(in.Data[:limit/4]) // so that it shrinks, by a quarter
	if _, err := echo.Call(soon(t), c, in); err != nil {
		t.Fatal(err)
	}
	if room := at.room.Load(); room == 0 || room > limit {
		t.Errorf("%d bytes are set aside for a message of %d at most", room, limit)
	}
}
