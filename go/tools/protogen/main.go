// Protogen generates the Go code under gen/ from the .proto files of the
// specification. It compiles them itself, so no protoc has to be installed, and
// drives the stock plugins at the versions that go.mod pins.
//
//	protogen -proto ../../spec/proto -out ..          write the files
//	protogen -proto ../../spec/proto -out .. -check   fail when any would change
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// plugin is a code generator that speaks protoc's plugin protocol, and the
// parameter it is run with. All of them lay files out by the Go package, below
// the directory of the module.
type plugin struct {
	tool      string
	parameter string
	// except is the folder of sources that it is not for.
	except string
}

const layout = "module=github.com/trunkcall/trunkcall/go"

var plugins = []plugin{
	{tool: "protoc-gen-go", parameter: layout},
	// Messages of the framework itself would bring gRPC into every program.
	{tool: "protoc-gen-go-grpc", parameter: layout, except: "trunkcall/"},
	{tool: "protoc-gen-go-vtproto", parameter: layout + ",features=marshal+unmarshal+size"},
}

func main() {
	protoDir := flag.String("proto", "", "directory of the .proto `files`")
	out := flag.String("out", "", "directory of the Go `module`")
	check := flag.Bool("check", false, "write nothing; fail when a file is stale, missing or no longer generated")
	flag.Parse()
	if err := run(context.Background(), *protoDir, *out, *check); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, protoDir, out string, check bool) error {
	if protoDir == "" || out == "" {
		return errors.New("both -proto and -out are needed")
	}
	sources, err := protoFiles(protoDir)
	if err != nil {
		return err
	}
	request, err := compile(ctx, protoDir, sources)
	if err != nil {
		return err
	}
	files := map[string][]byte{}
	for _, p := range plugins {
		request.FileToGenerate = slices.DeleteFunc(slices.Clone(sources), func(one string) bool {
			return p.except != "" && strings.HasPrefix(one, p.except)
		})
		if err := p.generate(ctx, request, files); err != nil {
			return fmt.Errorf("%s: %w", p.tool, err)
		}
	}
	if check {
		return compare(out, files)
	}
	return write(out, files)
}

// protoFiles lists the .proto files below dir, relative to it, in a fixed order.
func protoFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".proto" {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		files = append(files, filepath.ToSlash(relative))
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no .proto files below %s", dir)
	}
	slices.Sort(files)
	return files, err
}

// write puts the generated files in place and removes generated files that no
// source accounts for any more.
func write(out string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	orphans, err := orphans(out, files)
	for _, path := range orphans {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// compare reports every way in which the tree differs from what would be
// generated.
func compare(out string, files map[string][]byte) error {
	var stale []string
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(out, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			stale = append(stale, name+": missing")
		case err != nil:
			return err
		case !bytes.Equal(got, want):
			stale = append(stale, name+": stale")
		}
	}
	orphans, err := orphans(out, files)
	if err != nil {
		return err
	}
	for _, path := range orphans {
		stale = append(stale, path+": no longer generated")
	}
	if len(stale) > 0 {
		slices.Sort(stale)
		return fmt.Errorf("generated code is out of date, run tools/generate.sh\n\t%s", strings.Join(stale, "\n\t"))
	}
	return nil
}

// orphans lists the .pb.go files below out/gen that are not among files.
func orphans(out string, files map[string][]byte) ([]string, error) {
	var found []string
	root := filepath.Join(out, "gen")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == root {
			return fs.SkipAll
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".pb.go") {
			return err
		}
		relative, err := filepath.Rel(out, path)
		if _, generated := files[filepath.ToSlash(relative)]; !generated {
			found = append(found, path)
		}
		return err
	})
	return found, err
}
