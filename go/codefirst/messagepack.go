package codefirst

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
)

// MessagePack is the codec of code-first methods, and carries any value that
// they can: numbers, text, times, structs, slices, maps … as spec/code-first.md
// says. What is decoded into must be a pointer. Protobuf messages are not for
// it.
var MessagePack trunkcall.Codec = messagePack{}

type messagePack struct{}

func (messagePack) Name() string  { return "msgpack" }
func (messagePack) Number() uint8 { return 3 }

func (messagePack) Append(dst []byte, message any) ([]byte, error) {
	if _, ok := message.(proto.Message); ok {
		return nil, fmt.Errorf("%w: %T is a Protobuf message", trunkcall.ErrMessageType, message)
	}
	w := packWriters.Get().(*packWriter) //nolint:forcetypeassert // the pool holds nothing else
	w.out, w.depth = dst, 0
	err := writeMessage(w, message)
	out := w.out
	w.out = nil
	packWriters.Put(w)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (messagePack) Decode(data []byte, message any) error {
	if _, ok := message.(proto.Message); ok {
		return fmt.Errorf("%w: %T is a Protobuf message", trunkcall.ErrMessageType, message)
	}
	r := packReaders.Get().(*packReader) //nolint:forcetypeassert // the pool holds nothing else
	r.in, r.depth = data, 0
	r.room.begin(data)
	err := readMessage(r, message)
	r.in = nil
	packReaders.Put(r)
	return err
}

var (
	packWriters = sync.Pool{New: func() any { return &packWriter{} }}
	packReaders = sync.Pool{New: func() any { return &packReader{} }}
)

// packWriter writes MessagePack.
type packWriter struct {
	out   []byte
	depth int
}

func (w *packWriter) null()          { w.out = msgp.AppendNil(w.out) }
func (w *packWriter) boolean(b bool) { w.out = msgp.AppendBool(w.out, b) }

func (w *packWriter) integer(i int64) {
	if i < 0 {
		w.out = msgp.AppendInt64(w.out, i)
		return
	}
	w.out = msgp.AppendUint64(w.out, uint64(i)) // AppendInt64 has signed forms, which may be longer
}

func (w *packWriter) unsigned(u uint64) { w.out = msgp.AppendUint64(w.out, u) }

func (w *packWriter) float(f float64, bits int) {
	if f != f {
		f = math.Float64frombits(quietNaN)
	}
	if bits == 32 {
		w.out = msgp.AppendFloat32(w.out, float32(f))
		return
	}
	w.out = msgp.AppendFloat64(w.out, f)
}

func (w *packWriter) text(s string) error {
	if !utf8.ValidString(s) {
		return errNotUTF8
	}
	w.out = msgp.AppendString(w.out, s)
	return nil
}

func (w *packWriter) bytes(b []byte) { w.out = msgp.AppendBytes(w.out, b) }

// quietNaN is the one NaN of code-first.md 3.1; Go's own has another bit set.
const quietNaN = 0x7ff8 << 48

// The forms of the timestamp extension.
const (
	timestampExtension = -1
	fixext4, fixext8   = 0xd6, 0xd7
	ext8               = 0xc7
	extensionByte      = 0xff // -1
)

func (w *packWriter) time(t time.Time) error {
	if err := checkTime(t); err != nil {
		return err
	}
	seconds, nanoseconds := t.Unix(), t.Nanosecond()
	both := uint64(nanoseconds)<<34 | uint64(seconds)
	switch {
	case uint64(seconds)>>34 != 0:
		w.out = append(w.out, ext8, 12, extensionByte)
		w.out = binary.BigEndian.AppendUint32(w.out, uint32(nanoseconds))
		w.out = binary.BigEndian.AppendUint64(w.out, uint64(seconds))
	case both>>32 != 0:
		w.out = append(w.out, fixext8, extensionByte)
		w.out = binary.BigEndian.AppendUint64(w.out, both)
	default:
		w.out = append(w.out, fixext4, extensionByte)
		w.out = binary.BigEndian.AppendUint32(w.out, uint32(both))
	}
	return nil
}

func (w *packWriter) duration(d time.Duration) { w.integer(int64(d)) }

func (w *packWriter) deeper() error {
	if w.depth++; w.depth > MaxNesting {
		return errNesting
	}
	return nil
}

func (w *packWriter) beginArray(n int) error {
	w.out = msgp.AppendArrayHeader(w.out, uint32(n))
	return w.deeper()
}

func (w *packWriter) beginMap(n int) error {
	w.out = msgp.AppendMapHeader(w.out, uint32(n))
	return w.deeper()
}

func (w *packWriter) key()      {}
func (w *packWriter) element()  {}
func (w *packWriter) endArray() { w.depth-- }
func (w *packWriter) endMap()   { w.depth-- }
