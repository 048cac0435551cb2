package codefirst

import (
	"encoding/binary"
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tinylib/msgp/msgp"
)

var (
	errNotUTF8 = badValue("want text, got bytes that are not UTF-8")
	errCutOff  = badValue("the message is cut off")
	errGarbage = badValue("the message is not MessagePack")
	errBehind  = badValue("bytes follow the message")
)

// packReader reads MessagePack.
type packReader struct {
	room
	in    []byte
	depth int
}

// unknown lets a field that is not known be skipped.
func (*packReader) unknown([]byte) error { return nil }

// got names what comes, for error messages.
func (r *packReader) got() string {
	switch msgp.NextType(r.in) {
	case msgp.NilType:
		return "null"
	case msgp.BoolType:
		return "a boolean"
	case msgp.IntType, msgp.UintType:
		return "a whole number"
	case msgp.Float32Type, msgp.Float64Type:
		return "a float"
	case msgp.StrType:
		return "text"
	case msgp.BinType:
		return "bytes"
	case msgp.ArrayType:
		return gotArray
	case msgp.MapType:
		return "a map"
	default:
		return "an extension"
	}
}

// unwanted is the error for what comes where something else is wanted.
func (r *packReader) unwanted(want string) error {
	if len(r.in) == 0 {
		return errCutOff
	}
	if msgp.NextType(r.in) == msgp.InvalidType {
		return errGarbage
	}
	return unwanted(want, r.got())
}

// failed is the error for what began as wanted but cannot be read.
func failed(err error) error {
	if errors.Is(err, msgp.ErrShortBytes) {
		return errCutOff
	}
	return errGarbage
}

func (r *packReader) null() bool {
	if len(r.in) > 0 && msgp.IsNil(r.in) {
		r.in = r.in[1:]
		return true
	}
	return false
}

func (r *packReader) boolean() (bool, error) {
	b, rest, err := msgp.ReadBoolBytes(r.in)
	if err != nil {
		return false, r.unwanted("a boolean")
	}
	r.in = rest
	return b, nil
}

func (r *packReader) integer(bits int) (int64, error) {
	negative, magnitude, err := r.whole()
	return signed(negative, magnitude, bits, err)
}

func (r *packReader) unsigned(bits int) (uint64, error) {
	negative, magnitude, err := r.whole()
	return unsigned(negative, magnitude, bits, err)
}

// whole reads any whole number: as magnitude and sign.
func (r *packReader) whole() (negative bool, magnitude uint64, err error) {
	switch msgp.NextType(r.in) {
	case msgp.IntType:
		i, rest, err := msgp.ReadInt64Bytes(r.in)
		if err != nil {
			return false, 0, failed(err)
		}
		r.in = rest
		if i < 0 {
			return true, -uint64(i), nil
		}
		return false, uint64(i), nil
	case msgp.UintType:
		u, rest, err := msgp.ReadUint64Bytes(r.in)
		if err != nil {
			return false, 0, failed(err)
		}
		r.in = rest
		return false, u, nil
	case msgp.Float32Type, msgp.Float64Type:
		f, err := r.float(64)
		if err != nil {
			return false, 0, err
		}
		return wholeFloat(f)
	}
	if len(r.in) == 0 || msgp.NextType(r.in) == msgp.InvalidType {
		return false, 0, r.unwanted("")
	}
	return false, 0, notWhole(r.got())
}

func (r *packReader) float(bits int) (float64, error) {
	f, err := r.anyFloat()
	if err != nil {
		return 0, err
	}
	return narrowed(f, bits)
}

func (r *packReader) anyFloat() (f float64, err error) {
	var rest []byte
	switch msgp.NextType(r.in) {
	case msgp.Float64Type:
		f, rest, err = msgp.ReadFloat64Bytes(r.in)
	case msgp.Float32Type:
		var narrow float32
		narrow, rest, err = msgp.ReadFloat32Bytes(r.in)
		f = float64(narrow)
	case msgp.IntType:
		var i int64
		i, rest, err = msgp.ReadInt64Bytes(r.in)
		f = float64(i)
	case msgp.UintType:
		var u uint64
		u, rest, err = msgp.ReadUint64Bytes(r.in)
		f = float64(u)
	default:
		return 0, r.unwanted("a number")
	}
	if err != nil {
		return 0, failed(err)
	}
	r.in = rest
	return f, nil
}

func (r *packReader) text() ([]byte, error) {
	if msgp.NextType(r.in) != msgp.StrType {
		return nil, r.unwanted("text")
	}
	text, rest, err := msgp.ReadStringZC(r.in)
	if err != nil {
		return nil, failed(err)
	}
	if !utf8.Valid(text) {
		return nil, errNotUTF8
	}
	r.in = rest
	return text, nil
}

func (r *packReader) bytes() ([]byte, error) {
	if msgp.NextType(r.in) != msgp.BinType {
		return nil, r.unwanted("bytes")
	}
	b, rest, err := msgp.ReadBytesZC(r.in)
	if err != nil {
		return nil, failed(err)
	}
	r.in = rest
	return b, nil
}

// extension takes an extension, if one comes.
func (r *packReader) extension() (number int8, data []byte, ok bool, err error) {
	if len(r.in) == 0 {
		return 0, nil, false, nil
	}
	first, header, size := r.in[0], 2, uint64(0)
	switch {
	case 0xd4 <= first && first <= 0xd8:
		size = 1 << (first - 0xd4)
	case 0xc7 <= first && first <= 0xc9:
		width := 1 << (first - ext8)
		header += width
		if len(r.in) < header {
			return 0, nil, true, errCutOff
		}
		for _, b := range r.in[1 : 1+width] {
			size = size<<8 | uint64(b)
		}
	default:
		return 0, nil, false, nil
	}
	if uint64(len(r.in)) < uint64(header)+size {
		return 0, nil, true, errCutOff
	}
	number, data = int8(r.in[header-1]), r.in[header:uint64(header)+size]
	r.in = r.in[uint64(header)+size:]
	return number, data, true, nil
}

func (r *packReader) time() (time.Time, error) {
	number, data, ok, err := r.extension()
	switch {
	case err != nil:
		return time.Time{}, err
	case !ok:
		return time.Time{}, r.unwanted("a time")
	case number != timestampExtension:
		return time.Time{}, unwanted("a time", "extension "+strconv.Itoa(int(number)))
	}
	return timestamp(data)
}

func timestamp(data []byte) (time.Time, error) {
	var seconds int64
	var nanoseconds uint64
	switch len(data) {
	case 4:
		seconds = int64(binary.BigEndian.Uint32(data))
	case 8:
		both := binary.BigEndian.Uint64(data)
		seconds, nanoseconds = int64(both&(1<<34-1)), both>>34
	case 12:
		seconds, nanoseconds = int64(binary.BigEndian.Uint64(data[4:])), uint64(binary.BigEndian.Uint32(data))
	default:
		return time.Time{}, unwanted("a time", "a timestamp of "+strconv.Itoa(len(data))+" bytes")
	}
	if seconds < earliest || seconds > latest || nanoseconds >= 1e9 {
		return time.Time{}, errTimeRange
	}
	return time.Unix(seconds, int64(nanoseconds)).UTC(), nil
}

func (r *packReader) duration() (time.Duration, error) {
	nanoseconds, err := r.integer(64)
	return time.Duration(nanoseconds), err
}

func (r *packReader) beginArray() (int, error) {
	if msgp.NextType(r.in) != msgp.ArrayType {
		return 0, r.unwanted("an array")
	}
	n, rest, err := msgp.ReadArrayHeaderBytes(r.in)
	return r.begin(n, uint64(n), rest, err)
}

func (r *packReader) beginMap() (int, error) {
	if msgp.NextType(r.in) != msgp.MapType {
		return 0, r.unwanted("a map")
	}
	n, rest, err := msgp.ReadMapHeaderBytes(r.in)
	return r.begin(n, 2*uint64(n), rest, err)
}

// begin enters an array or map of n elements, which take at least so many bytes.
func (r *packReader) begin(n uint32, least uint64, rest []byte, err error) (int, error) {
	if err != nil {
		return 0, failed(err)
	}
	if r.depth++; r.depth > MaxNesting {
		return 0, errNesting
	}
	if least > uint64(len(rest)) {
		return 0, errCutOff
	}
	r.in = rest
	return int(n), nil
}

func (r *packReader) more(left int) (int, bool, error) {
	if left == 0 {
		r.depth--
		return 0, false, nil
	}
	return left - 1, true, nil
}

func (r *packReader) end() error {
	if len(r.in) > 0 {
		return errBehind
	}
	return nil
}
