package trunkcall

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
)

// WithPolicyFile has a file say what holds for calls, in the form of spec/policy.md: at a client timeouts, retries,
// hedging, breakers, ejection of endpoints, balancers, zones, limits and faults for drills; at a server limits. docs/policy.md
// has an example of each. A file at fault fails NewClient, Dial and NewServer, whose error has each fault with its line.
//
// While the client or server is there, the file is looked at every second, and read again when it has changed. What it
// says then holds for calls that begin afterwards. If it is at fault, a warning is logged, observers are
// told, and what held before holds on.
//
// At a client the file takes the place of WithPolicy, WithTimeout and WithoutRepeating, which contradict it. It does not
// hold for calls from a server to its client.
func WithPolicyFile(path string) Option {
	return option(func(c *common) {
		switch {
		case path == "":
			c.wrong("the path of the policy file is empty")
		case c.policyPath != "":
			c.wrong("there are two policy files, %s and %s", c.policyPath, path)
		}
		c.policyPath = path
	})
}

// lookAtPolicies is how often a policy file is looked at (policy.md 5.6).
const lookAtPolicies = time.Second

// policyFile is a policy file that is watched. Only current is for several goroutines.
type policyFile struct {
	path    string
	options *common
	check   func(*policy.File) error // whether whoever was given the file can do what it says; nil: it can
	current atomic.Pointer[governance]

	read  os.FileInfo // the file as it was when it was last read
	seen  os.FileInfo // as it was at the last look
	fault string      // why it was not taken at the last look, as it was logged

	events sequence // what observers are told
}

// openPolicies reads a policy file for the first time. What is wrong is noted among the options; nil: there is none.
func (c *common) openPolicies(check func(*policy.File) error) *policyFile {
	if c.policyPath == "" {
		return nil
	}
	f := &policyFile{path: c.policyPath, options: c, check: check}
	info, err := os.Stat(f.path)
	if err == nil {
		var data []byte
		if data, err = readPolicies(f.path); err == nil {
			f.read, f.seen = info, info
			err = f.take(data)
		}
	}
	if err != nil {
		c.wrong("policy file %s: %s", f.path, faults(err))
		return nil
	}
	return f
}

// faults tells an error in one line.
func faults(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// take has what is in the file hold.
func (f *policyFile) take(data []byte) error {
	file, err := policy.Parse(data)
	if err == nil && f.check != nil {
		err = f.check(file)
	}
	if err == nil {
		f.current.Store(newGovernance(file, f.current.Load()))
	}
	return err
}

// wantRegular refuses what is no regular file (policy.md 5.6).
func wantRegular(info os.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("want a file, not a folder or the like")
	}
	return err
}

// readPolicies reads a file, or enough to tell that it is too long.
func readPolicies(path string) ([]byte, error) {
	if err := wantRegular(os.Stat(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the user names it; it may be a pipe by now
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if err := wantRegular(f.Stat()); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, policy.MaxFile+1))
}

// watch looks at the file until done.
func (f *policyFile) watch(done <-chan struct{}) {
	ticker := time.NewTicker(lookAtPolicies)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.look()
		case <-done:
			return
		}
	}
}

// look reads the file if it has changed, and has stayed as it is since the last look and until it was read: one that is
// being written is left alone.
func (f *policyFile) look() {
	var data []byte
	info, err := os.Stat(f.path)
	if err == nil {
		stays := f.seen != nil && alike(info, f.seen)
		f.seen = info
		if !stays || f.read != nil && alike(info, f.read) {
			return
		}
		data, err = readPolicies(f.path)
	}
	if err != nil {
		f.seen, f.read = nil, nil
		f.refused(err)
		return
	}
	if now, gone := os.Stat(f.path); gone != nil || !alike(now, info) {
		return
	}
	f.read = info
	if err := f.take(data); err != nil {
		f.refused(err)
		return
	}
	f.fault = ""
	f.options.policyTaken(&f.events, f.path)
}

// refused tells why the file is not taken, unless that was said before.
func (f *policyFile) refused(err error) {
	if text := faults(err); text != f.fault {
		f.fault = text
		f.options.policyRefused(&f.events, f.path, err)
	}
}

// alike reports whether a file is as it was.
func alike(a, b os.FileInfo) bool {
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && os.SameFile(a, b)
}
