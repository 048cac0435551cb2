package registry

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A file that the system does not let be read, for want of descriptors as a rule, is read at a later look although it has
// not changed. Until then it counts as it was, and what is read again has not changed, for its lease (spec/registry.md 7.3).
func TestWhatCouldNotBeReadInAFolderIsReadAgain(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, "users", name) }
	l := newLooks(folder)
	full := true
	l.readFile = func(path string, info fs.FileInfo) ([]byte, error) {
		if full {
			return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EMFILE}
		}
		return readFile(path, info)
	}
	put(t, at("a.json"), version(t, "a", "1"))
	put(t, at("b.lease"), version(t, "b", "1"))
	l.expect(t, 0, "+a rubbish, +b rubbish")
	l.expect(t, 0, "")
	full = false
	l.expect(t, 0, "+a 1, +b 1")

	full = true
	put(t, at("b.lease"), version(t, "b", "2"))
	l.expect(t, time.Second, "+b rubbish")
	if file := l.files["b.lease"]; !file.lasting {
		t.Error("that it was a record is forgotten")
	}
	l.expect(t, 8*time.Second, "")
	full = false
	l.expect(t, 0, "+b 2")
	l.expect(t, 4*time.Second, "")
	l.expect(t, 4*time.Second, "-b") // 15 s after it was written, however late it was read
}

// While a file cannot be looked at nobody knows whether its lease is renewed, so that it is not.
func TestAFileThatCannotBeLookedAtRenewsNoLease(t *testing.T) {
	folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	put(t, filepath.Join(elsewhere, "a.lease"), version(t, "a", "1"))
	put(t, filepath.Join(folder, "users", "b.json"), version(t, "b", "1"))
	if err := os.Symlink(filepath.Join(elsewhere, "a.lease"), filepath.Join(folder, "users", "a.lease")); err != nil {
		t.Fatal(err)
	}
	l := newLooks(folder)
	l.expect(t, 0, "+a 1, +b 1")
	away := func() {
		t.Helper()
		if err := os.Rename(elsewhere, elsewhere+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, elsewhere); err != nil { // a loop, which not even root gets through
			t.Fatal(err)
		}
	}
	back := func() {
		t.Helper()
		if err := os.Remove(elsewhere); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(elsewhere+".away", elsewhere); err != nil {
			t.Fatal(err)
		}
	}
	away()
	l.expect(t, time.Second, "+a rubbish")
	l.expect(t, 5*time.Second, "")
	back()
	l.expect(t, 0, "+a 1") // it has not changed
	away()
	l.expect(t, time.Second, "+a rubbish")
	l.expect(t, 7*time.Second, "")
	l.expect(t, 2*time.Second, "-a")
	back()
	l.expect(t, time.Second, "")
	put(t, filepath.Join(elsewhere, "a.lease"), version(t, "a", "1"))
	l.expect(t, 0, "+a 1")
}
