package trunkcall

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// ProtoJSON is the codec of Protobuf messages in Protobuf's own JSON form, for people,
// browsers and command lines. Unknown fields are ignored. Other values as JSON are what
// package codefirst is for.
var ProtoJSON Codec = protoJSON{}

type protoJSON struct{}

func (protoJSON) Name() string  { return "json" }
func (protoJSON) Number() uint8 { return 2 }

func (c protoJSON) Append(dst []byte, message any) ([]byte, error) {
	if m, ok := message.(proto.Message); ok {
		return protojson.MarshalOptions{}.MarshalAppend(dst, m)
	}
	return appendSelf(c, dst, message, "a Protobuf message")
}

func (c protoJSON) Decode(data []byte, message any) error {
	if m, ok := message.(proto.Message); ok {
		return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
	}
	return decodeSelf(c, data, message, "a Protobuf message")
}

// Encodable is a message that encodes itself, such as the arguments of a code-first method. The
// codecs Protobuf, ProtoJSON and Raw, and that with MessagePack's number, call it for messages that
// are not of their own types. The methods are as those of Codec. For a codec that it does not
// support it returns an error that wraps ErrMessageType, or a Status.
type Encodable interface {
	AppendIn(codec Codec, dst []byte) ([]byte, error)
	DecodeIn(codec Codec, data []byte) error
}

func appendSelf(codec Codec, dst []byte, message any, want string) ([]byte, error) {
	if m, ok := message.(Encodable); ok {
		return m.AppendIn(codec, dst)
	}
	return nil, wrongType(message, want)
}

func decodeSelf(codec Codec, data []byte, message any, want string) error {
	if m, ok := message.(Encodable); ok {
		return m.DecodeIn(codec, data)
	}
	return wrongType(message, want)
}

func wrongType(message any, want string) error {
	return fmt.Errorf("%w: %T is not %s", ErrMessageType, message, want)
}

// messagePack is codec 3 where package codefirst has not taken its place: it carries messages
// that encode themselves.
type messagePack struct{}

const aValue = "a message that encodes itself; for values of Go give WithCodecs those of package codefirst"

func (messagePack) Name() string  { return "msgpack" }
func (messagePack) Number() uint8 { return 3 }

func (c messagePack) Append(dst []byte, message any) ([]byte, error) {
	return appendSelf(c, dst, message, aValue)
}

func (c messagePack) Decode(data []byte, message any) error {
	return decodeSelf(c, data, message, aValue)
}
