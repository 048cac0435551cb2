package web

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// AppendMetadata appends metadata as fields.
func AppendMetadata(fields []http2.Field, m wire.Metadata) []http2.Field {
	for i := range m {
		key, value := m[i].Key, m[i].Value
		if reserved(key) {
			continue
		}
		if strings.HasSuffix(key, "-bin") {
			value = base64.RawStdEncoding.EncodeToString([]byte(value))
		} else {
			value = strings.Trim(value, " ") // no field may begin or end with one
		}
		fields = append(fields, http2.Field{Name: key, Value: value})
	}
	return fields
}

// reserved reports whether a key of the server's metadata would be taken for
// something else.
func reserved(key string) bool {
	return OfHTTP(key) || key == deliveryField || strings.HasPrefix(key, "grpc-") && !strings.HasSuffix(key, "-bin") || key == "grpc-status-details-bin"
}

// deliveryField tells of a failure whether its handler ran (status.md 2).
const deliveryField = "trunk-delivery"

// AppendStatus appends the trailers that tell how a call ended.
func AppendStatus(fields []http2.Field, e *wire.Ending) []http2.Field {
	fields = append(fields, http2.Field{Name: "grpc-status", Value: strconv.Itoa(int(e.Code))})
	if e.Code != wire.OK {
		if e.Message != "" {
			fields = append(fields, http2.Field{Name: "grpc-message", Value: percentEncode(e.Message)})
		}
		if len(e.Details) > 0 {
			fields = append(fields, http2.Field{
				Name: "grpc-status-details-bin", Value: base64.RawStdEncoding.EncodeToString(rpcStatus(e)),
			})
		}
		if e.Delivery != wire.Executed {
			fields = append(fields, http2.Field{Name: deliveryField, Value: e.Delivery.String()})
		}
		if e.Delivery == wire.Refused && e.RetryAfter > 0 {
			fields = append(fields, http2.Field{Name: "grpc-retry-pushback-ms", Value: strconv.Itoa(int(e.RetryAfter))})
		}
	}
	return AppendMetadata(fields, e.Metadata)
}

// rpcStatus encodes a google.rpc.Status: code 1, message 2, details 3, each an
// Any of type URL 1 and value 2.
func rpcStatus(e *wire.Ending) []byte {
	var b []byte
	b = protowire.AppendTag(b, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(e.Code))
	if e.Message != "" {
		b = protowire.AppendTag(b, 2, protowire.BytesType)
		b = protowire.AppendString(b, strings.ToValidUTF8(e.Message, "\ufffd"))
	}
	for i := range e.Details {
		var detail []byte
		detail = protowire.AppendTag(detail, 1, protowire.BytesType)
		detail = protowire.AppendString(detail, e.Details[i].TypeURL)
		detail = protowire.AppendTag(detail, 2, protowire.BytesType)
		detail = protowire.AppendBytes(detail, e.Details[i].Value)
		b = protowire.AppendTag(b, 3, protowire.BytesType)
		b = protowire.AppendBytes(b, detail)
	}
	return b
}

// percentEncode is that of grpc-message: what is not printable ASCII, and %.
func percentEncode(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	i := 0
	for i < len(s) && plain(s[i]) {
		i++
	}
	// No field may begin or end with a space.
	if i == len(s) && s[0] != ' ' && s[len(s)-1] != ' ' {
		return s
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+16)
	for i := range len(s) {
		if c := s[i]; plain(c) && (c != ' ' || i > 0 && i < len(s)-1) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

func plain(c byte) bool { return c >= 0x20 && c <= 0x7e && c != '%' }
