package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// looks is a watcher of a folder without a client.
type looks struct {
	*looking
	now time.Time
}

func newLooks(folder string) *looks {
	return &looks{newLooking(folder, "users"), time.Now()}
}

// after looks once more after a while, looking each second meanwhile, and says what came and went of the last look.
func (l *looks) after(t *testing.T, d time.Duration) string {
	t.Helper()
	var lines []string
	for end := l.now.Add(d); ; l.now = l.now.Add(time.Second) {
		came, went, err := l.look(l.now)
		if err != nil {
			lines = append(lines, "failed")
		}
		for _, e := range came {
			text := "rubbish"
			if r, err := Parse(e.Data); err == nil && e.Err == nil {
				text = r.Version
			}
			lines = append(lines, "+"+filepath.Base(e.ID)+" "+text)
		}
		for _, id := range went {
			lines = append(lines, "-"+filepath.Base(id))
		}
		if !l.now.Before(end) {
			slices.Sort(lines)
			return strings.Join(lines, ", ")
		}
	}
}

func (l *looks) expect(t *testing.T, d time.Duration, want string) {
	t.Helper()
	if got := l.after(t, d); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// version is the bytes of a record of a version.
func version(t *testing.T, id, version string) string {
	t.Helper()
	return string(written(t, Record{Service: "users", ID: id, Addresses: []string{"a:1"}, Version: version}).Data)
}

func TestFolderFollowsFiles(t *testing.T) {
	folder := t.TempDir()
	l, at := newLooks(folder), func(name string) string { return filepath.Join(folder, "users", name) }
	l.expect(t, 0, "")
	put(t, at("a.json"), version(t, "a", "1"))
	put(t, at("b.lease"), version(t, "b", "2"))
	put(t, at(".hidden"), version(t, "hidden", "3"))
	l.expect(t, 0, "+a 1, +b 2")
	put(t, at("a.json"), version(t, "a", "4"))
	l.expect(t, 0, "+a 4")
	put(t, at("b.json"), version(t, "b", "by hand"))
	l.expect(t, 0, "+b by hand")
	if err := os.Remove(at("b.json")); err != nil {
		t.Fatal(err)
	}
	l.expect(t, 0, "+b 2")
	if err := os.RemoveAll(filepath.Dir(at("x"))); err != nil {
		t.Fatal(err)
	}
	l.expect(t, 0, "-a, -b")
	if err := os.Remove(folder); err != nil {
		t.Fatal(err)
	}
	l.expect(t, 0, "failed")
}

func TestFolderLeaseEndsUnlessRenewed(t *testing.T) {
	folder := t.TempDir()
	lease := filepath.Join(folder, "users", "a.lease")
	put(t, lease, version(t, "a", "1"))
	put(t, filepath.Join(folder, "users", "b.json"), version(t, "b", "2"))
	l := newLooks(folder)
	l.expect(t, 14*time.Second, "+a 1, +b 2")
	put(t, lease, version(t, "a", "1")) // other times and another file, the same bytes
	l.expect(t, 0, "")
	l.expect(t, 14*time.Second, "")
	l.expect(t, time.Second, "-a")
	l.expect(t, time.Hour, "")
	put(t, lease, version(t, "a", "1"))
	l.expect(t, 0, "+a 1")
}

func TestFolderLeaseIsNotMeasuredWhileNobodyLooks(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "users", "a.lease"), version(t, "a", "1"))
	l := newLooks(folder)
	l.expect(t, 0, "+a 1")
	l.now = l.now.Add(time.Hour) // the process was stopped
	l.expect(t, 14*time.Second, "")
	l.expect(t, time.Second, "-a")
}

func TestFolderTellsOfWhatIsNoRecord(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, "users", name) }
	put(t, at("notes.txt"), "")
	put(t, at("-.json"), "")
	put(t, at("long.json"), strings.Repeat("x", maxRecord+7))
	if err := os.Mkdir(at("folder.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("nowhere"), at("link.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("loop.lease"), at("loop.lease")); err != nil { // it cannot be looked at
		t.Fatal(err)
	}
	l := newLooks(folder)
	came, _, err := l.look(l.now)
	told := map[string]string{}
	for _, e := range came {
		told[filepath.Base(e.From)] = fmt.Sprint(e.Err)
	}
	want := map[string]string{
		"notes.txt":   "want a file ID.lease or ID.json with an id before that",
		"-.json":      "want a file ID.lease or ID.json with an id before that",
		"long.json":   "record of 16391 bytes, at most 16384",
		"folder.json": "want a file, not a folder or the like",
		"pipe.json":   "want a file, not a folder or the like",
		"loop.lease":  fmt.Sprintf("stat %s: too many levels of symbolic links", at("loop.lease")),
	}
	if err != nil || fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("%v, %v\nwant %v", told, err, want)
	}
}

// written is a record with its bytes.
func written(t testing.TB, r Record) Written {
	t.Helper()
	data, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return Written{r, data}
}

// instance is a server named id, at an address that nobody listens on.
func instance(t testing.TB, id string) Written {
	return written(t, Record{Service: "users", ID: id, Addresses: []string{id + ".example:1"}})
}

func TestFolderKeepsWithdrawsAndCleans(t *testing.T) {
	folder := t.TempDir() // outside of the bubble, as its end is
	synctest.Test(t, func(t *testing.T) {
		lease := filepath.Join(folder, "users", "a.lease")
		ctx, cancel := context.WithCancel(t.Context())
		kept, published := make(chan error, 1), make(chan struct{})
		go func() {
			kept <- NewFolder(folder).Keep(ctx, []Written{instance(t, "a")}, func() { close(published) })
		}()
		<-published
		for _, name := range []string{"dead.lease", ".dead.1.tmp", "by-hand.json", ".other"} {
			put(t, filepath.Join(folder, "users", name), "x")
		}
		if err := os.Remove(lease); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Minute)
		synctest.Wait()
		if data, err := os.ReadFile(lease); err != nil || string(data) != string(instance(t, "a").Data) {
			t.Errorf("not written again: %s, %v", data, err)
		}
		files, err := os.ReadDir(filepath.Join(folder, "users"))
		if names := fmt.Sprint(files); err != nil || names != "[- .other - a.lease - by-hand.json]" {
			t.Errorf("there are %s, %v", names, err)
		}
		cancel()
		if err := <-kept; err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(lease); !errors.Is(err, os.ErrNotExist) {
			t.Error("not withdrawn", err)
		}
	})
}

// Of two live servers under one key the one that was there stays (spec/registry.md 7.6).
func TestFolderKeepsTheFirstOfTwoServersUnderOneID(t *testing.T) {
	folder := t.TempDir() // outside of the bubble, as its end is
	synctest.Test(t, func(t *testing.T) {
		lease := filepath.Join(folder, "users", "a.lease")
		first := written(t, Record{Service: "users", ID: "a", Addresses: []string{"first:1"}})
		second := written(t, Record{Service: "users", ID: "a", Addresses: []string{"second:1"}})
		stands := func(want Written) bool {
			data, _ := os.ReadFile(lease)
			return string(data) == string(want.Data)
		}
		var log bytes.Buffer
		keep := func(f *Folder, one Written) (end context.CancelFunc, kept chan error) {
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), loggerKey{}, slog.New(slog.NewTextHandler(&log, nil))))
			kept = make(chan error, 1)
			go func() { kept <- f.Keep(ctx, []Written{one}, func() {}) }()
			synctest.Wait()
			return cancel, kept
		}
		endFirst, firstKept := keep(NewFolder(folder), first)
		time.Sleep(time.Second)
		other := NewFolder(folder)
		_, newcomer := keep(other, second)
		if !stands(second) {
			t.Error("a server that is started again must not wait for what it may have left itself")
		}
		if err := <-newcomer; err == nil || err.Error() != "users/a: another server is published under this id, at first:1" {
			t.Error(err)
		}
		if !stands(first) || !strings.Contains(log.String(), "users/a: another server is published under this id") {
			t.Errorf("the first does not stand, or does not tell: %s", log.String())
		}
		endSecond, again := keep(other, second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if !stands(first) {
			t.Error("the second has not waited")
		}
		endFirst()
		if err := <-firstKept; err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !stands(second) {
			t.Error("the second does not take the place that is free")
		}
		endSecond()
		if err := <-again; err != nil {
			t.Error(err)
		}
	})
}

// A registrar that held a key and has failed is no newcomer when it publishes again (spec/registry.md 7.6).
func TestFolderIsHeldAfterAFailure(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		lease := filepath.Join(folder, "users", "a.lease")
		ours := written(t, Record{Service: "users", ID: "a", Addresses: []string{"first:1"}})
		other := written(t, Record{Service: "users", ID: "a", Addresses: []string{"second:1"}})
		store := NewFolder(folder)
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), loggerKey{}, slog.New(slog.DiscardHandler)))
		kept := make(chan error, 1)
		keep := func() {
			published := make(chan struct{})
			go func() { kept <- store.Keep(ctx, []Written{ours}, func() { close(published) }) }()
			<-published
		}
		ends := func() error { // which must be soon
			select {
			case err := <-kept:
				return err
			case <-time.After(time.Minute):
				return nil
			}
		}
		keep()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.Rename(filepath.Dir(lease), filepath.Join(folder, "away")))
		must(os.WriteFile(filepath.Dir(lease), nil, 0o600))
		if err := ends(); !errors.Is(err, syscall.ENOTDIR) {
			t.Fatal(err)
		}
		must(os.Remove(filepath.Dir(lease)))
		must(os.Rename(filepath.Join(folder, "away"), filepath.Dir(lease)))
		keep()
		put(t, lease, string(other.Data))
		time.Sleep(renewEach + time.Second)
		synctest.Wait()
		if data, err := os.ReadFile(lease); err != nil || !bytes.Equal(data, ours.Data) {
			t.Errorf("%s, %v", data, err)
		}
		// What stands there by now is another's: then it is a newcomer.
		must(os.Remove(lease))
		must(os.Mkdir(lease, 0o700))
		if err := ends(); err == nil {
			t.Fatal("a file has taken the place of a folder")
		}
		must(os.Remove(lease))
		put(t, lease, string(other.Data))
		keep()
		put(t, lease, string(other.Data))
		if err := ends(); err == nil || !strings.Contains(err.Error(), "another server is published under this id") {
			t.Error(err)
		}
		// So is who has never held it, though its bytes are there.
		put(t, lease, string(ours.Data))
		store = NewFolder(folder)
		keep()
		put(t, lease, string(other.Data))
		if err := ends(); err == nil || !strings.Contains(err.Error(), "another server is published under this id") {
			t.Error(err)
		}
		cancel()
	})
}

// What cannot be looked at is rubbish, which a registrar replaces.
func TestFolderReplacesWhatCannotBeLookedAt(t *testing.T) {
	folder := t.TempDir()
	lease := filepath.Join(folder, "users", "a.lease")
	if err := os.Mkdir(filepath.Dir(lease), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(lease, lease); err != nil {
		t.Fatal(err)
	}
	ours := instance(t, "a")
	k := keeping{folder: folder, records: []Written{ours}, held: NewFolder(folder).wasHeld, own: map[string]time.Time{}, renewed: map[string]time.Time{}}
	began := time.Now()
	if err := k.write(began); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(lease); err != nil || !bytes.Equal(data, ours.Data) {
		t.Errorf("%s, %v", data, err)
	}
	put(t, lease, string(written(t, Record{Service: "users", ID: "a", Addresses: []string{"other:1"}}).Data))
	if err := k.write(began.Add(renewEach)); err == nil {
		t.Error("it holds what it cannot tell that nobody had")
	}
}

// Who was stopped for longer than a lease finds another there, which holds the key by then.
func TestFolderIsHeldNoLongerThanALease(t *testing.T) {
	folder := t.TempDir()
	lease := filepath.Join(folder, "users", "a.lease")
	made := func(r Written) *keeping {
		return &keeping{
			folder: folder, records: []Written{r}, held: NewFolder(folder).wasHeld, logger: slog.New(slog.DiscardHandler),
			own: map[string]time.Time{}, renewed: map[string]time.Time{},
		}
	}
	other := written(t, Record{Service: "users", ID: "a", Addresses: []string{"other:1"}})
	first, second := made(instance(t, "a")), made(other)
	began := time.Now()
	for _, at := range []time.Duration{0, leaseFor - time.Second} {
		if err := first.write(began.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, lease, string(other.Data))
	if err := first.write(began.Add(2*leaseFor - 2*time.Second)); err != nil {
		t.Error("in time, and", err)
	}
	for _, at := range []time.Duration{4 * leaseFor, 5 * leaseFor} {
		if err := second.write(began.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.write(began.Add(5*leaseFor + time.Second)); err == nil || err.Error() != "users/a: another server is published under this id, at other:1" {
		t.Error("it was stopped for longer, and", err)
	}
	if data, err := os.ReadFile(lease); err != nil || !bytes.Equal(data, other.Data) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestFolderWithdrawsOnlyItsOwn(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	lease := filepath.Join(folder, "users", "a.lease")
	err := NewFolder(folder).Keep(ctx, []Written{instance(t, "a")}, func() {
		put(t, lease, "of another")
		cancel()
	})
	if data, there := os.ReadFile(lease); err != nil || there != nil || string(data) != "of another" {
		t.Error(err, there, string(data))
	}
}

// Many processes write, and kill each other's files in mid-write, while one watches: nothing is torn.
func TestFolderIsNeverReadTorn(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "users"), 0o755); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			r := Record{Service: "users", ID: fmt.Sprint("i", n), Addresses: []string{"a:1"}, Attributes: map[string]string{}}
			for i := range 50 {
				r.Attributes[fmt.Sprint("k", i%10)] = strings.Repeat("v", 100*(i%10))
				k := keeping{folder: folder, records: []Written{written(t, r)}, held: NewFolder(folder).wasHeld, own: map[string]time.Time{}, renewed: map[string]time.Time{}}
				if err := k.write(time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() {
		writers.Wait()
		close(over)
	}()
	l := newLooks(folder)
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		default:
		}
		came, _, err := l.look(l.now)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range came {
			if _, err := parseAt("users", e.ID, e.Data); err != nil || e.Err != nil {
				t.Error(e, err)
			}
		}
	}
	if len(l.told) != 8 {
		t.Error(len(l.told), "files")
	}
}
