// api writes down the public surface of the Go packages: what users can name, one line each, in
// go/api.txt. So a change of it is seen in review. With -check it fails if the file is not up to
// date. It is run in go/tools.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

const (
	module = ".." // the folder of the module
	file   = "../api.txt"
	head   = "# The public surface of the Go packages, written by `make api`.\n"
)

// unnamed is a result that the compiler has named.
var unnamed = regexp.MustCompile(`\(#rv1 ([^,()]*)\)`)

// packages are those that users import.
var packages = []string{"", "/capnp", "/codefirst", "/grpcstub", "/registry"}

func main() {
	check := flag.Bool("check", false, "fail if "+file+" is not up to date")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	surface, err := surface()
	if err != nil {
		return err
	}
	if !check {
		return os.WriteFile(file, surface, 0o644)
	}
	if known, err := os.ReadFile(file); err != nil || !bytes.Equal(known, surface) {
		return errors.Join(errors.New("go/api.txt is not up to date: run `make api`, and look at what has changed"), err)
	}
	return nil
}

// surface is what file is to say.
func surface() ([]byte, error) {
	path, exports, err := list()
	if err != nil {
		return nil, err
	}
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	out := bytes.NewBufferString(head)
	for _, name := range packages {
		p, err := load.Import(path + name)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "\npackage %s\n", p.Path())
		for _, line := range lines(p) {
			fmt.Fprintln(out, line)
		}
	}
	return out.Bytes(), nil
}

// list has the packages compiled; it returns the module's path, and the file of each package
// and of what it imports.
func list() (path string, exports map[string]string, err error) {
	arguments := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, name := range packages {
		arguments = append(arguments, "."+name)
	}
	listing := exec.Command("go", arguments...)
	listing.Dir, listing.Stderr = module, os.Stderr
	text, err := listing.Output()
	if err != nil {
		return "", nil, fmt.Errorf("go list: %w", err)
	}
	exports = map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, compiled, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[name] = compiled
	}
	naming := exec.Command("go", "list", ".")
	naming.Dir = module
	text, err = naming.Output()
	return strings.TrimSpace(string(text)), exports, err
}

// lines are what can be named of a package, in the order of its names.
func lines(p *types.Package) (all []string) {
	qualified := func(other *types.Package) string {
		if other == p || strings.HasSuffix(other.Path(), "/internal/wire") {
			return "" // what is exported of that has the same name here
		}
		return other.Name()
	}
	for _, name := range p.Scope().Names() {
		if object := p.Scope().Lookup(name); object.Exported() {
			all = append(all, describe(object, qualified)...)
		}
	}
	return all
}

func describe(object types.Object, qualified types.Qualifier) []string {
	switch o := object.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("const %s %s = %s", o.Name(), types.TypeString(o.Type(), qualified), o.Val())}
	case *types.TypeName:
		return describeType(o, qualified)
	default:
		return []string{types.ObjectString(object, qualified)}
	}
}

// describeType lists a type, its fields and its methods, those included that it embeds.
func describeType(o *types.TypeName, qualified types.Qualifier) []string {
	all := []string{"type " + o.Name() + parameters(o.Type(), qualified) + " " + kind(o, qualified)}
	of := "  " + o.Name() + "."
	var members []string
	if s, ok := o.Type().Underlying().(*types.Struct); ok {
		for i := range s.NumFields() {
			if f := s.Field(i); f.Exported() {
				members = append(members, of+f.Name()+" "+types.TypeString(f.Type(), qualified))
			}
		}
	}
	methods := types.NewMethodSet(o.Type())
	if !types.IsInterface(o.Type()) {
		methods = types.NewMethodSet(types.NewPointer(o.Type()))
	}
	for m := range methods.Methods() {
		if m.Obj().Exported() {
			signature := strings.TrimPrefix(types.TypeString(m.Type(), qualified), "func")
			members = append(members, of+m.Obj().Name()+unnamed.ReplaceAllString(signature, "$1"))
		}
	}
	slices.Sort(members)
	return append(all, members...)
}

// parameters are the type parameters of a type, in brackets.
func parameters(t types.Type, qualified types.Qualifier) string {
	named, ok := t.(*types.Named)
	if !ok || named.TypeParams().Len() == 0 {
		return ""
	}
	var all []string
	for p := range named.TypeParams().TypeParams() {
		all = append(all, p.Obj().Name()+" "+types.TypeString(p.Constraint(), qualified))
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// kind says what a type is, without its members. An interface that others cannot implement says so.
func kind(o *types.TypeName, qualified types.Qualifier) string {
	if o.IsAlias() {
		if _, ok := o.Type().Underlying().(*types.Struct); ok {
			return "struct"
		}
		return types.TypeString(o.Type().Underlying(), qualified)
	}
	switch u := o.Type().Underlying().(type) {
	case *types.Struct:
		return "struct"
	case *types.Interface:
		for m := range u.Methods() {
			if !m.Exported() {
				return "interface, of this package's alone"
			}
		}
		return "interface"
	default:
		return types.TypeString(u, qualified)
	}
}
