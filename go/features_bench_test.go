package trunkcall_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/registry"
)

// featured is a row of BenchmarkFeatures.
type featured struct {
	servers int  // 0: one
	found   bool // in a registry, else at their addresses
	limited bool // by a policy file of the servers
	client  []trunkcall.ClientOption
}

// What finding servers and policies cost a call, each switched on in turn, in the processor's time of the client and of the
// servers. These are two processes, so that each side's time is its own, waits count for nothing, and no goroutine of one side
// takes the other's place. The time of the machine moves by more than what is measured. So each row is measured
// beside a client without anything, in turns, and what it takes more is the median of the turns' differences: the rows
// "none" say how far that can be trusted. Three servers are three connections, where fewer calls share a system call,
// as they do over three connections to one server: that row says what of the others is due to it.
func BenchmarkFeatures(b *testing.B) {
	const retries = "defaults:\n  timeout: 10s\n  idempotent: true\n  retries:\n    attempts: 3\n"
	const breaker = "  breaker:\n    percent: 50\n"
	file := func(text string) trunkcall.Option { return trunkcall.WithPolicyFile(policyFileOf(b, text)) }
	var attempts atomic.Int64
	observer := trunkcall.WithAttemptObserver(trunkcall.AttemptObserver{Ended: func(*trunkcall.Attempt) { attempts.Add(1) }})
	servers := newFeaturesServers(b)
	without := connectedClient(b, servers.bare(b))
	for _, one := range []struct {
		name string
		featured
	}{
		{"none", featured{}},
		{"three connections", featured{client: []trunkcall.ClientOption{trunkcall.WithConnections(3)}}},
		{"balancing", featured{servers: 3}},
		{"registry", featured{servers: 3, found: true}},
		{"observer", featured{client: []trunkcall.ClientOption{observer}}},
		{"retries", featured{client: []trunkcall.ClientOption{file(retries)}}},
		{"breaker", featured{client: []trunkcall.ClientOption{file(retries + breaker)}}},
		{"limits of the server", featured{limited: true}},
		{"all over one connection", featured{limited: true, client: []trunkcall.ClientOption{observer, file(retries + breaker)}}},
		{"all", featured{servers: 3, found: true, limited: true, client: []trunkcall.ClientOption{observer, file(retries + breaker)}}},
	} {
		b.Run(one.name, func(b *testing.B) { benchFeatured(b, &one.featured, servers, without) })
	}
}

func policyFileOf(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte("policy: 1\n"+text+"...\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// featureTurns is how often a row and a client without anything take turns.
const featureTurns = 20

func benchFeatured(b *testing.B, f *featured, servers *featuresServers, without *trunkcall.Client) {
	folder, options := b.TempDir(), f.client
	target := servers.serve(b, f, folder)
	if f.found {
		target = "registry:s"
		options = append(options[:len(options):len(options)], trunkcall.WithResolver("registry", registry.Resolver(registry.NewFolder(folder), nil)))
	}
	with := connectedClient(b, target, options...)
	n := max(b.N/featureTurns, 1)
	callMany(b, without, n)
	callMany(b, with, n)
	b.ReportAllocs()
	b.ResetTimer()
	var figures [2][]usedByCall // of each turn: without anything, with what the row has
	for turn := 0; turn*n < b.N; turn++ {
		for i := range 2 {
			if (turn+i)%2 == 0 { // A B B A
				b.StopTimer()
				figures[0] = append(figures[0], measured(b, servers, without, n))
				b.StartTimer()
			} else {
				figures[1] = append(figures[1], measured(b, servers, with, n))
			}
		}
	}
	report := func(unit string, of func(without, with *usedByCall) float64) {
		var all []float64
		for turn := range figures[1] {
			all = append(all, of(&figures[0][turn], &figures[1][turn]))
		}
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], unit)
	}
	report("client-ns/op", func(_, with *usedByCall) float64 { return with.client })
	report("server-ns/op", func(_, with *usedByCall) float64 { return with.server })
	report("more-client-ns/op", func(without, with *usedByCall) float64 { return with.client - without.client })
	report("more-server-ns/op", func(without, with *usedByCall) float64 { return with.server - without.server })
	report("server-allocs/op", func(_, with *usedByCall) float64 { return with.objects })
}

func connectedClient(b *testing.B, target string, options ...trunkcall.ClientOption) *trunkcall.Client {
	b.Helper()
	client, err := trunkcall.NewClient(target, options...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	if err := client.Connect(b.Context()); err != nil {
		b.Fatal(err)
	}
	return client
}

// usedByCall is what one call took: of the processor's time, in nanoseconds, at the client and at the servers, and objects there.
type usedByCall struct{ client, server, objects float64 }

// measured is what each of n calls took.
func measured(b *testing.B, servers *featuresServers, client *trunkcall.Client, n int) usedByCall {
	b.Helper()
	thereBefore, objectsBefore := servers.used(b)
	hereBefore := cpuTime()
	callMany(b, client, n)
	hereAfter := cpuTime()
	thereAfter, objectsAfter := servers.used(b)
	return usedByCall{
		client: float64(hereAfter-hereBefore) / float64(n), server: (thereAfter - thereBefore) / float64(n),
		objects: (objectsAfter - objectsBefore) / float64(n),
	}
}

// callMany makes n calls, by a hundred callers.
func callMany(b *testing.B, client *trunkcall.Client, n int) {
	b.Helper()
	var made atomic.Int64
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			for in := text("x"); made.Add(1) <= int64(n); {
				if _, err := echo.Call(context.Background(), client, in); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// cpuTime is how long the process has had a processor.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// featuresServers is a process that serves what the client calls.
type featuresServers struct {
	orders io.Writer
	told   *bufio.Reader
}

// featuresOrder is a line that the process is told: servers that are to be there in place of those of the order before. An
// empty line asks it what it has used.
type featuresOrder struct {
	Servers int
	Policy  string // the file, empty: none
	Folder  string // of the registry, empty: they are not in one
}

func newFeaturesServers(b *testing.B) *featuresServers {
	b.Helper()
	process := child(b, "TestServersOfFeatures")
	process.Args = append(process.Args, "-test.timeout=0") // as long as the benchmark takes
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := process.Start(); err != nil {
		b.Fatal(err)
	}
	s := &featuresServers{orders: in, told: bufio.NewReader(out)}
	b.Cleanup(func() {
		_ = in.Close() // ends it
		_, _ = io.Copy(io.Discard, s.told)
		if err := process.Wait(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// tells says a line and waits for one that begins so, of which it returns the rest.
func (s *featuresServers) tells(b *testing.B, order, prefix string) string {
	b.Helper()
	if _, err := io.WriteString(s.orders, order+"\n"); err != nil {
		b.Fatal(err)
	}
	for {
		line, err := s.told.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			return said
		}
	}
}

// bare is the address of a server without anything, which stays.
func (s *featuresServers) bare(b *testing.B) string {
	b.Helper()
	return s.tells(b, "", "without ")
}

// serve has the servers of a row be there, and returns their addresses.
func (s *featuresServers) serve(b *testing.B, f *featured, folder string) (target string) {
	b.Helper()
	order := featuresOrder{Servers: max(f.servers, 1)}
	if f.limited {
		order.Policy = policyFileOf(b, "defaults:\n  server_rate:\n    per_second: 1000000\n  server_concurrency:\n    limit: 1000\n")
	}
	if f.found {
		order.Folder = folder
	}
	line, err := json.Marshal(order)
	if err != nil {
		b.Fatal(err)
	}
	return s.tells(b, string(line), "serving ")
}

// used is how long the process has had a processor, and how many objects it has made.
func (s *featuresServers) used(b *testing.B) (cpu, objects float64) {
	b.Helper()
	if _, err := fmt.Sscan(s.tells(b, "", "used "), &cpu, &objects); err != nil {
		b.Fatal(err)
	}
	return cpu, objects
}

// TestServersOfFeatures is that process. It ends with its standard input.
func TestServersOfFeatures(t *testing.T) {
	inChild(t)
	bare, _ := serveFeatures(t, featuresOrder{Servers: 1})
	fmt.Println("without " + bare)
	end := func() {}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if len(lines.Bytes()) == 0 {
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			fmt.Printf("used %d %d\n", int64(cpuTime()), memory.Mallocs)
			continue
		}
		var order featuresOrder
		if err := json.Unmarshal(lines.Bytes(), &order); err != nil {
			t.Fatal(err)
		}
		end()
		var target string
		target, end = serveFeatures(t, order)
		fmt.Println("serving " + target)
	}
}

func serveFeatures(t *testing.T, order featuresOrder) (target string, end func()) {
	t.Helper()
	var addresses []string
	var servers []*trunkcall.Server
	for range order.Servers {
		var options []trunkcall.ServerOption
		if order.Policy != "" {
			options = append(options, trunkcall.WithPolicyFile(order.Policy))
		}
		published := func() error { return nil }
		if order.Folder != "" {
			registrar := registry.NewRegistrar(registry.NewFolder(order.Folder), registry.Published{Names: []string{"s"}, Logger: slog.New(slog.DiscardHandler)})
			options = append(options, trunkcall.WithRegistrar(registrar))
			published = func() error { return registrar.Wait(t.Context()) }
		}
		server, err := trunkcall.NewServer(options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		servers = append(servers, server)
		if err := server.Register(echo.Handler(serveEcho)); err != nil {
			t.Fatal(err)
		}
		address, err := server.Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if err := published(); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, address.String())
	}
	return strings.Join(addresses, ","), func() {
		for _, server := range servers {
			server.Close()
		}
	}
}
