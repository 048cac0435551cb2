package trunkcall

import "testing"

// What a process may have is found where Linux says it.
func TestTheDefaultOfMemoryFollowsTheContainer(t *testing.T) {
	const machine = "MemTotal:       16384000 kB\nMemFree: 1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":        {nil, DefaultMemory},
		"a large machine":      {map[string]string{"/proc/meminfo": machine}, DefaultMemory},
		"a small machine":      {map[string]string{"/proc/meminfo": "MemTotal: 1024000 kB\n"}, 1024000 << 10 / 4},
		"version 2, root":      {map[string]string{"/proc/meminfo": machine, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "536870912\n"}, 128 << 20},
		"version 2, no limit":  {map[string]string{"/proc/meminfo": machine, "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, DefaultMemory},
		"version 2, an outer":  {map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "1073741824\n"}, 256 << 20},
		"version 1":            {map[string]string{"/proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/1\n", "/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": "268435456\n"}, 64 << 20},
		"version 1, in itself": {map[string]string{"/proc/self/cgroup": "4:memory:/docker/1\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"}, 64 << 20},
		"version 1, no limit":  {map[string]string{"/proc/self/cgroup": "4:memory:/\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, DefaultMemory},
		"hardly any":           {map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "2000000\n"}, leastMemory},
		"not a number":         {map[string]string{"/proc/meminfo": "MemTotal:\nMemTotal: x kB\n", "/proc/self/cgroup": "0\n0::/\n", "/sys/fs/cgroup/memory.max": "?"}, DefaultMemory},
	} {
		if got := budgetOf(availableMemory(func(name string) string { return c.files[name] })); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
