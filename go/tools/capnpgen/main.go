// Capnpgen generates the Go code of the Cap'n Proto schemas in a folder, with the
// compiler capnp, which has to be installed, and the plugin capnpc-go of the
// version that the module go requires. Beside a schema it writes the digests of the schema
// and of what came of it.
//
// With -check nothing is written. What is there has to match its digests, so that
// neither a schema nor its code is changed alone; and, where capnp is
// installed, what it generates now.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const module = "capnproto.org/go/capnp/v3"

func main() {
	check := flag.Bool("check", false, "only tell whether the tree is up to date")
	root := flag.String("module", "../..", "`folder` of the module that requires "+module)
	flag.Parse()
	for _, folder := range flag.Args() {
		if err := run(folder, *root, *check); err != nil {
			fmt.Fprintln(os.Stderr, "capnpgen:", err)
			os.Exit(1)
		}
	}
}

func run(folder, root string, check bool) error {
	schemas, err := filepath.Glob(filepath.Join(folder, "*.capnp"))
	if err == nil && len(schemas) == 0 {
		err = fmt.Errorf("%s: there is no schema", folder)
	}
	if err != nil {
		return err
	}
	if check {
		for _, schema := range schemas {
			if err := matches(schema); err != nil {
				return err
			}
		}
		if _, err := exec.LookPath("capnp"); err != nil {
			return nil //nolint:nilerr // without the compiler the digests have to do
		}
	}
	made, err := os.MkdirTemp("", "capnpgen")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made) }()
	if err := generate(schemas, root, made); err != nil {
		return err
	}
	for _, schema := range schemas {
		code, err := os.ReadFile(filepath.Join(made, filepath.Base(schema)+".go"))
		if err == nil && check {
			err = same(schema+".go", code)
		} else if err == nil {
			err = write(schema, code)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// generate runs the compiler, with its plugin built from the module's requirements.
func generate(schemas []string, root, into string) error {
	plugin, err := filepath.Abs(filepath.Join(into, "capnpc-go"))
	if err != nil {
		return err
	}
	if _, err := output(root, "go", "build", "-o", plugin, module+"/capnpc-go"); err != nil {
		return err
	}
	library, err := output(root, "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return err
	}
	words := []string{
		"compile", "-I" + filepath.Join(strings.TrimSpace(library), "std"),
		"--src-prefix=" + filepath.Dir(schemas[0]), "-o" + plugin + ":" + into,
	}
	_, err = output(".", "capnp", append(words, schemas...)...)
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w: it comes with Cap'n Proto, in the package capnproto of most systems", err)
	}
	return err
}

func output(folder, name string, words ...string) (string, error) {
	var told bytes.Buffer
	c := exec.Command(name, words...)
	c.Dir, c.Stderr = folder, &told
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", name, err, told.String())
	}
	return string(out), nil
}

// digests is what is written beside a schema.
func digests(schema string, code []byte) ([]byte, error) {
	text, err := os.ReadFile(schema)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(schema)
	return fmt.Appendf(nil, "%x  %s\n%x  %s.go\n", sha256.Sum256(text), name, sha256.Sum256(code), name), nil
}

func write(schema string, code []byte) error {
	sums, err := digests(schema, code)
	if err == nil {
		err = os.WriteFile(schema+".go", code, 0o644)
	}
	if err == nil {
		err = os.WriteFile(schema+".sum", sums, 0o644)
	}
	return err
}

func matches(schema string) error {
	code, err := os.ReadFile(schema + ".go")
	if err != nil {
		return err
	}
	sums, err := digests(schema, code)
	if err != nil {
		return err
	}
	return same(schema+".sum", sums)
}

func same(path string, want []byte) error {
	got, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("%s is not up to date: `make generate` makes it anew", path)
	}
	return err
}
