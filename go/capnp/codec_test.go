package capnp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	upstream "capnproto.org/go/capnp/v3"
	"go.uber.org/goleak"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/capnp"
	"github.com/trunkcall/trunkcall/go/capnp/internal/library"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newBook(title string, pages int32) *library.Book {
	_, segment, err := upstream.NewMessage(upstream.SingleSegment(nil))
	if err != nil {
		panic(err)
	}
	b := must(library.NewRootBook(segment))
	if err := b.SetTitle(title); err != nil {
		panic(err)
	}
	b.SetPages(pages)
	return &b
}

func newShelf(titles ...string) *library.Shelf {
	_, segment, err := upstream.NewMessage(upstream.SingleSegment(nil))
	if err != nil {
		panic(err)
	}
	s := must(library.NewRootShelf(segment))
	books := must(s.NewBooks(int32(len(titles))))
	for i, title := range titles {
		b := books.At(i)
		if err := b.SetTitle(title); err != nil {
			panic(err)
		}
		b.SetPages(int32(i))
	}
	return &s
}

func encode(t testing.TB, message any) []byte {
	t.Helper()
	b, err := capnp.Codec.Append(nil, message)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// again decodes what a message encodes to.
func again[T any](t testing.TB, message *T) *T {
	t.Helper()
	out := new(T)
	if err := capnp.Codec.Decode(encode(t, message), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func wantBook(t testing.TB, b *library.Book, title string, pages int32) {
	t.Helper()
	if got, err := b.Title(); err != nil || got != title || b.Pages() != pages {
		t.Fatalf("%q with %d pages, %v; want %q with %d", got, b.Pages(), err, title, pages)
	}
}

func TestAMessageComesBackAsItWas(t *testing.T) {
	wantBook(t, again(t, newBook("Ulysses", 736)), "Ulysses", 736)
	shelf := again(t, newShelf("A", "B", "C"))
	books := must(shelf.Books())
	last := books.At(2)
	wantBook(t, &last, "C", 2)
	if b := encode(t, shelf); !bytes.Equal(b, encode(t, newShelf("A", "B", "C"))) {
		t.Error("what was received encodes to something else")
	}
}

func TestAStructInAnothersMessageIsSentAlone(t *testing.T) {
	books := must(newShelf("A", "B", strings.Repeat("long ", 1000)).Books())
	b := books.At(1)
	wantBook(t, again(t, &b), "B", 1)
	if size := len(encode(t, &b)); size > 100 {
		t.Errorf("%d bytes", size)
	}
}

func TestAMessageOfNothingHasDefaults(t *testing.T) {
	wantBook(t, again(t, &library.Book{}), "", 0)
	wantBook(t, again(t, again(t, &library.Book{})), "", 0)
}

func TestAppendingKeepsWhatIsThere(t *testing.T) {
	b := must(capnp.Codec.Append([]byte("before"), newBook("x", 1)))
	if !bytes.Equal(b[len("before"):], encode(t, newBook("x", 1))) || !bytes.HasPrefix(b, []byte("before")) {
		t.Errorf("%q", b)
	}
}

func TestDecodingKeepsNothingOfTheBuffer(t *testing.T) {
	data := encode(t, newBook("kept", 7))
	var b library.Book
	if err := capnp.Codec.Decode(data, &b); err != nil {
		t.Fatal(err)
	}
	clear(data)
	wantBook(t, &b, "kept", 7)
}

func TestWhatIsNoMessageIsAnError(t *testing.T) {
	whole := encode(t, newBook("x", 1))
	list := must(upstream.NewTextList(newBook("", 0).Segment(), 1))
	if err := list.Message().SetRoot(list.ToPtr()); err != nil {
		t.Fatal(err)
	}
	var listed bytes.Buffer
	if _, err := list.Message().WriteTo(&listed); err != nil {
		t.Fatal(err)
	}
	manySegments := make([]byte, 4*600)
	binary.LittleEndian.PutUint32(manySegments, 599)
	for name, data := range map[string][]byte{
		"nothing": nil, "half a table": whole[:4], "no segment": whole[:8], "cut short": whole[:len(whole)-8],
		"left over": append(bytes.Clone(whole), make([]byte, 8)...), "four billion segments": bytes.Repeat([]byte{0xff}, 64),
		"many segments": manySegments, "a segment that is longer": append([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0x0f}, whole[8:]...),
		"a list": listed.Bytes(), "far away": append(bytes.Clone(whole[:8]), bytes.Repeat([]byte{0xf4}, len(whole)-8)...),
	} {
		var b library.Book
		if err := capnp.Codec.Decode(data, &b); err == nil {
			t.Errorf("%s is taken for a book", name)
		}
	}
	for _, message := range []any{nil, "x", newBook("x", 1).Message(), *newBook("x", 1), (*library.Book)(nil), new(int)} {
		if _, err := capnp.Codec.Append(nil, message); err == nil {
			t.Errorf("%T is encoded", message)
		}
		if err := capnp.Codec.Decode(whole, message); err == nil {
			t.Errorf("%T is decoded into", message)
		}
	}
}

// depth follows a shelf's references back until there is none, or an error.
func depth(s library.Shelf) (n int, err error) {
	for ; s.HasBehind(); n++ {
		if s, err = s.Behind(); err != nil {
			return n, err
		}
	}
	return n, nil
}

func TestALongChainOfPointersEnds(t *testing.T) {
	s := newShelf()
	for end, i := *s, 0; i < 10_000; i++ {
		end = must(end.NewBehind())
	}
	if n, err := depth(*again(t, s)); err == nil || n > 64 {
		t.Errorf("%d deep, %v", n, err)
	}
	deeper := capnp.New(capnp.Limits{Depth: 20_000, Traverse: 1 << 30})
	var out library.Shelf
	if err := deeper.Decode(encode(t, s), &out); err != nil {
		t.Fatal(err)
	}
	if n, err := depth(out); err != nil || n != 10_000 {
		t.Errorf("%d deep, %v", n, err)
	}
}

func TestReadingTheSameOverAndOverEnds(t *testing.T) {
	b := newBook("", 0)
	if err := b.SetCover(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	b = again(t, b)
	reads := 0
	for ; reads < 1000; reads++ {
		if _, err := b.Cover(); err != nil {
			break
		}
	}
	if reads < 50 || reads > 64 {
		t.Errorf("%d reads of a mebibyte", reads)
	}
}

var (
	find  = trunkcall.Unary[library.Shelf, library.Book]("/test.Library/Find")
	watch = trunkcall.Bidi[library.Book, library.Book]("/test.Library/Watch")
)

func TestCallsInCapnProto(t *testing.T) {
	server := newServer(t, trunkcall.WithCodecs(capnp.Codec))
	defer server.Close()
	err := server.Register(
		find.Handler(func(_ context.Context, s *library.Shelf) (*library.Book, error) {
			books, err := s.Books()
			if err != nil || books.Len() == 0 {
				return nil, trunkcall.Errorf(trunkcall.NotFound, "no book: %v", err)
			}
			b := books.At(books.Len() - 1)
			return &b, nil
		}),
		watch.Handler(func(_ context.Context, s *trunkcall.BidiStream[library.Book, library.Book]) error {
			for {
				b, err := s.Receive()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err == nil {
					err = s.Send(b)
				}
				if err != nil {
					return err
				}
			}
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	address := must(server.Listen("127.0.0.1:0"))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	client := must(trunkcall.Dial(ctx, address.String(), trunkcall.WithCodec(capnp.Codec), trunkcall.WithCompression(trunkcall.Zstd)))
	defer client.Close()

	for _, length := range []int{1, 3000, 300_000} {
		title := strings.Repeat("t", length)
		wantBook(t, must(find.Call(ctx, client, newShelf("A", title))), title, 1)
	}
	if _, err := find.Call(ctx, client, newShelf()); trunkcall.StatusOf(err).Code != trunkcall.NotFound {
		t.Error(err)
	}
	stream := must(watch.Open(ctx, client))
	for i := range 100 {
		if err := stream.Send(newBook("again", int32(i))); err != nil {
			t.Fatal(err)
		}
		wantBook(t, must(stream.Receive()), "again", int32(i))
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Receive(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(f, newShelf("A", "B")))
	f.Add(encode(f, newBook("x", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s library.Shelf
		if capnp.Codec.Decode(data, &s) != nil {
			return
		}
		_, _ = depth(s)
		if books, err := s.Books(); err == nil {
			for i := range min(books.Len(), 1000) {
				_, _ = books.At(i).Title()
			}
		}
		if b, err := capnp.Codec.Append(nil, &s); err == nil {
			var again library.Shelf
			if err := capnp.Codec.Decode(b, &again); err != nil {
				t.Fatalf("what was encoded does not decode: %v", err)
			}
		}
	})
}

// newServer is a server that is to be stopped or closed by the test.
func newServer(t testing.TB, options ...trunkcall.ServerOption) *trunkcall.Server {
	t.Helper()
	s, err := trunkcall.NewServer(options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
