// Package publicsuite is both ends under test of the public conformance suite of Connect, gRPC
// and gRPC-Web: what conformance/peer.md, section 8, tells of connect-server and
// connect-client.
package publicsuite

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The suite's messages are made when the program starts, from a FileDescriptorSet: the
// generated ones are internal to the suite's module.

const schemaPackage = "connectrpc.conformance.v1."

// LoadSchema makes the suite's messages known to package protobuf. It is called once.
func LoadSchema(path string) error {
	text, err := os.ReadFile(path) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, set); err != nil {
		return fmt.Errorf("%s is no FileDescriptorSet: %w", path, err)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(file.Package())+".", schemaPackage) {
			err = register(file.Messages())
		}
		return err == nil
	})
	if err == nil {
		_, err = protoregistry.GlobalTypes.FindMessageByName(schemaPackage + "ClientCompatRequest")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func register(all protoreflect.MessageDescriptors) error {
	for i := range all.Len() {
		if all.Get(i).IsMapEntry() {
			continue
		}
		if err := protoregistry.GlobalTypes.RegisterMessage(dynamicpb.NewMessageType(all.Get(i))); err != nil {
			return err
		}
		if err := register(all.Get(i).Messages()); err != nil {
			return err
		}
	}
	return nil
}

// newMessage makes an empty message of the suite.
func newMessage(name string) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(schemaPackage + name))
	if err != nil {
		panic(err) // LoadSchema has registered all
	}
	return kind.New().Interface()
}

// mostBytes bounds a message of the suite's own.
const mostBytes = 64 << 20

// readMessage reads a message behind its length, and fills in a struct shaped as
// its JSON is. It returns io.EOF if there is none.
func readMessage(in io.Reader, name string, into any) error {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	length := binary.BigEndian.Uint32(head[:])
	if length > mostBytes {
		return fmt.Errorf("a %s of %d bytes, more than %d", name, length, mostBytes)
	}
	b := make([]byte, length)
	if _, err := io.ReadFull(in, b); err != nil {
		return fmt.Errorf("a %s ends too early: %w", name, err)
	}
	m := newMessage(name)
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	return shape(m, into)
}

func writeMessage(out io.Writer, name string, value any) error {
	m, err := message(name, value)
	if err != nil {
		return err
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	_, err = out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// shape fills in a struct that is shaped as a message's JSON is.
func shape(m proto.Message, into any) error {
	text, err := protojson.Marshal(m)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// message makes a message of the suite from what its JSON would be.
func message(name string, value any) (proto.Message, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	m := newMessage(name)
	if err := protojson.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}
