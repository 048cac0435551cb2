package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAFolderHoldsNoMoreThanOtherRegistries(t *testing.T) {
	folder := t.TempDir()
	l := newLooks(folder)
	if l.mostBytes != mostBytes {
		t.Errorf("%d bytes may be held", l.mostBytes)
	}
	l.mostBytes = 4 * maxRecord
	long := func(id string) string {
		data := version(t, id, "1")
		return data + strings.Repeat(" ", maxRecord-len(data))
	}
	for _, id := range []string{"a", "b", "c"} {
		put(t, filepath.Join(folder, "users", id+".json"), long(id))
	}
	l.expect(t, 0, "+a 1, +b 1, +c 1")
	put(t, filepath.Join(folder, "users", "d.lease"), long("d"))
	const want = "4 entries of 65540 bytes, at most 100000 of 65536"
	if _, _, err := l.look(l.now); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// However much is no record in a folder: it is told of once, nothing of it is held, and records are found and followed. One
// that becomes rubbish counts on as it was (spec/registry.md 6.2, 7.3).
func TestRubbishInAFolderHoldsUpNoRecords(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, "users", name) }
	put(t, at("zz.json"), version(t, "zz", "1"))
	rubbish := filepath.Join(folder, "rubbish")
	if err := os.WriteFile(rubbish, make([]byte, maxRecord), 0o600); err != nil {
		t.Fatal(err)
	}
	l := newLooks(folder)
	if l.mostRubbish != 10_000 {
		t.Errorf("%d files of rubbish are kept in mind", l.mostRubbish)
	}
	const most = 20
	l.mostRubbish, l.mostBytes = most, 4*maxRecord
	for i := range most + 5 {
		if err := os.Symlink(rubbish, at(fmt.Sprintf("%06d.json", i))); err != nil {
			t.Fatal(err)
		}
	}
	look := func() (records, left []string) {
		t.Helper()
		came, went, err := l.look(l.now)
		if err != nil || len(went) > 0 {
			t.Fatal(went, err)
		}
		for _, e := range came {
			if e.Err == nil {
				records = append(records, string(e.Data))
				continue
			}
			left = append(left, fmt.Sprintf("%s: %v", filepath.Base(e.From), e.Err))
			if len(e.Data) > 0 {
				t.Fatal("bytes of rubbish are held")
			}
		}
		slices.Sort(left)
		return records, left
	}
	records, left := look()
	if len(records) != 1 || len(left) != most+1 || left[most] != "users: more than 20 files are no records" ||
		!strings.HasPrefix(left[most-1], "000019.json: not a JSON object") {
		t.Fatalf("%q are records, left out are %q", records, left)
	}
	if records, left := look(); len(records)+len(left) > 0 {
		t.Errorf("told again: %q, %d", records, len(left))
	}
	put(t, at("zz.json"), version(t, "zz", "2"))
	if records, left := look(); len(records) != 1 || records[0] != version(t, "zz", "2") || len(left) > 0 {
		t.Errorf("told: %q, %q", records, left)
	}
	for _, text := range []string{"{1", "{2"} { // for which the same is told
		put(t, at("zz.json"), text)
		if records, left := look(); len(records) > 0 || len(left) != 1 || !strings.HasPrefix(left[0], "zz.json: ") {
			t.Errorf("told of %s: %q, %q", text, records, left)
		}
		put(t, at("zz.json"), text) // another file with the same bytes
		if records, left := look(); len(records)+len(left) > 0 {
			t.Errorf("told again of %s: %q, %q", text, records, left)
		}
	}
	put(t, at("zz.json"), version(t, "zz", "3"))
	if records, left := look(); len(records) != 1 || len(left) > 0 {
		t.Errorf("told: %q, %q", records, left)
	}
}
