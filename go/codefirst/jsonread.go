package codefirst

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader reads JSON. The library parses the syntax; this checks that each value is of the
// wanted type.
type jsonReader struct {
	room
	in      bytes.Buffer
	tokens  jsontext.Decoder
	scratch []byte
	strict  bool // fields that nobody knows are refused
}

func (r *jsonReader) begin(data []byte) {
	r.in = *bytes.NewBuffer(data)
	r.room.begin(data)
	// Of names that come twice the last counts, in every language.
	r.tokens.Reset(&r.in, jsontext.AllowDuplicateNames(true))
}

// unknown refuses a field that is not known, by its name, if that is to be.
func (r *jsonReader) unknown(name []byte) error {
	if !r.strict {
		return nil
	}
	return badValue("there is no field %q", name[:min(len(name), longestQuoted)])
}

// longestQuoted is how much of a name that is not known is told.
const longestQuoted = 64

// got names what comes, for error messages.
func (r *jsonReader) got() string {
	switch r.tokens.PeekKind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '0':
		return "a number"
	case '"':
		return "text"
	case '[':
		return gotArray
	default:
		return "an object"
	}
}

func (r *jsonReader) unwanted(want string) error {
	if r.tokens.PeekKind() <= 0 || strings.ContainsRune("]}", rune(r.tokens.PeekKind())) {
		_, err := r.tokens.ReadToken()
		return badJSON(err)
	}
	return unwanted(want, r.got())
}

// badJSON is the error for what the library could not read. Its text may quote
// the input, so it stays here.
func badJSON(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errCutOff
	case errors.As(err, &syntax):
		return badValue("the message is not JSON at byte %d", syntax.ByteOffset)
	}
	return badValue("the message is not JSON")
}

// raw takes the text of a number or string.
func (r *jsonReader) raw() ([]byte, error) {
	value, err := r.tokens.ReadValue()
	if err != nil {
		return nil, badJSON(err)
	}
	return value, nil
}

func (r *jsonReader) null() bool {
	if r.tokens.PeekKind() != 'n' {
		return false
	}
	_, err := r.tokens.ReadToken()
	return err == nil
}

func (r *jsonReader) boolean() (bool, error) {
	if k := r.tokens.PeekKind(); k != 't' && k != 'f' {
		return false, r.unwanted("a boolean")
	}
	token, err := r.tokens.ReadToken()
	if err != nil {
		return false, badJSON(err)
	}
	return token.Bool(), nil
}

func (r *jsonReader) text() ([]byte, error) {
	if r.tokens.PeekKind() != '"' {
		return nil, r.unwanted("text")
	}
	raw, err := r.raw()
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], nil
	}
	r.scratch, err = jsontext.AppendUnquote(r.scratch[:0], raw)
	if err != nil {
		return nil, errNotUTF8
	}
	return r.scratch, nil
}

func (r *jsonReader) integer(bits int) (int64, error) {
	negative, magnitude, err := r.whole()
	return signed(negative, magnitude, bits, err)
}

func (r *jsonReader) unsigned(bits int) (uint64, error) {
	negative, magnitude, err := r.whole()
	return unsigned(negative, magnitude, bits, err)
}

// whole reads a whole number, a number or text.
func (r *jsonReader) whole() (negative bool, magnitude uint64, err error) {
	switch r.tokens.PeekKind() {
	case '"':
		text, err := r.text()
		if err != nil {
			return false, 0, err
		}
		negative, magnitude, err = decimal(text)
		return negative, magnitude, err
	case '0':
		raw, err := r.raw()
		if err != nil {
			return false, 0, err
		}
		if bytes.ContainsAny(raw, ".eE") {
			f, err := strconv.ParseFloat(string(raw), 64)
			if err != nil {
				return false, 0, errRange
			}
			return wholeFloat(f)
		}
		negative, magnitude, err = decimal(raw)
		if err == nil && magnitude > maxSafe {
			err = notWhole("a number beyond 2^53 - 1, which has to be text")
		}
		return negative, magnitude, err
	case 'n', 't', 'f', '[', '{':
		return false, 0, notWhole(r.got())
	}
	return false, 0, r.unwanted("")
}

// decimal reads text of digits, the first not a zero in front of others.
func decimal(text []byte) (negative bool, magnitude uint64, err error) {
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		negative, digits = true, digits[1:]
	}
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return false, 0, notWhole("text")
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false, 0, notWhole("text")
		}
		if magnitude > (math.MaxUint64-uint64(c-'0'))/10 {
			return false, 0, errRange
		}
		magnitude = magnitude*10 + uint64(c-'0')
	}
	return negative, magnitude, nil
}

func (r *jsonReader) float(bits int) (float64, error) {
	var f float64
	switch r.tokens.PeekKind() {
	case '0':
		raw, err := r.raw()
		if err != nil {
			return 0, err
		}
		if f, err = strconv.ParseFloat(string(raw), 64); err != nil {
			return 0, unwanted("a float of 64 bits", "one out of range")
		}
	case '"':
		word, err := r.text()
		if err != nil {
			return 0, err
		}
		switch string(word) {
		case "NaN":
			f = math.NaN()
		case "Infinity":
			f = math.Inf(1)
		case "-Infinity":
			f = math.Inf(-1)
		default:
			return 0, unwanted("a number", "text")
		}
	default:
		return 0, r.unwanted("a number")
	}
	return narrowed(f, bits)
}

var errBase64 = unwanted("bytes as base64", "other text")

func (r *jsonReader) bytes() ([]byte, error) {
	text, err := r.text()
	if err != nil {
		return nil, err
	}
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	digits := bytes.TrimRight(text, "=")
	if len(digits) != len(text) && (len(text)%4 != 0 || len(text)-len(digits) > 2) || bytes.ContainsAny(text, "\r\n") {
		return nil, errBase64
	}
	b, err := encoding.AppendDecode(nil, digits)
	if err != nil {
		return nil, errBase64
	}
	return b, nil
}

var errTimeText = unwanted("a time such as 2026-01-02T03:04:05Z", "other text")

func (r *jsonReader) time() (time.Time, error) {
	text, err := r.text()
	if err != nil {
		return time.Time{}, err
	}
	// The library takes a comma for a point, any number of digits, and hours of one.
	const fraction = len("2026-01-02T03:04:05")
	upper := strings.ToUpper(string(text))
	if len(upper) <= fraction || upper[13] != ':' || upper[fraction] == ',' {
		return time.Time{}, errTimeText
	}
	if digits := strings.TrimLeft(upper[fraction:], ".0123456789"); len(upper)-fraction-len(digits) > len(".123456789") {
		return time.Time{}, errTimeText
	}
	t, err := time.Parse(time.RFC3339Nano, upper)
	if err != nil {
		return time.Time{}, errTimeText
	}
	return t.UTC(), checkTime(t)
}

var errDurationText = unwanted("a duration such as 1.5s", "other text")

func (r *jsonReader) duration() (time.Duration, error) {
	text, err := r.text()
	if err != nil {
		return 0, err
	}
	number, ok := bytes.CutSuffix(text, []byte("s"))
	whole, fraction, point := bytes.Cut(number, []byte("."))
	negative, seconds, err := decimal(whole)
	if !ok || err != nil || point && (len(fraction) == 0 || len(fraction) > 9) {
		return 0, errDurationText
	}
	nanoseconds, err := strconv.ParseUint(string(append(append([]byte{'0'}, fraction...), "000000000"[len(fraction):]...)), 10, 64)
	if err != nil {
		return 0, errDurationText
	}
	if seconds > math.MaxInt64/1_000_000_000 {
		return 0, errDurationText
	}
	total, err := signed(negative, seconds*1e9+nanoseconds, 64, nil)
	return time.Duration(total), err
}

func (r *jsonReader) open(bracket jsontext.Kind, want string) (int, error) {
	if r.tokens.PeekKind() != bracket {
		return 0, r.unwanted(want)
	}
	if _, err := r.tokens.ReadToken(); err != nil {
		return 0, badJSON(err)
	}
	if r.tokens.StackDepth() > MaxNesting {
		return 0, errNesting
	}
	return -1, nil
}

func (r *jsonReader) beginArray() (int, error) { return r.open('[', "an array") }
func (r *jsonReader) beginMap() (int, error)   { return r.open('{', "an object") }

func (r *jsonReader) more(left int) (int, bool, error) {
	if k := r.tokens.PeekKind(); k > 0 && k != ']' && k != '}' {
		return left, true, nil
	}
	_, err := r.tokens.ReadToken()
	if err != nil {
		return 0, false, badJSON(err)
	}
	return 0, false, nil
}

// any reads a value of whatever type comes (code-first.md 3.7).
func (r *jsonReader) any() (any, error) {
	switch r.tokens.PeekKind() {
	case 'n':
		if !r.null() {
			return nil, r.unwanted("")
		}
		return nil, nil //nolint:nilnil // null is a value
	case 't', 'f':
		return r.boolean()
	case '0':
		return r.anyNumber()
	case '"':
		text, err := r.text()
		return string(text), err
	case '[':
		return anyList(r)
	case '{':
		return anyMap(r, func() (string, error) {
			text, err := r.text()
			return string(text), err
		})
	default:
		return nil, r.unwanted("")
	}
}

func (r *jsonReader) anyNumber() (any, error) {
	raw, err := r.raw()
	if err != nil {
		return nil, err
	}
	text := string(raw)
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, unwanted("a float of 64 bits", "one out of range")
	}
	return f, nil
}

// skip passes over a value that nobody wants.
func (r *jsonReader) skip() error {
	for depth := r.tokens.StackDepth(); ; {
		if _, err := r.tokens.ReadToken(); err != nil {
			return badJSON(err)
		}
		switch d := r.tokens.StackDepth(); {
		case d > MaxNesting:
			return errNesting
		case d == depth:
			return nil
		}
	}
}

func (r *jsonReader) end() error {
	_, err := r.tokens.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return badJSON(err)
	}
	return errBehind
}
