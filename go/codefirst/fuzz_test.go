package codefirst

import (
	"bytes"
	"context"
	"encoding/hex"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// fuzzed is a record with a field of each kind.
type fuzzed struct {
	Whole  int32
	Wide   uint64
	Float  float64
	Narrow float32
	Text   string
	Bytes  []byte
	Time   time.Time
	For    time.Duration
	Colour colour
	List   []fuzzed
	Map    map[int16]string
	Any    any
	Next   *fuzzed
	Fixed  [2]bool
}

func fuzzSignature(t testing.TB) *signature {
	t.Helper()
	s, err := signatureOf("/fuzz/method", reflect.TypeFor[func(context.Context, fuzzed, any, []string, map[string]any)]())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestArgumentsThatEndTooSoonAreNotMore(t *testing.T) {
	s, err := signatureOf("/calc/div", reflect.TypeFor[func(context.Context, int, int) error]())
	if err != nil {
		t.Fatal(err)
	}
	for data, says := range map[string]string{
		"[7,2": "the message is cut off", "[7,2,": "the message is cut off", "[7,": "the message is cut off",
		"[7,2,]": "the message is not JSON", "[7,2}": "the message is not JSON", "[7,2,1]": "got more",
	} {
		if err := JSON.Decode([]byte(data), s.newArguments()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", data, err, says)
		}
	}
}

func fuzzArguments(f *testing.F, codec trunkcall.Codec) {
	s := fuzzSignature(f)
	v := loadCodeFirst(f)
	for _, cases := range [][]valueVector{v.Read, v.Refused} {
		for _, c := range cases {
			if of, data := c.input(f); of == codec {
				f.Add(data)
			}
		}
	}
	for _, c := range v.Values {
		data, _ := hex.DecodeString(c.Msgpack)
		if codec == JSON {
			data = []byte(c.JSON)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a := s.newArguments()
		if err := codec.Decode(data, a); err != nil {
			if code := trunkcall.StatusOf(err).Code; code != trunkcall.InvalidArgument && code != trunkcall.ResourceExhausted {
				t.Fatalf("%x fails with %v", data, err)
			}
			return
		}
		// What was read can be written, and then says the same.
		first, err := codec.Append(nil, a)
		if err != nil {
			t.Fatalf("%x cannot be written again: %v", data, err)
		}
		back := s.newArguments()
		if err := codec.Decode(first, back); err != nil {
			t.Fatalf("%x was written as %x, which fails with %v", data, first, err)
		}
		second, err := codec.Append(nil, back)
		if err != nil || len(second) != len(first) {
			t.Fatalf("%x was written as %x, then as %x, %v", data, first, second, err) // maps have no order
		}
	})
}

func FuzzMessagePackArguments(f *testing.F) { fuzzArguments(f, MessagePack) }

func FuzzJSONArguments(f *testing.F) { fuzzArguments(f, JSON) }

func TestCountsThatLieAllocateNothing(t *testing.T) {
	s := fuzzSignature(t)
	for _, input := range []string{
		"94" + "81a46c697374" + "dd00ffffff", // a list of records, the message cut off
		"94" + "80" + "ddffffffff",
		"94" + "80" + "dfffffffff",
		"94" + "80" + "c0" + "ddffffffff",
		"94" + "81a474657874" + "dbffffffff",
		"94" + "81a56279746573" + "c6ffffffff",
	} {
		data, err := hex.DecodeString(input)
		if err != nil {
			t.Fatal(err)
		}
		if allocated, err := decoding(data, s); err == nil || allocated > 64<<10 {
			t.Errorf("%s: %d bytes for it, %v", input, allocated, err)
		}
	}
	// Long enough to be believed, and nothing in it but the byte that is never used.
	data := append([]byte{0x94, 0x81, 0xa4, 'l', 'i', 's', 't', 0xdd, 0, 0x0f, 0, 0}, bytes.Repeat([]byte{0xc1}, 1<<20)...)
	if allocated, err := decoding(data, s); err == nil || allocated > 64<<10 {
		t.Errorf("a list of a million: %d bytes for it, %v", allocated, err)
	}
}

// decoding is how many bytes it allocates: the least of several times, since what other
// goroutines allocate meanwhile counts too.
func decoding(data []byte, s *signature) (allocated uint64, err error) {
	allocated = math.MaxUint64
	for range 10 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = MessagePack.Decode(data, s.newArguments())
		runtime.ReadMemStats(&after)
		allocated = min(allocated, after.TotalAlloc-before.TotalAlloc)
	}
	return allocated, err
}

func TestGarbageAtEveryOffsetIsAnError(t *testing.T) {
	s := fuzzSignature(t)
	for _, codec := range []trunkcall.Codec{MessagePack, JSON} {
		a := s.newArguments()
		if err := a.Set(0, fuzzed{Text: "é", List: []fuzzed{{}}, Any: []any{"x", 1}, Next: &fuzzed{}}); err != nil {
			t.Fatal(err)
		}
		whole, err := codec.Append(nil, a)
		if err != nil {
			t.Fatal(err)
		}
		if err := codec.Decode(whole, s.newArguments()); err != nil {
			t.Fatal(err)
		}
		for i := range whole {
			if err := codec.Decode(whole[:i], s.newArguments()); err == nil {
				t.Errorf("%s cut off at %d can be read", codec.Name(), i)
			}
			for _, b := range []byte{0x00, 0xc1, 0xff, '"', '[', '}'} {
				bent := bytes.Clone(whole)
				bent[i] = b
				_ = codec.Decode(bent, s.newArguments()) // no panic; it may still mean something
			}
		}
	}
}

func BenchmarkArguments(b *testing.B) {
	s, err := signatureOf("/hello/say", reflect.TypeFor[func(string, int, int, float64)]())
	if err != nil {
		b.Fatal(err)
	}
	for _, codec := range []trunkcall.Codec{MessagePack, JSON} {
		a := s.newArguments()
		for i, v := range []any{"hello", 1, 2, 3.5} {
			if err := a.Set(i, v); err != nil {
				b.Fatal(err)
			}
		}
		data, err := codec.Append(nil, a)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(codec.Name()+"/append", func(b *testing.B) {
			b.ReportAllocs()
			buffer := make([]byte, 0, 64)
			for range b.N {
				if _, err := codec.Append(buffer, a); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(codec.Name()+"/decode", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := codec.Decode(data, s.newArguments()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
