package registry

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"syscall"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// scripted is a source whose entries a test tells.
type scripted chan func(w *Watcher)

func (s scripted) Watch(ctx context.Context, _ string, w *Watcher) error {
	for {
		select {
		case tell := <-s:
			tell(w)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// counting is a balancer that tells how many endpoints there are, all of them, since it is lazy.
type counting chan int

func (b counting) Balance(endpoints []*trunkcall.EndpointState) trunkcall.Picker {
	b <- len(endpoints)
	return trunkcall.First().Balance(endpoints[:1])
}

func (counting) Lazy() {}

func (b counting) until(count int) {
	for <-b != count {
	}
}

// What a change costs a client that knows ten thousand endpoints, and what memory those take. Most of an operation's time
// is the pause between two sets.
func BenchmarkOneOfTenThousandChanges(b *testing.B) {
	const count = 10_000
	entries := make([]Entry, count)
	for i := range entries {
		entries[i] = entryOf(i)
	}
	before := heap()
	source, counts := make(scripted), make(counting, 1)
	dial := func(ctx context.Context, _ trunkcall.Endpoint, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	logger := slog.New(slog.DiscardHandler)
	client, err := trunkcall.NewClient("registry:s", trunkcall.WithLogger(logger), trunkcall.WithDialer(dial),
		trunkcall.WithBalancer(counts), trunkcall.WithResolver("registry", Resolver(source, logger)))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	go func() { _ = client.Connect(b.Context()) }()
	source <- func(w *Watcher) { w.All(entries) }
	counts.until(count)
	held := heap() - before
	b.ReportAllocs()
	b.ResetTimer()
	cpu := used()
	for i := range b.N {
		number := i / 2 * 7919 % count
		if i%2 == 0 {
			source <- func(w *Watcher) { w.Change(nil, []string{entries[number].ID}) }
			counts.until(count - 1)
		} else {
			source <- func(w *Watcher) { w.Change(entries[number:number+1], nil) }
			counts.until(count)
		}
	}
	b.ReportMetric(float64(used()-cpu)/1e6/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(held)/count, "B/endpoint")
}

// heap is what is in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// used is the processor's time of this process, in nanoseconds.
func used() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
