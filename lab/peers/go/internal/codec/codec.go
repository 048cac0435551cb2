// Package codec has the two ways to turn a Protobuf message into bytes that are
// compared, in the shape that most peers' codec seams can be fitted to.
package codec

import (
	"fmt"
	"slices"

	"github.com/trunkcall/trunkcall/go/peer/load"
	"google.golang.org/protobuf/proto"
)

// Message is a message for which the fast code was generated.
type Message interface {
	proto.Message
	SizeVT() int
	MarshalVT() ([]byte, error)
	MarshalToSizedBufferVT(buffer []byte) (int, error)
	UnmarshalVT(data []byte) error
}

// Codec turns a message into bytes and back. Unmarshal keeps no reference to
// data, and expects an empty message.
type Codec interface {
	Marshal(message Message) ([]byte, error)
	Append(buffer []byte, message Message) ([]byte, error)
	Unmarshal(data []byte, message Message) error
}

// Names are the codecs that New knows, the default first.
var Names = []string{load.CodecFast, load.CodecStock}

// New finds a codec by the name that the --codec flag gives it.
func New(name string) (Codec, error) {
	switch name {
	case load.CodecFast:
		return fast{}, nil
	case load.CodecStock:
		return stock{}, nil
	default:
		return nil, fmt.Errorf("codec %q is not there yet, %q are", name, Names)
	}
}

// fast is the generated code of the vtprotobuf plugin.
type fast struct{}

func (fast) Marshal(message Message) ([]byte, error) {
	return message.MarshalVT()
}

func (fast) Append(buffer []byte, message Message) ([]byte, error) {
	start, size := len(buffer), message.SizeVT()
	buffer = slices.Grow(buffer, size)[:start+size]
	_, err := message.MarshalToSizedBufferVT(buffer[start:])
	return buffer, err
}

func (fast) Unmarshal(data []byte, message Message) error {
	return message.UnmarshalVT(data)
}

// stock is the reflective code of google.golang.org/protobuf.
type stock struct{}

func (stock) Marshal(message Message) ([]byte, error) {
	return proto.Marshal(message)
}

func (stock) Append(buffer []byte, message Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(buffer, message)
}

func (stock) Unmarshal(data []byte, message Message) error {
	return proto.Unmarshal(data, message)
}

// Any is a Codec for seams that pass messages as values of any type.
type Any struct {
	Codec
}

func (a Any) Marshal(value any) ([]byte, error) {
	message, ok := value.(Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a message with generated marshalling code", value)
	}
	return a.Codec.Marshal(message)
}

func (a Any) Unmarshal(data []byte, value any) error {
	message, ok := value.(Message)
	if !ok {
		return fmt.Errorf("%T is not a message with generated marshalling code", value)
	}
	return a.Codec.Unmarshal(data, message)
}
