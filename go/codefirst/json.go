package codefirst

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"

	"github.com/trunkcall/trunkcall/go"
)

// JSON is a codec for people, browsers and command lines. It carries the same
// values as MessagePack does, in the forms of spec/code-first.md, and Protobuf
// messages in Protobuf's own JSON form. What is decoded into must be a pointer.
var JSON trunkcall.Codec = jsonCodec{}

type jsonCodec struct{}

func (jsonCodec) Name() string  { return trunkcall.ProtoJSON.Name() }
func (jsonCodec) Number() uint8 { return trunkcall.ProtoJSON.Number() }

func (jsonCodec) Append(dst []byte, message any) ([]byte, error) {
	if _, ok := message.(proto.Message); ok {
		return trunkcall.ProtoJSON.Append(dst, message)
	}
	w := jsonWriters.Get().(*jsonWriter) //nolint:forcetypeassert // the pool holds nothing else
	w.out, w.depth, w.inKey = dst, 0, false
	err := writeMessage(w, message)
	out := w.out
	w.out = nil
	jsonWriters.Put(w)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (jsonCodec) Decode(data []byte, message any) error {
	if _, ok := message.(proto.Message); ok {
		return trunkcall.ProtoJSON.Decode(data, message)
	}
	r := jsonReaders.Get().(*jsonReader) //nolint:forcetypeassert // the pool holds nothing else
	r.begin(data)
	a, ok := message.(*Arguments)
	r.strict = ok && a.strict
	err := readMessage(r, message)
	r.in = bytes.Buffer{}
	jsonReaders.Put(r)
	return err
}

var (
	jsonWriters = sync.Pool{New: func() any { return &jsonWriter{} }}
	jsonReaders = sync.Pool{New: func() any { return &jsonReader{} }}
)

// jsonWriter writes JSON.
type jsonWriter struct {
	out   []byte
	depth int
	inKey bool // what is written is a key, which is text always
}

func (w *jsonWriter) null() { w.out = append(w.out, "null"...) }

func (w *jsonWriter) boolean(b bool) { w.out = strconv.AppendBool(w.out, b) }

func (w *jsonWriter) integer(i int64) {
	quoted := w.inKey || i > maxSafe || i < -maxSafe
	w.quote(quoted)
	w.out = strconv.AppendInt(w.out, i, 10)
	w.quote(quoted)
}

func (w *jsonWriter) unsigned(u uint64) {
	quoted := w.inKey || u > maxSafe
	w.quote(quoted)
	w.out = strconv.AppendUint(w.out, u, 10)
	w.quote(quoted)
}

func (w *jsonWriter) quote(quoted bool) {
	if quoted {
		w.out = append(w.out, '"')
	}
}

func (w *jsonWriter) float(f float64, bits int) {
	switch {
	case math.IsNaN(f):
		w.out = append(w.out, `"NaN"`...)
	case math.IsInf(f, 1):
		w.out = append(w.out, `"Infinity"`...)
	case math.IsInf(f, -1):
		w.out = append(w.out, `"-Infinity"`...)
	default:
		w.out = jsontext.AppendFloat(w.out, f, bits)
	}
}

func (w *jsonWriter) text(s string) error {
	out, err := jsontext.AppendQuote(w.out, s)
	if err != nil {
		return errNotUTF8
	}
	w.out = out
	return nil
}

func (w *jsonWriter) bytes(b []byte) {
	w.out = append(w.out, '"')
	w.out = base64.StdEncoding.AppendEncode(w.out, b)
	w.out = append(w.out, '"')
}

func (w *jsonWriter) time(t time.Time) error {
	if err := checkTime(t); err != nil {
		return err
	}
	w.out = append(w.out, '"')
	w.out = t.UTC().AppendFormat(w.out, time.RFC3339Nano)
	w.out = append(w.out, '"')
	return nil
}

func (w *jsonWriter) duration(d time.Duration) {
	w.out = append(w.out, '"')
	nanoseconds := uint64(d)
	if d < 0 {
		w.out = append(w.out, '-')
		nanoseconds = -nanoseconds
	}
	w.out = strconv.AppendUint(w.out, nanoseconds/1e9, 10)
	if fraction := nanoseconds % 1e9; fraction != 0 {
		point := len(w.out)
		w.out = strconv.AppendUint(w.out, 1e9+fraction, 10)
		w.out[point] = '.' // in the place of the leading 1
		w.out = bytes.TrimRight(w.out, "0")
	}
	w.out = append(w.out, 's', '"')
}

func (w *jsonWriter) open(bracket byte) error {
	w.out = append(w.out, bracket)
	if w.depth++; w.depth > MaxNesting {
		return errNesting
	}
	return nil
}

func (w *jsonWriter) beginArray(int) error { return w.open('[') }
func (w *jsonWriter) beginMap(int) error   { return w.open('{') }

func (w *jsonWriter) endArray() {
	w.out = append(w.out, ']')
	w.depth--
}

func (w *jsonWriter) endMap() {
	w.out = append(w.out, '}')
	w.depth--
}

// separate puts a comma before what is not the first.
func (w *jsonWriter) separate() {
	if last := w.out[len(w.out)-1]; last != '[' && last != '{' {
		w.out = append(w.out, ',')
	}
}

func (w *jsonWriter) key() {
	w.separate()
	w.inKey = true
}

func (w *jsonWriter) element() {
	if w.inKey {
		w.inKey = false
		w.out = append(w.out, ':')
		return
	}
	w.separate()
}
