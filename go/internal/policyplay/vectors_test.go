package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

// The vectors of policies, replayed as spec/vectors/README.md asks.

const vectors = "../../../spec/vectors/policy"

func readVectors(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fileCase is an entry of files.json.
type fileCase struct {
	ID, Text, Hex string
	Fill          struct {
		Text  string
		Count int
	}
	Budget, Methods map[string]any
	Faults          []string
}

func (c *fileCase) bytes(t *testing.T) []byte {
	t.Helper()
	data, err := hex.DecodeString(c.Hex)
	if err != nil {
		t.Fatal(err)
	}
	return append(append(data, c.Text...), strings.Repeat(c.Fill.Text, c.Fill.Count)...)
}

func readFiles(t *testing.T) (files struct{ Good, Bad []fileCase }) {
	t.Helper()
	readVectors(t, filepath.Join(vectors, "files.json"), &files)
	return files
}

// plain is a value as it is once it was JSON.
func plain(t *testing.T, value any) any {
	t.Helper()
	data, err := json.Marshal(value)
	var read any
	if err == nil {
		err = json.Unmarshal(data, &read)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestGoodFiles(t *testing.T) {
	for _, c := range readFiles(t).Good {
		var methods []string
		for name := range c.Methods {
			methods = append(methods, name)
		}
		got := plain(t, tellFile(c.bytes(t), methods))
		want := map[string]any{"budget": plain(t, c.Budget), "methods": plain(t, c.Methods)}
		if !reflect.DeepEqual(got, any(want)) {
			t.Errorf("%s:\ngot  %v\nwant %v", c.ID, got, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for _, c := range readFiles(t).Bad {
		_, err := policy.Parse(c.bytes(t))
		if err == nil || err.Error() != strings.Join(c.Faults, "\n") {
			t.Errorf("%s:\ngot  %v\nwant %v", c.ID, err, strings.Join(c.Faults, "\n"))
		}
	}
}

func TestHalfWrittenFiles(t *testing.T) {
	for _, c := range readFiles(t).Good {
		if c.Fill.Count > 0 {
			continue
		}
		whole := []byte(c.Text)
		if bytes.TrimLeft(whole, " \t\n")[0] != '{' {
			whole = whole[:bytes.LastIndex(whole, []byte("\n..."))+4]
		}
		for end := range len(bytes.TrimRight(whole, "\n")) {
			if _, err := policy.Parse(whole[:end]); err == nil {
				t.Errorf("%s: %q is taken", c.ID, whole[:end])
			}
		}
	}
}

func TestSequences(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(vectors, "*.json"))
	if err != nil || len(paths) != len(cores)+1 {
		t.Fatalf("%d files, want one for each core and that of files: %v", len(paths), err)
	}
	for _, path := range paths {
		var content struct {
			Core      string
			Sequences []struct {
				ID     string
				Policy json.RawMessage
				Steps  []json.RawMessage
			}
		}
		readVectors(t, path, &content)
		for _, s := range content.Sequences {
			c := playCase{Core: content.Core, Policy: s.Policy, Steps: make([]step, len(s.Steps))}
			want := make([]map[string]any, len(s.Steps))
			for i, data := range s.Steps {
				var expected struct{ Decision map[string]any }
				if err := errors.Join(json.Unmarshal(data, &c.Steps[i]), json.Unmarshal(data, &expected)); err != nil {
					t.Fatal(err)
				}
				want[i] = expected.Decision
				if n := len(c.Steps[i].Random); n > 0 {
					want[i]["drawn"] = float64(n)
				}
			}
			told, err := c.play()
			if err != nil {
				t.Errorf("%s: %s: %v", content.Core, s.ID, err)
				continue
			}
			for i, decision := range told["decisions"].([]map[string]any) {
				if got := plain(t, decision); !reflect.DeepEqual(got, any(want[i])) {
					t.Errorf("%s: %s: step %d: got %v, want %v", content.Core, s.ID, i, got, want[i])
				}
			}
		}
	}
}
