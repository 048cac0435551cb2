// Package grpcweb is gRPC-Web (spec/http.md 6): gRPC whose trailers are at the end of the body, for browsers.
package grpcweb

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The content types, without the codec's name behind.
const (
	typeOfWeb  = "application/grpc-web"
	typeOfText = "application/grpc-web-text"
)

// Binary is the dialect whose bodies are bytes, Text that whose bodies are base64.
type (
	Binary struct{ grpcWeb }
	Text   struct{ grpcWeb }
)

// grpcWeb is what both have in common.
type grpcWeb struct{}

func (grpcWeb) Protocol() string       { return "grpc-web" }
func (grpcWeb) Takes(*web.Method) bool { return true }
func (grpcWeb) Plain() bool            { return false }
func (grpcWeb) ByStatus() bool         { return false }

// Read takes gRPC's fields.
func (grpcWeb) Read(h http.Header, _ url.Values) (web.Said, *wire.Refusal) {
	return web.Said{
		Encoding: h.Get("Grpc-Encoding"), Accepts: strings.Join(h.Values("Grpc-Accept-Encoding"), ","),
		Timeout: h.Get("Grpc-Timeout"), TimeoutField: "grpc-timeout", ReadTimeout: web.ParseTimeout,
	}, nil
}

// Head adds them to an answer's.
func (grpcWeb) Head(h http.Header, accepted, packed string) {
	h["Grpc-Accept-Encoding"] = []string{accepted}
	if packed != "" {
		h["Grpc-Encoding"] = []string{packed}
	}
}

// flagTrailers marks the trailers in the body.
const flagTrailers = 0x80

// End says at the end of the body how the call ended.
func (grpcWeb) End(e *wire.Ending) []byte {
	b := make([]byte, web.Headroom, 128)
	for _, f := range web.AppendStatus(nil, e) {
		b = append(append(append(append(b, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	b = web.Frame(b, false)
	b[0] = flagTrailers
	return b
}

// Codec is what follows application/grpc-web+.
func (Binary) Codec(kind string) (codec string, ok bool) { return codecOf(kind, typeOfWeb) }

// ContentType is that of answers.
func (Binary) ContentType(codec string) string { return typeOfWeb + "+" + codec }

// Body is as it comes.
func (Binary) Body(body io.Reader) io.Reader { return body }

// Encode changes nothing.
func (Binary) Encode(piece []byte) []byte { return piece }

// Codec is what follows application/grpc-web-text+.
func (Text) Codec(kind string) (codec string, ok bool) { return codecOf(kind, typeOfText) }

// ContentType is that of answers.
func (Text) ContentType(codec string) string { return typeOfText + "+" + codec }

// Body decodes base64.
func (Text) Body(body io.Reader) io.Reader { return &base64Groups{source: body} }

// Encode encodes base64, each piece by itself.
func (Text) Encode(piece []byte) []byte { return base64.StdEncoding.AppendEncode(nil, piece) }

// codecOf takes the codec's name out of a content type that begins with base.
func codecOf(kind, base string) (codec string, ok bool) {
	rest, ok := strings.CutPrefix(kind, base)
	if !ok || rest == "" {
		return "proto", ok
	}
	codec, ok = strings.CutPrefix(rest, "+")
	return codec, ok && codec != ""
}
