// Package connect is the Connect protocol (spec/http.md 5): a unary call is a plain request of HTTP, any other has
// its messages behind prefixes and says at the end of the body how it ended.
package connect

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Of the protocol's fields.
const (
	fieldVersion        = "Connect-Protocol-Version"
	fieldTimeout        = "Connect-Timeout-Ms"
	fieldStreamEncoding = "Connect-Content-Encoding"
	fieldStreamAccepts  = "Connect-Accept-Encoding"
)

// The content types, without the codec's name behind.
const (
	typeOfUnary  = "application/"
	typeOfStream = "application/connect+"
)

// Unary is the dialect of methods that take one message and answer with one, Stream that of all others.
type (
	Unary  struct{ connect }
	Stream struct{ connect }
)

// connect is what both have in common.
type connect struct{}

func (connect) Protocol() string              { return "connect" }
func (connect) ByStatus() bool                { return true }
func (connect) Body(body io.Reader) io.Reader { return body }
func (connect) Encode(piece []byte) []byte    { return piece }

// read takes what the fields of both say.
func (connect) read(h http.Header, encoding, accepts string) (web.Said, *wire.Refusal) {
	said := web.Said{
		Encoding: encoding, Accepts: accepts, Timeout: h.Get(fieldTimeout), TimeoutField: fieldTimeout, ReadTimeout: timeoutMs,
	}
	if version := h.Get(fieldVersion); version != "" && version != "1" {
		return said, &wire.Refusal{Code: wire.InvalidArgument, Message: "connect-protocol-version is " + strconv.Quote(version) + ", here 1"}
	}
	return said, nil
}

// formTypes are content types that no codec has: those that browsers send without a CORS preflight,
// and those that clients use by default.
var formTypes = []string{"x-www-form-urlencoded", "octet-stream", "xml"}

// Codec is what follows application/.
func (Unary) Codec(kind string) (codec string, ok bool) {
	codec, ok = strings.CutPrefix(kind, typeOfUnary)
	if !ok || slices.Contains(formTypes, codec) || strings.ContainsRune(codec, '+') || strings.HasPrefix(codec, "grpc") {
		return "", false
	}
	return codec, true
}

// ContentType is that of answers.
func (Unary) ContentType(codec string) string { return typeOfUnary + codec }

// Takes is true of unary methods.
func (Unary) Takes(m *web.Method) bool { return !m.Streams }

// Plain is true.
func (Unary) Plain() bool { return true }

// Read takes the fields of HTTP itself.
func (u Unary) Read(h http.Header, query url.Values) (web.Said, *wire.Refusal) {
	encoding := h.Get("Content-Encoding")
	if query != nil {
		encoding = query.Get("compression")
	}
	return u.read(h, encoding, strings.Join(h.Values("Accept-Encoding"), ","))
}

// Head does nothing: answers are plain.
func (Unary) Head(http.Header, string, string) {}

// End is nothing: answers are plain.
func (Unary) End(*wire.Ending) []byte { return nil }

// Codec is what follows application/connect+.
func (Stream) Codec(kind string) (codec string, ok bool) {
	codec, ok = strings.CutPrefix(kind, typeOfStream)
	return codec, ok && codec != ""
}

// ContentType is that of answers.
func (Stream) ContentType(codec string) string { return typeOfStream + codec }

// Takes is true of all other methods.
func (Stream) Takes(m *web.Method) bool { return m.Streams }

// Plain is false.
func (Stream) Plain() bool { return false }

// Read takes the fields of streams.
func (s Stream) Read(h http.Header, _ url.Values) (web.Said, *wire.Refusal) {
	return s.read(h, h.Get(fieldStreamEncoding), strings.Join(h.Values(fieldStreamAccepts), ","))
}

// Head adds them to an answer's.
func (Stream) Head(h http.Header, accepted, packed string) {
	h[fieldStreamAccepts] = []string{accepted}
	if packed != "" {
		h[fieldStreamEncoding] = []string{packed}
	}
}

// End says at the end of a stream how the call ended.
func (Stream) End(e *wire.Ending) []byte {
	end := struct {
		Error    *web.Error          `json:"error,omitempty"`
		Metadata map[string][]string `json:"metadata,omitempty"`
	}{Error: web.ErrorOf(e)}
	trailers := http.Header{}
	web.AddFields(trailers, "", e.Metadata)
	web.AddDelivery(trailers, e)
	for name, values := range trailers {
		if end.Metadata == nil {
			end.Metadata = map[string][]string{}
		}
		end.Metadata[strings.ToLower(name)] = values
	}
	text, _ := json.Marshal(&end)
	message := web.Frame(append(make([]byte, web.Headroom, web.Headroom+len(text)), text...), false)
	message[0] = flagEnd
	return message
}

// flagEnd marks the end of a stream.
const flagEnd = 2

// timeoutMs reads a timeout in milliseconds: one to ten digits.
func timeoutMs(s string) (left int64, ok bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	n := int64(0)
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	if n > math.MaxInt64/1_000_000 {
		return math.MaxInt64, true
	}
	return n * 1_000_000, true
}
