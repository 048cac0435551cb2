package web

import (
	"encoding/base64"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// readMetadata takes a request's fields but those of the protocols.
func (x *httpCall) readMetadata() *wire.Refusal {
	x.call.Metadata = make(wire.Metadata, 0, len(x.r.Header))
	hop := x.r.Header["Connection"] // which names fields that belong to the connection
	for name, values := range x.r.Header {
		key := strings.ToLower(name)
		if OfHTTP(key) || ofProtocol(key) || len(hop) > 0 && httpguts.HeaderValuesContainsToken(hop, key) {
			continue
		}
		for _, value := range values {
			if !strings.HasSuffix(key, "-bin") {
				x.call.Metadata = append(x.call.Metadata, wire.Pair{Key: key, Value: value})
				continue
			}
			for one := range strings.SplitSeq(value, ",") {
				decoded, err := decodeBase64(strings.Trim(one, " \t"))
				if err != nil {
					return &wire.Refusal{Code: wire.InvalidArgument, Message: "the value of " + strconv.Quote(key) + " is not base64"}
				}
				x.call.Metadata = append(x.call.Metadata, wire.Pair{Key: key, Value: string(decoded)})
			}
		}
	}
	return checkMetadata(x.call.Metadata, x.protocol.limits())
}

func checkMetadata(m wire.Metadata, limits *wire.Settings) *wire.Refusal {
	err := wire.CheckMetadata(m, nil, limits)
	if err == nil {
		return nil
	}
	code := wire.InvalidArgument
	if err.Class == wire.ErrMetadataLimit {
		code = wire.ResourceExhausted
	}
	return &wire.Refusal{Code: code, Message: err.Error()}
}

func decodeBase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// OfHTTP reports whether a field belongs to HTTP, or to the connection that it came over.
func OfHTTP(key string) bool {
	switch key {
	case "content-type", "content-length", "accept-encoding", "host", "te", "trailer", "expect",
		"connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "http2-settings":
		return true
	}
	return false
}

// ofProtocol reports whether a field of a request belongs to Connect or gRPC-Web, or to
// HTTP as these use it.
func ofProtocol(key string) bool {
	switch key {
	case "content-encoding", "accept", "x-grpc-web", "x-user-agent",
		"grpc-timeout", "grpc-encoding", "grpc-accept-encoding", "grpc-message-type", "grpc-status", "grpc-message",
		"grpc-status-details-bin":
		return true
	}
	return strings.HasPrefix(key, "connect-")
}

// AddFields adds metadata to the header of an answer, with prefix before each
// name.
func AddFields(h http.Header, prefix string, m wire.Metadata) {
	for i := range m {
		key, value := m[i].Key, m[i].Value
		if reserved(key) || ofProtocol(key) {
			continue
		}
		name := textproto.CanonicalMIMEHeaderKey(prefix + key)
		h[name] = append(h[name], fieldValue(key, value))
	}
}

// fieldValue is a value of metadata as fields have it.
func fieldValue(key, value string) string {
	if strings.HasSuffix(key, "-bin") {
		return base64.RawStdEncoding.EncodeToString([]byte(value))
	}
	return strings.Trim(value, " ") // no field may begin or end with one
}

// readEncodings takes the compression of the request, and those that its sender
// takes, from these fields.
func (x *httpCall) readEncodings(encoding, accepts string) *wire.Refusal {
	for name := range strings.SplitSeq(accepts, ",") {
		name, quality, _ := strings.Cut(name, ";")
		if n := EncodingNumber(strings.Trim(name, " \t")); n != 0 && !zeroQuality(quality) {
			x.call.Accepts |= 1 << n
		}
	}
	if encoding == "" || encoding == "identity" {
		return nil
	}
	n := EncodingNumber(encoding)
	if n == 0 || x.protocol.Compressions&(1<<n) == 0 {
		accepted := AcceptedEncodings(x.protocol.Compressions)
		return &wire.Refusal{Code: wire.Unimplemented, Message: "the encoding " + encoding + " is not accepted here, only " + accepted}
	}
	x.call.Compression = n
	return nil
}

// zeroQuality reports whether a parameter says that a thing is not wanted.
func zeroQuality(parameter string) bool {
	value, ok := strings.CutPrefix(strings.Trim(parameter, " \t"), "q=")
	return ok && strings.Trim(value, "0.") == ""
}

// AcceptedEncodings lists compressions as a field does.
func AcceptedEncodings(compressions uint16) string {
	all := "identity"
	for n, name := range Encodings {
		if name != "" && compressions&(1<<n) != 0 {
			all += "," + name
		}
	}
	return all
}

// setTimeout takes a timeout as its field has it.
func (x *httpCall) setTimeout(field, value string, parse func(string) (int64, bool)) *wire.Refusal {
	if value == "" {
		return nil
	}
	left, ok := parse(value)
	if !ok {
		return &wire.Refusal{Code: wire.InvalidArgument, Message: "malformed " + strings.ToLower(field)}
	}
	if now := roles.Clock(); left < maxClock-now {
		x.call.Deadline = now + left
	}
	return nil
}

const maxClock = 1<<63 - 1
