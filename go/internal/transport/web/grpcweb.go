package web

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// gRPC-Web: gRPC whose trailers are at the end of the body, for browsers.

// String names the dialect, for logs.
func (d dialect) String() string {
	if d >= grpcWeb {
		return "grpc-web"
	}
	return "connect"
}

// readWebProtocol takes what the protocol says in fields.
func (x *httpCall) readWebProtocol() *wire.Refusal {
	h := x.r.Header
	refusal := x.readEncodings(h.Get("Grpc-Encoding"), strings.Join(h.Values("Grpc-Accept-Encoding"), ","))
	if refusal != nil {
		return refusal
	}
	return x.setTimeout("grpc-timeout", h.Get("Grpc-Timeout"), parseTimeout)
}

// setWebFields adds the protocol's own fields to the header of an answer.
func (x *httpCall) setWebFields(h http.Header) {
	kind := typeOfWeb
	if x.spoken == grpcWebText {
		kind = typeOfWebText
	}
	h["Content-Type"] = []string{kind + "+" + x.call.CodecName}
	h["Grpc-Accept-Encoding"] = []string{acceptedEncodings(x.protocol.Compressions)}
	if n := x.packs(); n != 0 {
		h["Grpc-Encoding"] = []string{encodings[n]}
	}
}

// flagTrailers marks the trailers in the body.
const flagTrailers = 0x80

// webEnd says at the end of the body how the call ended.
func webEnd(e *wire.Ending) []byte {
	b := make([]byte, Headroom, 128)
	for _, f := range appendStatus(nil, e) {
		b = append(append(append(append(b, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	b = frame(b, false)
	b[0] = flagTrailers
	return b
}

// base64Groups decodes base64 that may be padded anywhere, as it is where pieces
// were encoded one by one.
type base64Groups struct {
	source io.Reader
	in     [1 << 10]byte
	have   int // of in
	out    [768]byte
	rest   []byte // of out
	err    error
}

// Read returns what was decoded.
func (g *base64Groups) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		if g.err != nil {
			return 0, g.err
		}
		g.decode()
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// decode decodes the groups of four characters that have come.
func (g *base64Groups) decode() {
	n, err := g.source.Read(g.in[g.have:])
	g.have += n
	g.err = err
	decoded, whole := 0, g.have/4*4
	for at := 0; at < whole; {
		end := at + 4
		for end < whole && g.in[end-1] != '=' {
			end += 4
		}
		n, err := base64.StdEncoding.Decode(g.out[decoded:], g.in[at:end])
		decoded += n
		if err != nil {
			g.err = &Fault{wire.InvalidArgument, "the body is not base64"}
			break
		}
		at = end
	}
	g.rest = g.out[:decoded]
	g.have = copy(g.in[:], g.in[whole:g.have])
	if g.have > 0 && errors.Is(g.err, io.EOF) {
		g.err = &Fault{wire.InvalidArgument, "the body ends within a group of base64"}
	}
}
