package registry

import (
	"os"
	"path/filepath"
	"testing"
)

// Records that are published together fail together (spec/registry.md 5.5): where one cannot be written, none is found.
func TestOfRecordsOfWhichOneCannotBeWrittenNoneStands(t *testing.T) {
	for name, spoil := range map[string]func(folder string) error{
		"no folder of its service": func(folder string) error { return os.WriteFile(filepath.Join(folder, "orders"), nil, 0o600) },
		"a folder in its place":    func(folder string) error { return os.MkdirAll(filepath.Join(folder, "orders", "b.lease", "x"), 0o700) },
	} {
		folder := t.TempDir()
		if err := spoil(folder); err != nil {
			t.Fatal(err)
		}
		records := []Written{
			written(t, Record{Service: "users", ID: "a", Addresses: []string{"a:1"}}), written(t, Record{Service: "orders", ID: "b", Addresses: []string{"a:1"}}),
		}
		err := NewFolder(folder).Keep(t.Context(), records, func() { t.Error("it is published") })
		files, _ := os.ReadDir(filepath.Join(folder, "users"))
		if err == nil || len(files) > 0 {
			t.Errorf("%s: %v, and %v stand there", name, err, files)
		}
	}
}
