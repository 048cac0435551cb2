package trunkcall_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"testing"
)

// Documentation shows an example as a program of its own only if it uses nothing but
// what it imports.
func TestExamplesStandAlone(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "example_test.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	examples := doc.Examples([]*ast.File{file}...)
	if len(examples) == 0 {
		t.Fatal("there are none")
	}
	for _, example := range examples {
		if example.Play == nil {
			t.Errorf("Example%s uses what stands outside it", example.Name)
		}
	}
}
