package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Times of a folder (spec/registry.md 7).
const (
	leaseFor    = 15 * time.Second
	renewEach   = leaseFor / 3
	lookEach    = 250 * time.Millisecond
	lookPart    = 20              // a look takes one part in so many of the time
	lookedAway  = 5 * time.Second // a pause between two looks that does not count
	mostRubbish = 10_000
	cleanEach   = time.Minute
	uncleanFor  = 5 * time.Minute
	yieldEach   = time.Second // how often a file is looked at that was left to another server

	leaseEnds, byHandEnds, unfinishedEnds = ".lease", ".json", ".tmp"
)

// Folder is a registry in a folder, for the processes of one machine: each instance has a file, FOLDER/SERVICE/ID.lease,
// which its server renews, or ID.json, which is written by hand and counts until it is removed. It is a Store.
type Folder struct {
	path string

	mu      sync.Mutex
	yielded map[yielded]bool // what was left to other servers
	held    map[yielded]bool // what was held when keeping it failed
}

// NewFolder is the registry in a folder, which must be there.
func NewFolder(path string) *Folder { return &Folder{path: path} }

// Watch is Source.
func (f *Folder) Watch(ctx context.Context, service string, w *Watcher) error {
	l := newLooking(f.path, service)
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
	mostBytes       int // of records
	mostRubbish     int // files that are no records and are kept in mind
	readFile        func(path string, info fs.FileInfo) ([]byte, error)
	seed            maphash.Seed
	files           map[string]*seen // by name
	told            map[string]Entry // what the watcher was told of, by id
	clock           time.Duration    // how long it has looked
	last            time.Time
}

func newLooking(folder, service string) *looking {
	return &looking{
		folder: folder, service: service, mostBytes: mostBytes, mostRubbish: mostRubbish, readFile: readFile,
		seed: maphash.MakeSeed(), files: map[string]*seen{},
	}
}

// seen is a file.
type seen struct {
	info    fs.FileInfo   // as it was last looked at, nil if it never could be
	changed time.Duration // when, by the looking's clock
	entry   Entry
	lease   bool
	lasting bool // it is no record, but was one, which may still count
	unread  bool // the system did not let it be looked at or read, which the next look tries again
}

// look looks at the files, and returns what came or changed, and the ids of what went. Only records count for what a
// watcher holds: what is none leaves nothing but its entry, and that only of so many.
func (l *looking) look(now time.Time) (came []Entry, went []string, err error) {
	l.pass(now)
	names, err := l.names()
	if err != nil {
		return nil, nil, err
	}
	files := make(map[string]*seen, min(len(names), mostKeys))
	records, held, rubbish := 0, 0, 0
	for _, name := range names {
		file := l.file(name)
		if file == nil {
			continue
		}
		if file.entry.Err != nil && !file.lasting {
			if rubbish++; rubbish <= l.mostRubbish {
				files[name] = file
			}
			continue
		}
		files[name] = file
		records, held = records+1, held+len(file.entry.ID)+len(file.entry.Data)
		if err := checkHeld(records, held, l.mostBytes); err != nil {
			return nil, nil, err
		}
	}
	l.files = files
	there := map[string]Entry{}
	if rubbish > l.mostRubbish {
		path := filepath.Join(l.folder, l.service) // which no id is
		there[path] = Entry{ID: path, From: path, Err: fmt.Errorf("more than %d files are no records", l.mostRubbish)}
	}
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

// pass has its clock go on.
func (l *looking) pass(now time.Time) {
	if gap := now.Sub(l.last); !l.last.IsZero() && gap <= lookedAway {
		l.clock += gap
	}
	l.last = now
}

// counts looks at one file, and reports whether it is there and its lease is not over.
func (l *looking) counts(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	before := l.files[path]
	if before == nil || !unchanged(before.info, info) {
		l.files[path] = &seen{info: info, changed: l.clock}
		return true
	}
	return l.clock-before.changed < leaseFor
}

// same reports whether an entry is the same as another.
func (e *Entry) same(o Entry) bool {
	return e.From == o.From && bytes.Equal(e.Data, o.Data) && e.digest == o.digest && (e.Err == nil) == (o.Err == nil) && (e.Err == nil || e.Err.Error() == o.Err.Error())
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
	case err == nil && before != nil && unchanged(before.info, info) && !before.unread:
		return before
	}
	file := &seen{info: info, changed: l.clock, entry: Entry{From: path}}
	switch { // reading again what has not changed renews no lease, nor does what cannot be looked at
	case before != nil && err != nil:
		file.info, file.changed = before.info, before.changed
	case before != nil && unchanged(before.info, info):
		file.changed = before.changed
	}
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
		file.entry.Err, file.unread = err, true
	default:
		file.unread = l.read(&file.entry, before, info)
	}
	file.lasting = file.entry.Err != nil && before != nil && (before.entry.Err == nil || before.lasting)
	return file
}

// read reads the file of an entry, and reports whether the system did not let it. Of what is no record the bytes are not
// kept.
func (l *looking) read(e *Entry, before *seen, info fs.FileInfo) (unread bool) {
	data, err := l.readFile(e.From, info)
	switch {
	case err != nil:
		e.Err = err
		var system *fs.PathError
		return errors.As(err, &system)
	case before != nil && before.entry.Err == nil && bytes.Equal(before.entry.Data, data):
		e.Data = before.entry.Data
		return false
	}
	if _, err = parseAt(l.service, e.ID, data); err == nil {
		e.Data = data
		return false
	}
	e.digest, e.Err = maphash.Bytes(l.seed, data), errors.New(err.Error()) // which has nothing of the bytes
	return false
}

// unchanged reports whether a file is as it was, from what the system says of it. It is nil where it could not be asked.
func unchanged(before, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.ModTime().Equal(now.ModTime()) && before.Size() == now.Size() &&
		before.Mode() == now.Mode()
}

// readFile reads what may be a record. An error of the system is an fs.PathError.
func readFile(path string, info fs.FileInfo) ([]byte, error) {
	if !info.Mode().IsRegular() {
		return nil, errors.New("want a file, not a folder or the like")
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // in the user's folder; it may be a pipe by now
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(data) > maxRecord {
		err = errSize(int(max(info.Size(), int64(len(data)))))
	}
	return data, err
}
