package trunkcall

import (
	"errors"
	"io/fs"
	"os"
	"runtime/debug"
	"testing"
)

func TestTheFirstClientOrServerSetsTheReserveAside(t *testing.T) {
	want := 0
	if wantsReserve(os.LookupEnv, os.ReadFile) {
		want = heapReserve
	}
	NewServer().Close()
	if got := len(reserve.held); got != want {
		t.Errorf("%d bytes, not %d", got, want)
	}
}

func TestTheHeapsReserveGivesWayToWhateverTheUserHasSaid(t *testing.T) {
	nothing := func(string) (string, bool) { return "", false }
	sets := func(name string) func(string) (string, bool) {
		return func(asked string) (string, bool) { return "100", asked == name }
	}
	none := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	says := func(file, text string) func(string) ([]byte, error) {
		return func(asked string) ([]byte, error) {
			if asked == file {
				return []byte(text), nil
			}
			return nil, errors.New("no such file")
		}
	}
	if _, set := os.LookupEnv("GOGC"); set {
		defer debug.SetGCPercent(debug.SetGCPercent(100))
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1<<63 - 1))
	const v2, v1 = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"
	for name, c := range map[string]struct {
		env  func(string) (string, bool)
		read func(string) ([]byte, error)
		want bool
	}{
		"nothing said":        {nothing, none, true},
		"GOGC":                {sets("GOGC"), none, false},
		"GOMEMLIMIT":          {sets("GOMEMLIMIT"), none, false},
		"another variable":    {sets("GODEBUG"), none, true},
		"no limit":            {nothing, says(v2, "max\n"), true},
		"a small container":   {nothing, says(v2, "134217728\n"), false},
		"a small one, v1":     {nothing, says(v1, "134217728\n"), false},
		"a large container":   {nothing, says(v2, "1073741824\n"), true},
		"no limit, v1":        {nothing, says(v1, "9223372036854771712\n"), true},
		"what is no number":   {nothing, says(v2, "lots"), true},
		"more than one knows": {nothing, says(v1, "18446744073709551616"), true},
	} {
		if got := wantsReserve(c.env, c.read); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	before := debug.SetGCPercent(200)
	if wantsReserve(nothing, none) {
		t.Error("SetGCPercent is overruled")
	}
	debug.SetGCPercent(before)
	limit := debug.SetMemoryLimit(1 << 30)
	if wantsReserve(nothing, none) {
		t.Error("SetMemoryLimit is overruled")
	}
	debug.SetMemoryLimit(limit)
}
