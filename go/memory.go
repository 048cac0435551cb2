package trunkcall

import (
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
)

// defaultMemory is the bound of WithMemory unless it is given: a quarter of what the
// process may have, at most DefaultMemory.
var defaultMemory = sync.OnceValue(func() int64 {
	return budgetOf(availableMemory(func(name string) string {
		b, err := os.ReadFile(name) //nolint:gosec // of the names below
		if err != nil {
			return ""
		}
		return string(b)
	}))
})

// budgetOf is the default for a process that may have so many bytes; 0: nobody
// knows.
func budgetOf(available int64) int64 {
	if available <= 0 {
		return DefaultMemory
	}
	return max(leastMemory, min(DefaultMemory, available/4))
}

// availableMemory is what the process may have: the least of the machine's memory and
// the limits of its control groups and of those around them, version 1 or 2. It is 0
// where there are no such files to read, as on other systems than Linux.
func availableMemory(read func(name string) string) int64 {
	least := int64(0)
	consider := func(n int64, known bool) {
		if known && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	for line := range strings.Lines(read("/proc/meminfo")) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			n, known := wholeNumber(fields[1])
			consider(n<<10, known)
		}
	}
	for line := range strings.Lines(read("/proc/self/cgroup")) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		if parts[0] != "0" {
			if !strings.Contains(","+parts[1]+",", ",memory,") {
				continue
			}
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		// Seen from within a container, its own group may stand at the root.
		for group := path.Clean("/" + parts[2]); ; group = path.Dir(group) {
			consider(wholeNumber(strings.TrimSpace(read(path.Join(root, group, file)))))
			if group == "/" {
				break
			}
		}
	}
	return least
}

func wholeNumber(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n < 1<<60 // version 1 says no limit by a huge number
}
