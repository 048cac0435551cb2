package connect

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The suite's messages are made from its own .proto files when the server
// starts: the generated ones are internal to its module.

const schemaPackage = "connectrpc.conformance.v1."

// loadSchema makes the suite's messages known to package protobuf.
func loadSchema() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "connectrpc.com/conformance").Output()
	if err != nil {
		return fmt.Errorf("where the suite is: %w", err)
	}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		ImportPaths: []string{filepath.Join(strings.TrimSpace(string(out)), "proto")},
	})}
	files, err := compiler.Compile(context.Background(), "connectrpc/conformance/v1/server_compat.proto", "connectrpc/conformance/v1/service.proto")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := register(file.Messages()); err != nil {
			return err
		}
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
		panic(err) // loadSchema has registered all
	}
	return kind.New().Interface()
}
