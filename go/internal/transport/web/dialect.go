package web

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Dialect is one form in which calls come as requests of HTTP: what a protocol's fields say, and what its
// messages and ends look like.
type Dialect interface {
	// Protocol is the protocol's name.
	Protocol() string
	// Codec takes the codec's name out of a content type without parameters, if that is this dialect's.
	Codec(kind string) (codec string, ok bool)
	// ContentType is that of its answers.
	ContentType(codec string) string
	// Takes reports whether a method can be called so.
	Takes(m *Method) bool
	// Plain reports whether a body is one message without a prefix, and the HTTP status says how
	// the call ended.
	Plain() bool
	// ByStatus says that its clients go by the status of HTTP where a request is no call.
	ByStatus() bool
	// Read takes what the fields of a request say; query is that of a call by GET, else nil.
	Read(h http.Header, query url.Values) (Said, *wire.Refusal)
	// Head adds the protocol's own fields to the header of an answer that is not plain: the encodings that are
	// accepted, and that of the answer's messages, "" for none.
	Head(h http.Header, accepted, packed string)
	// End is what the body of an answer that is not plain ends with.
	End(e *wire.Ending) []byte
	// Body is the body of a request as messages, Encode a piece of an answer's as its body.
	Body(body io.Reader) io.Reader
	Encode(piece []byte) []byte
}

// Said is what the fields of a request say.
type Said struct {
	Encoding, Accepts string // that of the request's messages, and those that its sender takes
	Timeout           string // as it stands, in this field
	TimeoutField      string
	ReadTimeout       func(string) (left int64, ok bool)
}

// dialectOf finds a request's dialect and the codec's name by its content type; nil: none is known.
func (h *HTTP) dialectOf(kind string) (Dialect, string) {
	base, parameters, err := mime.ParseMediaType(kind)
	if err != nil {
		return nil, ""
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return nil, ""
	}
	for _, d := range h.Dialects {
		if codec, ok := d.Codec(base); ok {
			return d, codec
		}
	}
	return nil, ""
}

// plain is the dialect that calls by GET are answered in, nil without.
func (h *HTTP) plain() Dialect {
	if i := slices.IndexFunc(h.Dialects, Dialect.Plain); i >= 0 {
		return h.Dialects[i]
	}
	return nil
}
