package grpc

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// readFields takes a request's fields: those of the protocol, and the metadata.
func (x *grpcCall) readFields(fields []http2.Field) {
	x.call.Metadata = x.one[:0]
	for i := range fields {
		f := &fields[i]
		switch f.Name {
		case "grpc-message-type":
		case "grpc-accept-encoding":
			x.readAccepted(f.Value)
		case "grpc-timeout":
			x.timeout = f.Value
		case "grpc-encoding":
			x.encoding = f.Value
		case "grpc-status", "grpc-message", "grpc-status-details-bin": // not a caller's to say
		default:
			switch {
			case web.OfHTTP(f.Name):
			case strings.HasSuffix(f.Name, "-bin"):
				x.addBinary(f)
			default:
				x.call.Metadata = append(x.call.Metadata, wire.Pair{Key: f.Name, Value: f.Value})
			}
		}
	}
}

func (x *grpcCall) readAccepted(value string) {
	for name := range strings.SplitSeq(value, ",") {
		if n := web.EncodingNumber(strings.Trim(name, " \t")); n != 0 {
			x.call.Accepts |= 1 << n
		}
	}
}

// addBinary decodes a field that holds base64, or several of them with commas
// in between.
func (x *grpcCall) addBinary(f *http2.Field) {
	for value := range strings.SplitSeq(f.Value, ",") {
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.Trim(value, " \t"), "="))
		if err != nil && x.fault == nil {
			x.fault = &wire.Refusal{Code: wire.InvalidArgument, Message: "the value of " + strconv.Quote(f.Name) + " is not base64"}
		}
		x.call.Metadata = append(x.call.Metadata, wire.Pair{Key: f.Name, Value: string(decoded)})
	}
}
