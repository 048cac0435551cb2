package trunkcall_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/registry"
)

// What finding servers and policies cost a call, each switched on in turn: a hundred callers, and the servers, in one process.
// What a figure cpu-ns/op says beyond the first one is the cost at both sides together (docs/policy.md).
func BenchmarkFeatures(b *testing.B) {
	const retries = "defaults:\n  timeout: 10s\n  idempotent: true\n  retries:\n    attempts: 3\n"
	const breaker = "  breaker:\n    percent: 50\n"
	const limits = "defaults:\n  server_rate:\n    per_second: 1000000\n  server_concurrency:\n    limit: 1000\n"
	file := func(text string) string {
		path := filepath.Join(b.TempDir(), "policy.yaml")
		if err := os.WriteFile(path, []byte("policy: 1\n"+text+"...\n"), 0o600); err != nil {
			b.Fatal(err)
		}
		return path
	}
	var attempts atomic.Int64
	observer := trunkcall.WithAttemptObserver(trunkcall.AttemptObserver{Ended: func(*trunkcall.Attempt) { attempts.Add(1) }})
	for _, one := range []struct {
		name    string
		servers int
		found   bool // in a registry
		server  []trunkcall.ServerOption
		client  []trunkcall.ClientOption
	}{
		{name: "none", servers: 1},
		{name: "balancing", servers: 3},
		{name: "registry", servers: 3, found: true},
		{name: "observer", servers: 1, client: []trunkcall.ClientOption{observer}},
		{name: "retries", servers: 1, client: []trunkcall.ClientOption{trunkcall.WithPolicyFile(file(retries))}},
		{name: "breaker", servers: 1, client: []trunkcall.ClientOption{trunkcall.WithPolicyFile(file(retries + breaker))}},
		{name: "limits of the server", servers: 1, server: []trunkcall.ServerOption{trunkcall.WithPolicyFile(file(limits))}},
		{name: "all", servers: 3, found: true, server: []trunkcall.ServerOption{trunkcall.WithPolicyFile(file(limits))}, client: []trunkcall.ClientOption{observer, trunkcall.WithPolicyFile(file(retries + breaker))}},
	} {
		b.Run(one.name, func(b *testing.B) {
			folder, target := registry.NewFolder(b.TempDir()), ""
			quiet := slog.New(slog.DiscardHandler)
			for range one.servers {
				registrar := registry.NewRegistrar(folder, registry.Published{Names: []string{"s"}, Logger: quiet})
				options := one.server
				if one.found {
					options = append(options[:len(options):len(options)], trunkcall.WithRegistrar(registrar))
				}
				server, err := trunkcall.NewServer(options...)
				if err != nil {
					b.Fatal(err)
				}
				defer server.Close()
				if err := server.Register(echo.Handler(func(_ context.Context, in *payload) (*payload, error) { return in, nil })); err != nil {
					b.Fatal(err)
				}
				where, err := server.Listen("127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				target += "," + where.String()
				if one.found {
					if err := registrar.Wait(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			}
			target = target[1:]
			options := one.client
			if one.found {
				options = append(options[:len(options):len(options)], trunkcall.WithResolver("registry", registry.Resolver(folder, nil)))
				target = "registry:s"
			}
			client, err := trunkcall.NewClient(target, options...)
			if err != nil {
				b.Fatal(err)
			}
			defer client.Close()
			if err := client.Connect(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.SetParallelism(50)
			began := cpuTime()
			b.RunParallel(func(p *testing.PB) {
				for in := text("x"); p.Next(); {
					if _, err := echo.Call(context.Background(), client, in); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is how long the process has had a processor.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
