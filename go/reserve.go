package trunkcall

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
)

// The heap's reserve (decision 0024). Go collects garbage when the heap has doubled, and
// from 4 MiB on: a process that does little but calls has next to nothing on its heap, and
// would collect a hundred times a second. Memory that is allocated and never touched counts
// for the collector, and takes none of the machine's.

// heapReserve is how much that is. The heap of a process with little on it grows to
// twice as much before garbage is collected.
const heapReserve = 16 << 20

// reserveNeeds is what a process must be allowed to have for a reserve.
const reserveNeeds = 16 * heapReserve

var reserve struct {
	once sync.Once
	held []byte // and that is all it is for
}

// reserveHeap sets the reserve aside, once for the process.
func reserveHeap() {
	reserve.once.Do(func() {
		if wantsReserve(os.LookupEnv, os.ReadFile) {
			reserve.held = make([]byte, heapReserve)
		}
	})
}

// wantsReserve reports whether nobody has said how garbage is to be collected, and the
// process may have memory enough.
func wantsReserve(env func(string) (string, bool), read func(string) ([]byte, error)) bool {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := env(name); set {
			return false
		}
	}
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	if percent[0].Value.Kind() != metrics.KindUint64 || percent[0].Value.Uint64() != 100 || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		return false
	}
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, _ := read(file)
		if most, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && most < reserveNeeds {
			return false
		}
	}
	return true
}
