package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Times of a folder (spec/registry.md 7).
const (
	leaseFor   = 15 * time.Second
	renewEach  = leaseFor / 3
	lookEach   = 250 * time.Millisecond
	lookPart   = 20              // a look takes one part in so many of the time
	lookedAway = 5 * time.Second // a pause between two looks that does not count
	cleanEach  = time.Minute
	uncleanFor = 5 * time.Minute

	leaseEnds, byHandEnds, unfinishedEnds = ".lease", ".json", ".tmp"
)

// Folder is a registry in a folder, for the processes of one machine: each instance has a file, FOLDER/SERVICE/ID.lease,
// which its server renews, or ID.json, which is written by hand and counts until it is removed. It is a Store.
type Folder struct{ path string }

// NewFolder is the registry in a folder, which must be there.
func NewFolder(path string) *Folder { return &Folder{path} }

// Watch is Source.
func (f *Folder) Watch(ctx context.Context, service string, w *Watcher) error {
	l := looking{folder: f.path, service: service, files: map[string]*seen{}}
	for first := true; ; first = false {
		began := time.Now()
		came, went, err := l.look(began)
		switch {
		case err != nil:
			return err
		case first:
			w.All(came)
		case len(came)+len(went) > 0:
			w.Change(came, went)
		}
		t := time.NewTimer(max(lookEach, lookPart*time.Since(began)))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// looking is what a watcher has seen of the files of a service.
type looking struct {
	folder, service string
	files           map[string]*seen // by name
	told            map[string]Entry // what the watcher was told of, by id
	clock           time.Duration    // how long it has looked
	last            time.Time
}

// seen is a file.
type seen struct {
	info    fs.FileInfo
	changed time.Duration // when, by the looking's clock
	entry   Entry
	lease   bool
}

// look looks at the files, and returns what came or changed, and the ids of what went.
func (l *looking) look(now time.Time) (came []Entry, went []string, err error) {
	if gap := now.Sub(l.last); !l.last.IsZero() && gap <= lookedAway {
		l.clock += gap
	}
	l.last = now
	names, err := l.names()
	if err != nil {
		return nil, nil, err
	}
	files := make(map[string]*seen, len(names))
	for _, name := range names {
		if file := l.file(name); file != nil {
			files[name] = file
		}
	}
	l.files = files
	there := map[string]Entry{}
	for name, file := range files {
		if file.lease && l.clock-file.changed >= leaseFor {
			continue
		}
		if _, ok := there[file.entry.ID]; !ok || strings.HasSuffix(name, byHandEnds) {
			there[file.entry.ID] = file.entry
		}
	}
	for id, e := range there {
		if before, ok := l.told[id]; !ok || !before.same(e) {
			came = append(came, e)
		}
	}
	for id := range l.told {
		if _, ok := there[id]; !ok {
			went = append(went, id)
		}
	}
	l.told = there
	return came, went, nil
}

// same reports whether an entry is the same as another.
func (e *Entry) same(o Entry) bool {
	return e.From == o.From && bytes.Equal(e.Data, o.Data) && (e.Err == nil) == (o.Err == nil) && (e.Err == nil || e.Err.Error() == o.Err.Error())
}

// names are those of the files of the service.
func (l *looking) names() ([]string, error) {
	files, err := os.ReadDir(filepath.Join(l.folder, l.service))
	if errors.Is(err, fs.ErrNotExist) {
		_, err = os.Stat(l.folder)
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(files))
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), ".") {
			names = append(names, file.Name())
		}
	}
	return names, nil
}

// file is what is to be known of a file, nil if it has gone.
func (l *looking) file(name string) *seen {
	path := filepath.Join(l.folder, l.service, name)
	before := l.files[name]
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && before != nil && unchanged(before.info, info):
		return before
	}
	file := &seen{info: info, changed: l.clock, entry: Entry{From: path}}
	id, lease := strings.CutSuffix(name, leaseEnds)
	if !lease {
		var byHand bool
		if id, byHand = strings.CutSuffix(name, byHandEnds); !byHand {
			id = ""
		}
	}
	file.lease = lease
	switch file.entry.ID = id; {
	case !isName(id, maxID):
		file.entry.ID = path // which no id is
		file.entry.Err = errors.New("want a file ID" + leaseEnds + " or ID" + byHandEnds + " with an id before that")
	case err != nil:
		file.entry.Err = err
	default:
		file.entry.Data, file.entry.Err = readFile(path, info)
	}
	return file
}

// unchanged reports whether a file is as it was, from what the system says of it. It is nil where it could not be asked.
func unchanged(before, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) && before.Size() == now.Size() &&
		before.Mode() == now.Mode()
}

// readFile reads what may be a record.
func readFile(path string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("want a file, not a folder or the like")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = errSize(int(max(info.Size(), int64(len(data)))))
	}
	return data, err
}

// Keep is Store.
func (f *Folder) Keep(ctx context.Context, records []Written, published func()) error {
	if _, err := os.Stat(f.path); err != nil {
		return err
	}
	k := keeping{folder: f.path, records: records, seen: map[string]unclean{}}
	renew := time.NewTicker(renewEach)
	defer renew.Stop()
	clean := time.NewTicker(cleanEach)
	defer clean.Stop()
	for first := true; ; first = false {
		if err := k.write(); err != nil {
			return err
		}
		if first {
			published()
		}
		select {
		case <-renew.C:
		case <-clean.C:
			k.clean()
		case <-ctx.Done():
			return k.withdraw()
		}
	}
}

// keeping is what Keep works with.
type keeping struct {
	folder  string
	records []Written
	seen    map[string]unclean // by path
}

// unclean is a file that may have been left behind.
type unclean struct {
	info  fs.FileInfo
	since time.Time
}

func (k *keeping) path(r *Written) string {
	return filepath.Join(k.folder, r.Service, r.ID+leaseEnds)
}

// write writes each record to a file beside its own, and renames that.
func (k *keeping) write() error {
	for i := range k.records {
		r := &k.records[i]
		folder := filepath.Join(k.folder, r.Service)
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // others are to read it
			return err
		}
		f, err := os.CreateTemp(folder, "."+r.ID+".*"+unfinishedEnds)
		if err != nil {
			return err
		}
		_, err = f.Write(r.Data)
		err = errors.Join(err, f.Chmod(0o644), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), k.path(r))
		}
		if err != nil {
			return errors.Join(err, os.Remove(f.Name()))
		}
	}
	return nil
}

// withdraw removes the files that have what was written.
func (k *keeping) withdraw() error {
	var failed error
	for i := range k.records {
		path := k.path(&k.records[i])
		data, err := os.ReadFile(path)
		if err == nil && bytes.Equal(data, k.records[i].Data) {
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("withdrawing: %w", err))
		}
	}
	return failed
}

// clean removes what others have left behind. What cannot be removed is theirs.
func (k *keeping) clean() {
	now := time.Now()
	there := map[string]unclean{}
	for i := range k.records {
		folder := filepath.Join(k.folder, k.records[i].Service)
		files, _ := os.ReadDir(folder)
		for _, file := range files {
			path := filepath.Join(folder, file.Name())
			info, err := file.Info()
			if _, ours := there[path]; ours || err != nil || !info.Mode().IsRegular() || !leftBehind(file.Name()) {
				continue
			}
			before, ok := k.seen[path]
			switch {
			case !ok || !unchanged(before.info, info):
				there[path] = unclean{info, now}
			case now.Sub(before.since) >= uncleanFor:
				_ = os.Remove(path)
			default:
				there[path] = before
			}
		}
	}
	k.seen = there
}

func leftBehind(name string) bool {
	return strings.HasSuffix(name, leaseEnds) && !strings.HasPrefix(name, ".") ||
		strings.HasSuffix(name, unfinishedEnds) && strings.HasPrefix(name, ".")
}
