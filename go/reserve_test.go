package trunkcall_test

import (
	"os"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// liveHeap is what is left on the heap after a collection.
func liveHeap() uint64 {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func TestOnlyReserveHeapSetsMemoryAside(t *testing.T) {
	if os.Getenv(childVariable) != t.Name() { // other tests have memory of their own
		if out, err := child(t, t.Name()).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	const size, little = 64 << 20, 8 << 20
	_, address := serve(t, nil, standard()...)
	mustEcho(t, dial(t, address), "a client and a server")
	if live := liveHeap(); live > little {
		t.Errorf("%d bytes are live with a client and a server", live)
	}
	trunkcall.ReserveHeap(size)
	if live := liveHeap(); live < size {
		t.Errorf("%d bytes are live, with %d set aside", live, size)
	}
	trunkcall.ReserveHeap(2 * size)
	if live := liveHeap(); live < 2*size || live > 2*size+little {
		t.Errorf("%d bytes are live, with %d set aside instead", live, 2*size)
	}
	trunkcall.ReserveHeap(0)
	if live := liveHeap(); live > little {
		t.Errorf("%d bytes are live after all was given back", live)
	}
}
