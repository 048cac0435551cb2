// Measure has a registry hold many instances of a service, changes some of them, and tells when a client has heard of
// each change. conformance/registries/measure.py runs it.
//
//	measure fill   --registry NAME --count N [--service S]
//	                                             holds so many instances, from the line "ready" until its input ends
//	measure change --registry NAME --rate R --for D
//	                                             servers come and go, so many changes a second; a line for each
//	measure watch  --registry NAME --count N     a client; the line "ready", once there are so many, and one for each
//	                                             change of what fill has not put there
//
// A line is came ID TIME or went ID TIME, the time in nanoseconds of CLOCK_MONOTONIC. The line at the end of watch is
// memory RESIDENT MOST HEAP HEAP, in bytes: resident before there was a client, and at most; of the heap before, and at
// most, garbage included. ../watch.py and ../java/Watch.java are watch in other languages; they tell what is left of the
// heap at the end.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trunkcall/trunkcall/go"
	_ "github.com/trunkcall/trunkcall/go/consul"
	_ "github.com/trunkcall/trunkcall/go/etcd"
	"github.com/trunkcall/trunkcall/go/registry"
	_ "github.com/trunkcall/trunkcall/go/zookeeper"
)

const (
	service = "trunkcall.measure.v1.Many"
	marked  = "changing-" // the ids that come and go

	perServer = 50 // instances that one registrar holds
	opening   = 8  // registrars that begin at a time, since ZooKeeper turns away those that wait long for their session
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("want fill, change or watch")
	}
	fs := flag.NewFlagSet(args[0], flag.ContinueOnError)
	name := fs.String("registry", "", "`name` of the registry")
	count := fs.Int("count", 10_000, "instances")
	filled := fs.String("service", service, "whose instances fill holds")
	rate := fs.Float64("rate", 100, "changes a second")
	lasts := fs.Duration("for", 10*time.Second, "how long")
	if err := fs.Parse(args[1:]); err != nil {
		return err
	}
	store, err := registry.OpenStore(*name)
	if err != nil {
		return err
	}
	switch args[0] {
	case "fill":
		return fill(store, *filled, *count)
	case "change":
		return change(store, *rate, *lasts)
	case "watch":
		return watch(store, *count)
	}
	return fmt.Errorf("there is no command %q", args[0])
}

func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

var printing sync.Mutex

func say(what, id string, at int64) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Printf("%s %s %d\n", what, id, at)
}

func written(service, id string, number int) registry.Written {
	r := registry.Record{
		Service: service, ID: id, Addresses: []string{fmt.Sprintf("10.%d.%d.%d:4000", number>>16&255, number>>8&255, number&255)},
		Zone: "here", Version: "1.4.2",
	}
	data, err := r.Bytes()
	if err != nil {
		panic(err)
	}
	return registry.Written{Record: r, Data: data}
}

// fill holds instances until the input ends.
func fill(store registry.Store, service string, count int) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var running sync.WaitGroup
	ready, failed := make(chan struct{}, count), make(chan error, count)
	beginning := make(chan struct{}, opening)
	for at := 0; at < count; at += perServer {
		select {
		case beginning <- struct{}{}:
		case err := <-failed:
			return err
		}
		records := make([]registry.Written, min(perServer, count-at))
		for i := range records {
			records[i] = written(service, fmt.Sprintf("instance-%05d", at+i), at+i)
		}
		running.Go(func() { failed <- store.Keep(ctx, records, func() { <-beginning; ready <- struct{}{} }) })
	}
	for at := 0; at < count; at += perServer {
		select {
		case <-ready:
		case err := <-failed:
			return err
		}
	}
	fmt.Println("ready")
	running.Wait()
	return nil
}

// change has servers come and go.
func change(store registry.Store, rate float64, lasts time.Duration) error {
	var running sync.WaitGroup
	each := time.NewTicker(time.Duration(2 * float64(time.Second) / rate)) // each comes and goes
	defer each.Stop()
	end := time.After(lasts)
	for number := 0; ; number++ {
		select {
		case <-end:
			running.Wait()
			return nil
		case <-each.C:
		}
		id := fmt.Sprintf("%s%d", marked, number)
		running.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			err := store.Keep(ctx, []registry.Written{written(service, id, 1<<20+number)}, func() {
				say("came", id, now())
				time.AfterFunc(time.Second, func() {
					say("went", id, now()) // from the moment on at which it is asked for
					cancel()
				})
			})
			if err != nil {
				fmt.Fprintln(os.Stderr, "measure:", err)
			}
		})
	}
}

// watching is a balancer that tells of the endpoints that come and go. It is lazy, so that it is given all of them.
type watching struct {
	count int // how many there are to be
	there map[string]struct{}
	ready bool
}

func (b *watching) Balance(endpoints []*trunkcall.EndpointState) trunkcall.Picker {
	at := now() // what is done here is not the client's
	there := map[string]struct{}{}
	for _, e := range endpoints {
		id := e.Endpoint().ID
		if !strings.HasPrefix(id, marked) {
			break // the others stand behind them, in the order of the ids
		}
		there[id] = struct{}{}
		if _, ok := b.there[id]; !ok {
			say("came", id, at)
		}
	}
	for id := range b.there {
		if _, ok := there[id]; !ok {
			say("went", id, at)
		}
	}
	b.there = there
	if !b.ready && len(endpoints) >= b.count {
		b.ready = true
		fmt.Println("ready", len(endpoints))
	}
	return trunkcall.First().Balance(endpoints[:min(1, len(endpoints))])
}

// Lazy has no endpoint connected before it is picked.
func (*watching) Lazy() {}

// watch is a client that makes no calls.
func watch(store registry.Store, count int) error {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	heap := m.HeapInuse
	before, err := resident("VmRSS")
	if err != nil {
		return err
	}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	dial := func(ctx context.Context, _ trunkcall.Endpoint, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	client, err := trunkcall.NewClient("registry:"+service, trunkcall.WithResolver("registry", registry.Resolver(store, quiet)),
		trunkcall.WithBalancer(&watching{count: count}), trunkcall.WithDialer(dial), trunkcall.WithLogger(quiet))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _ = client.Connect(ctx) }() // which has it look, and reaches nobody
	most := heap
	ended := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(ended)
	}()
	each := time.NewTicker(100 * time.Millisecond)
	defer each.Stop()
	for {
		select {
		case <-each.C:
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		case <-ended:
			resident, err := resident("VmHWM")
			if err != nil {
				return err
			}
			fmt.Printf("memory %d %d %d %d\n", before, resident, heap, most)
			return nil
		}
	}
}

// resident is what /proc says of this process's memory under VmRSS or VmHWM, in bytes.
func resident(which string) (int, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int
		if _, err := fmt.Sscanf(line, which+": %d kB", &kilobytes); err == nil {
			return kilobytes << 10, nil
		}
	}
	return 0, fmt.Errorf("/proc has no %s", which)
}
