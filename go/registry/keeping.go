package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Keep is Store.
func (f *Folder) Keep(ctx context.Context, records []Written, published func()) error {
	if _, err := os.Stat(f.path); err != nil {
		return err
	}
	k := keeping{
		folder: f.path, records: records, logger: loggerOf(ctx), held: f.wasHeld,
		seen: map[string]unclean{}, own: map[string]time.Time{}, renewed: map[string]time.Time{},
	}
	if err := f.untilFree(ctx, &k); err != nil {
		return nil //nolint:nilerr // it is withdrawn, and has written nothing
	}
	renew := time.NewTicker(renewEach)
	defer renew.Stop()
	clean := time.NewTicker(cleanEach)
	defer clean.Stop()
	for first := true; ; first = false {
		if err := k.write(time.Now()); err != nil {
			f.remember(&k, err)
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

// yielded is a record whose file was left to another server.
type yielded struct{ path, data string }

// errTaken says that another server was there before (spec/registry.md 7.6).
type errTaken struct {
	error
	yielded
}

// remember takes note, after a failure, of the file that was left to another server, and of those that were held.
func (f *Folder) remember(k *keeping, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var taken *errTaken
	if errors.As(err, &taken) {
		if f.yielded == nil {
			f.yielded = map[yielded]bool{}
		}
		f.yielded[taken.yielded] = true
	}
	if f.held == nil {
		f.held = map[yielded]bool{}
	}
	for i := range k.records {
		path := k.path(&k.records[i])
		if k.isHeld(path, time.Now()) {
			f.held[yielded{path, string(k.records[i].Data)}] = true
		}
	}
}

// wasHeld reports once whether a key was held when keeping its record failed.
func (f *Folder) wasHeld(path, data string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := yielded{path, data}
	held := f.held[one]
	delete(f.held, one)
	return held
}

// untilFree waits until each file of k that was left to another server has gone, or its lease is over.
func (f *Folder) untilFree(ctx context.Context, k *keeping) error {
	others := looking{files: map[string]*seen{}}
	for {
		others.pass(time.Now())
		waits := false
		for i := range k.records {
			one := yielded{k.path(&k.records[i]), string(k.records[i].Data)}
			f.mu.Lock()
			left := f.yielded[one]
			f.mu.Unlock()
			if !left {
				continue
			}
			if others.counts(one.path) {
				waits = true
				continue
			}
			f.mu.Lock()
			delete(f.yielded, one)
			f.mu.Unlock()
		}
		if !waits {
			return nil
		}
		t := time.NewTimer(yieldEach)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		}
	}
}

// keeping is what Keep works with.
type keeping struct {
	folder  string
	records []Written
	logger  *slog.Logger
	held    func(path, data string) bool // whether a record's key was held when its keeping failed; told once
	seen    map[string]unclean           // by path
	own     map[string]time.Time         // since when a file has been its own, by path; 0: nobody else had it before
	renewed map[string]time.Time         // when a file was last written, by path
}

// unclean is a file that may have been left behind.
type unclean struct {
	info  fs.FileInfo
	since time.Time
}

// isHeld reports whether a key is held: not of one who has just come, or whose own lease was over.
func (k *keeping) isHeld(path string, now time.Time) bool {
	since, ok := k.own[path]
	if renewed, written := k.renewed[path]; written && now.Sub(renewed) >= leaseFor {
		return false
	}
	return ok && (since.IsZero() || now.Sub(since) >= leaseFor)
}

func (k *keeping) path(r *Written) string {
	return filepath.Join(k.folder, r.Service, r.ID+leaseEnds)
}

// write writes each record to a file beside its own, and renames these once all are written: where one cannot be, none is
// renewed, as records that are published together fail together. It fails where another server was there before.
func (k *keeping) write(now time.Time) error {
	first := len(k.renewed) == 0
	beside := make([]string, 0, len(k.records))
	defer func() {
		for _, path := range beside { // what was not renamed
			_ = os.Remove(path)
		}
	}()
	for i := range k.records {
		r := &k.records[i]
		if err := k.look(r, now); err != nil {
			return err
		}
		path, err := k.writeBeside(r)
		if path != "" {
			beside = append(beside, path)
		}
		if err != nil {
			return err
		}
	}
	for i := range k.records {
		path := k.path(&k.records[i])
		if err := os.Rename(beside[0], path); err != nil {
			if first { // else what stands there was published, and counts until its lease is over
				err = errors.Join(err, k.withdraw())
			}
			return err
		}
		beside = beside[1:]
		k.renewed[path] = now
	}
	return nil
}

// writeBeside writes a record to a new file, whose path is "" if there is none.
func (k *keeping) writeBeside(r *Written) (path string, err error) {
	folder := filepath.Join(k.folder, r.Service)
	if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // others are to read it
		return "", err
	}
	f, err := os.CreateTemp(folder, "."+r.ID+".*"+unfinishedEnds)
	if err != nil {
		return "", err
	}
	_, err = f.Write(r.Data)
	return f.Name(), errors.Join(err, f.Chmod(0o644), f.Close())
}

// look looks at what is to be written over (spec/registry.md 7.6).
func (k *keeping) look(r *Written, now time.Time) error {
	path := k.path(r)
	info, err := os.Stat(path)
	gone := errors.Is(err, fs.ErrNotExist)
	var data []byte
	if err == nil {
		data, err = readFile(path, info)
		gone = errors.Is(err, fs.ErrNotExist) // by now
	}
	own := err == nil && bytes.Equal(data, r.Data)
	_, renews := k.own[path]
	held := !renews && k.held(path, string(r.Data)) // once
	switch {
	case !renews && (gone || held && own):
		k.own[path] = time.Time{}
		return nil
	case !renews:
		k.own[path] = now
		return nil
	case err != nil:
		return nil //nolint:nilerr // it has gone, or is no file
	}
	err = r.Replaces(data)
	switch {
	case err == nil:
	case !k.isHeld(path, now):
		return &errTaken{err, yielded{path, string(r.Data)}}
	default:
		k.logger.Warn(err.Error())
	}
	return nil
}

// withdraw removes the files that have what was written.
func (k *keeping) withdraw() error {
	var failed error
	for i := range k.records {
		path := k.path(&k.records[i])
		if _, wrote := k.renewed[path]; !wrote {
			continue // what stands there is another's
		}
		data, err := os.ReadFile(path) //nolint:gosec // in the folder of the registry
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
