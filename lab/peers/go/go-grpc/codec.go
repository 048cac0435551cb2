package main

import (
	"fmt"

	"github.com/trunkcall/trunkcall/lab/peers/go/internal/codec"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// fastCodec uses the generated code, and grpc-go's pool for buffers that it
// deems worth pooling. It keeps the name of the codec that it stands in for: the
// bytes are the same.
type fastCodec struct{}

func (fastCodec) Name() string { return "proto" }

func (fastCodec) Marshal(value any) (mem.BufferSlice, error) {
	message, ok := value.(codec.Message)
	if !ok {
		return marshalStock(value)
	}
	size := message.SizeVT()
	if mem.IsBelowBufferPoolingThreshold(size) {
		data, err := message.MarshalVT()
		return mem.BufferSlice{mem.SliceBuffer(data)}, err
	}
	pool := mem.DefaultBufferPool()
	buffer := pool.Get(size)
	if _, err := message.MarshalToSizedBufferVT((*buffer)[:size]); err != nil {
		pool.Put(buffer)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(buffer, pool)}, nil
}

func (fastCodec) Unmarshal(data mem.BufferSlice, value any) error {
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	if message, ok := value.(codec.Message); ok {
		return message.UnmarshalVT(buffer.ReadOnlyData())
	}
	message, ok := value.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is not a Protobuf message", value)
	}
	return proto.Unmarshal(buffer.ReadOnlyData(), message)
}

// marshalStock serves messages without generated code: those of other packages.
func marshalStock(value any) (mem.BufferSlice, error) {
	message, ok := value.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is not a Protobuf message", value)
	}
	data, err := proto.Marshal(message)
	return mem.BufferSlice{mem.SliceBuffer(data)}, err
}
