package trunkcall

import "sync"

var reserve struct {
	mu   sync.Mutex
	held []byte // and that is all it is for
}

// ReserveHeap makes garbage collection less frequent in a process with a small heap. Go collects
// when the heap has doubled, from 4 MiB on, so a process that does little but calls collects a
// hundred times a second. ReserveHeap allocates so many bytes and never touches them: they count
// for the collector, which then waits for twice as much garbage and live memory together, and take
// none of the machine's memory. 16 MiB gave up to half as many calls again (decision 0024), at the
// price of up to 32 MiB of garbage.
//
// It is for all of the process, so only a program calls it, once, when it starts; clients and
// servers do not. Another call replaces what the one before has set aside; 0 gives it back. It
// counts towards GOMEMLIMIT like all that is on the heap, and with GOGC=off it does nothing.
func ReserveHeap(bytes int) {
	reserve.mu.Lock()
	defer reserve.mu.Unlock()
	reserve.held = nil
	if bytes > 0 {
		reserve.held = make([]byte, bytes)
	}
}
