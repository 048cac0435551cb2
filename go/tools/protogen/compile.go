package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/pluginpb"
)

// compile parses the sources below dir and puts them, with everything they
// import, into the request that plugins take.
func compile(ctx context.Context, dir string, sources []string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}}),
		// Comments are carried over into the generated code.
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	linked, err := compiler.Compile(ctx, sources...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: sources}
	added := map[string]bool{}
	for _, file := range linked {
		addWithImports(request, file, added)
	}
	return request, nil
}

// addWithImports appends a file after all that it imports: plugins rely on that
// order.
func addWithImports(request *pluginpb.CodeGeneratorRequest, file protoreflect.FileDescriptor, added map[string]bool) {
	if added[file.Path()] {
		return
	}
	added[file.Path()] = true
	imports := file.Imports()
	for i := range imports.Len() {
		addWithImports(request, imports.Get(i).FileDescriptor, added)
	}
	request.ProtoFile = append(request.ProtoFile, protoutil.ProtoFromFileDescriptor(file))
}

// generate runs the plugin and adds what it makes to files.
func (p plugin) generate(ctx context.Context, request *pluginpb.CodeGeneratorRequest, files map[string][]byte) error {
	request.Parameter = proto.String(p.parameter)
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	command := exec.CommandContext(ctx, "go", "tool", p.tool)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, &stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, stderr.String())
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(stdout.Bytes(), &response); err != nil {
		return fmt.Errorf("its answer does not parse: %w", err)
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, file := range response.GetFile() {
		files[file.GetName()] = []byte(file.GetContent())
	}
	return nil
}
