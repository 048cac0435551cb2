package trunkcall

import (
	"errors"

	"google.golang.org/protobuf/proto"
)

// Codec turns messages into bytes and back. Implementations are used by many
// goroutines at once. They may make calls themselves, and so may the methods of messages
// that they use.
type Codec interface {
	// Name is the codec's name, for settings and error messages. A user's own codec
	// has the same name and number at both sides, else calls in it are refused.
	Name() string
	// Number is the codec's number on the wire (spec/protocol.md): 0 raw,
	// 1 Protobuf, 2 JSON, 3 MessagePack, 4 Cap'n Proto, 8 to 15 the user's own.
	Number() uint8
	// Append appends the message's encoding to dst.
	Append(dst []byte, message any) ([]byte, error)
	// Decode fills message; nothing that it held before is left in it, but its
	// memory may be used again. It must not keep data, which is used again: a codec
	// whose messages are views of the encoded bytes copies them first.
	Decode(data []byte, message any) error
}

// ErrMessageType is for codecs: wrap it in the error for a message of a type that the codec cannot
// carry. The text may name the type: a server writes it to its log, and tells the caller only that
// the codec does not fit the method.
var ErrMessageType = errors.New("the message is of a wrong type")

// ErrLimit is for codecs: wrap it in the error for a message that exceeds a limit, such as the
// nesting of values. The call then ends RESOURCE_EXHAUSTED.
var ErrLimit = errors.New("a limit was crossed")

// uncarried is the error for a message that a codec could not write or read:
// its own, or else one of this code and beginning.
func uncarried(code Code, what string, codec Codec, err error) error {
	switch s, ours := statusWithin(err); {
	case ours:
		return Status{Code: s.Code, Message: s.Message, cause: s.cause}.Err()
	case what == "request" && errors.Is(err, ErrMessageType):
		return Errorf(Unimplemented, "codec %s cannot carry the messages of this method: %v", codec.Name(), err)
	case errors.Is(err, ErrLimit):
		code = ResourceExhausted
	}
	return Errorf(code, "the %s is not a valid %s message: %v", what, codec.Name(), err)
}

// Protobuf is the default codec. Messages with the methods that
// protoc-gen-go-vtproto generates are encoded and decoded by those, all others
// by the standard library of Protobuf. What is received into a message that was used
// before takes the place of its content.
var Protobuf Codec = &protobuf{}

// ProtobufStock is Protobuf without the generated fast paths.
var ProtobufStock Codec = &protobufStock{}

// The methods of these codecs have pointers for receivers, as the interface has: with values there
// would be a function between it and them, and decoders are to have the stack.

type protobuf struct{ protobufStock }

// What vtprotobuf generates.
type (
	fastMarshaler interface {
		SizeVT() int
		MarshalToSizedBufferVT(b []byte) (int, error)
	}
	fastUnmarshaler interface {
		UnmarshalVT(b []byte) error
	}
)

// mostSpare is how much longer than a message its memory is at most, so that the next
// one may be somewhat longer: memory of large ones is seldom used again.
const mostSpare = 16 << 10

func (c *protobuf) Append(dst []byte, message any) ([]byte, error) {
	m, ok := message.(fastMarshaler)
	if !ok {
		return c.protobufStock.Append(dst, message)
	}
	start, size := len(dst), m.SizeVT()
	if cap(dst)-start < size {
		spare := min(size/4, mostSpare)
		dst = append(make([]byte, 0, start+size+spare), dst...)
	}
	dst = dst[:start+size]
	if _, err := m.MarshalToSizedBufferVT(dst[start:]); err != nil {
		return nil, err
	}
	return dst, nil
}

func (c *protobuf) Decode(data []byte, message any) error {
	if m, ok := message.(fastUnmarshaler); ok {
		if used, ok := message.(interface{ Reset() }); ok {
			used.Reset() // UnmarshalVT adds to what there is
		}
		return m.UnmarshalVT(data)
	}
	return c.protobufStock.Decode(data, message)
}

// protobufNew is Protobuf for messages that were just made: there is nothing in them
// to be reset, which for one of many fields costs a part of what decoding does.
type protobufNew struct{ protobuf }

func (c *protobufNew) Decode(data []byte, message any) error {
	if m, ok := message.(fastUnmarshaler); ok {
		return m.UnmarshalVT(data)
	}
	return c.protobufStock.Decode(data, message)
}

var newProtobuf protobufNew

// forNew is codec for decoding into messages that nobody has used.
func forNew(codec Codec) Codec {
	if _, ok := codec.(*protobuf); ok {
		return &newProtobuf
	}
	return codec
}

type protobufStock struct{}

func (*protobufStock) Name() string  { return "protobuf" }
func (*protobufStock) Number() uint8 { return 1 }

func (c *protobufStock) Append(dst []byte, message any) ([]byte, error) {
	if m, ok := message.(proto.Message); ok {
		return proto.MarshalOptions{}.MarshalAppend(dst, m)
	}
	return appendSelf(c, dst, message, "a Protobuf message")
}

func (c *protobufStock) Decode(data []byte, message any) error {
	if m, ok := message.(proto.Message); ok {
		return proto.UnmarshalOptions{}.Unmarshal(data, m)
	}
	return decodeSelf(c, data, message, "a Protobuf message")
}
