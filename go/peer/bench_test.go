package peer

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	benchv1 "github.com/trunkcall/trunkcall/go/gen/bench/v1"
	"github.com/trunkcall/trunkcall/go/peer/services"
)

// bench measures a few calls and checks the line that it prints.
func bench(t *testing.T, target string, flags ...string) {
	t.Helper()
	got := run(append([]string{"bench", "--target", target, "--calls", "200", "--warmup", "0"}, flags...)...)
	var result map[string]float64
	slow := slices.Contains(flags, "--rate") && strings.Contains(got.stderr, "fell behind: ") // on a busy machine
	if err := json.Unmarshal([]byte(got.stdout), &result); err != nil || got.status != exitOK || got.stderr != "" && !slow {
		t.Fatalf("%q: got %+v, %v", flags, got, err)
	}
	keys := strings.Fields("allocations answered_p50_us answered_p99_us calls cpu_us errors max_us mean_us p50_us p90_us p95_us p999_us p99_us rate seconds")
	if !slices.Equal(slices.Sorted(maps.Keys(result)), keys) || strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("%q: got %s", flags, got.stdout)
	}
	if result["calls"] != 200 || result["errors"] != 0 || result["rate"] <= 0 {
		t.Errorf("%q: got %s", flags, got.stdout)
	}
}

func TestBenchMeasuresEveryMethodWithEveryCodec(t *testing.T) {
	for _, served := range codecs {
		target := serve(t, "--listen", "127.0.0.1:0", "--codec", served).address
		for _, called := range codecs {
			for _, method := range append(benchMethods, "/trunkcall.bench.v1.BenchService/Say") {
				if !isCodeFirstBench(method) {
					bench(t, target, "--codec", called, "--method", method, "--connections", "2", "--callers", "5")
				}
			}
		}
		for _, method := range []string{"calc/div", "/calc/div", "hello/say"} {
			bench(t, target, "--method", method, "--connections", "2", "--callers", "5")
			bench(t, target, "--method", method, "--codec", "msgpack")
			bench(t, target, "--method", method, "--codec", "json")
		}
		bench(t, target, "--method", "Say", "--codec", "json")
	}
}

func TestBenchSendsBytes(t *testing.T) {
	target := serve(t, "--listen", "127.0.0.1:0").address
	for _, size := range []string{"0", "100", "70000"} {
		bench(t, target, "--codec", "raw", "--method", "Echo", "--size", size)
		bench(t, target, "--codec", "raw", "--method", "EchoStream", "--size", size)
	}
}

func TestBenchCompresses(t *testing.T) {
	plain := serve(t, "--listen", "127.0.0.1:0").address
	told := serve(t, "--listen", "127.0.0.1:0", "--compression", "gzip").address
	for _, target := range []string{plain, told} {
		for _, compression := range compressionNames() {
			for _, method := range []string{"Echo", "EchoStream", "Emit", "GetUsers"} {
				bench(t, target, "--compression", compression, "--method", method, "--size", "70000", "--callers", "5")
			}
		}
		bench(t, target, "--method", "GetUsers")
	}
}

func TestBenchOverEveryTransport(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.server(t)
	path := filepath.Join(t.TempDir(), "s")
	address := serve(t, "--listen", "127.0.0.1:0", "--unix", path, "--tls-cert", cert, "--tls-key", key, "--allow-cleartext").address
	for _, target := range []string{address, "unix:" + path} {
		bench(t, target, "--method", "Say")
		bench(t, target, "--method", "Say", "--tls-ca", ca.file)
		bench(t, target, "--method", "Echo", "--size", "70000")
		bench(t, target, "--method", "Echo", "--size", "0")
		bench(t, target, "--method", "Say", "--connection-per-call", "--callers", "4")
	}
}

func TestBenchAsynchronously(t *testing.T) {
	target := serve(t, "--listen", "127.0.0.1:0").address
	for _, method := range []string{"Say", "Echo", "calc/div", "hello/say"} {
		bench(t, target, "--async", "--method", method, "--callers", "20", "--connections", "2")
		bench(t, target, "--async", "--method", method, "--callers", "4", "--rate", "500")
	}
}

func TestBenchWithMutualTLS(t *testing.T) {
	ca := newAuthority(t)
	cert, key := ca.server(t)
	target := serve(t, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca.file).address
	cert, key = ca.client(t)
	bench(t, target, "--tls-ca", ca.file, "--tls-cert", cert, "--tls-key", key)
	bench(t, target, "--tls-ca", ca.file, "--tls-cert", cert, "--tls-key", key, "--connection-per-call")
	got := run("bench", "--target", target, "--tls-ca", ca.file, "--calls", "1")
	if got.status != exitFailed || !strings.Contains(got.stderr, "certificate required") {
		t.Errorf("without a certificate: got %+v", got)
	}
}

func TestBenchTellsThatItFellBehind(t *testing.T) {
	target := serve(t, "--listen", "127.0.0.1:0").address
	run("bench", "--target", target, "--rate", "NaN").wantUsage(t, "--rate must be above 0")
	got := run("bench", "--target", target, "--warmup", "0", "--calls", "200", "--rate", "1e8")
	if got.status != exitOK || strings.Count(got.stdout, "\n") != 1 || !json.Valid([]byte(got.stdout)) ||
		strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "fell behind: ") ||
		!strings.HasSuffix(got.stderr, "/s of 100000000/s\n") {
		t.Errorf("got %+v", got)
	}
	// The second of these calls is due after 500 ms, and has 500 until it would be late, unless the machine stands still.
	kept := func() bool {
		got = run("bench", "--target", target, "--warmup", "0", "--calls", "2", "--rate", "2")
		return got.status == exitOK && got.stderr == ""
	}
	for tries := 1; !kept(); tries++ {
		t.Attr("retry", "a rate of 2/s was not kept")
		if tries == 5 {
			t.Fatalf("got %+v", got)
		}
	}
}

func TestBenchCountsFailedCallsAndStillSucceeds(t *testing.T) {
	var calls atomic.Int64
	target := serveHandler(t, say.Handler(func(ctx context.Context, in *benchv1.BenchmarkMessage) (*benchv1.BenchmarkMessage, error) {
		if calls.Add(1) == 2 {
			return nil, errors.New("the second")
		}
		return services.Bench{}.Say(ctx, in)
	}))
	got := run("bench", "--target", target, "--warmup", "0", "--calls", "3")
	if got.status != exitOK || !strings.HasPrefix(got.stdout, `{"calls":3,"errors":1,`) ||
		!strings.Contains(got.stderr, "1 of 3 calls failed, the first with: ") {
		t.Errorf("got %+v", got)
	}
}

func TestBenchTurnsDownWhatItCannotDo(t *testing.T) {
	for flags, words := range map[string]string{
		"--async --method EchoStream":                     "--async goes with Say, Echo, calc/div, hello/say",
		"--async --codec protobuf-stock":                  "--async goes with Say, Echo, calc/div, hello/say",
		"--inline":                                        "--inline is not there yet",
		"--compression lz4":                               "--compression lz4: want gzip or zstd",
		"--codec xml":                                     "--codec xml: want protobuf, protobuf-stock",
		"--codec raw":                                     "--codec raw goes with Echo and EchoStream",
		"--codec msgpack":                                 "--codec msgpack goes with the code-first methods calc/div and hello/say; --method Say has",
		"--codec msgpack --method a.B/C":                  "--method a.B/C: bench drives Say",
		"--codec msgpack --timeout 1s":                    "--codec msgpack does not go with --mix",
		"--codec raw --mix Say=1":                         "--codec raw does not go with --mix",
		"--codec xml --mix Say=1":                         "--codec xml: want protobuf, protobuf-stock",
		"--codec xml --method calc/div":                   "--codec xml: for a code-first method want msgpack or json",
		"--codec protobuf-stock --method calc/div":        "--codec protobuf-stock: for a code-first method want msgpack or json",
		"--codec protobuf --method /hello/say":            "--codec protobuf: for a code-first method want msgpack or json",
		"--async --connection-per-call --method calc/div": "--async goes with Say, Echo, calc/div, hello/say",
		"--method ListUsers":                              "--method ListUsers: bench drives Say, Echo, EchoStream, Emit, GetDictionary, GetUser, GetUsers, calc/div, hello/say only",
		"--method a.B/Say":                                "--method a.B/Say: bench drives Say",
		"--duration 5":                                    "want a time such as 2s or 250ms",
		"--warmup soon":                                   "want a time such as 2s or 250ms",
		"--tls-cert x":                                    "--tls-cert needs --tls-ca",
		"--callers 0":                                     "--callers must be at least 1",
		"--tls-ca nofile":                                 "nofile: no such file",
		"--nope":                                          "-nope",
		"more":                                            `"more"`,
		"--calls 1 --duration 1s":                         "--calls and --duration",
		"--rotate":                                        "--rotate goes with --clients",
		"--clients 2 --connections 2":                     "goes without --connections",
		"--clients 2 --async":                             "--clients goes neither with --async",
		"--clients 2 --timeout 1s":                        "--clients does not go with --mix",
		"--clients 2 --rotate --method Emit":              "--rotate goes neither with EchoStream and Emit",
		"--method EchoStream --connection-per-call":       "--connection-per-call does not go with EchoStream",
	} {
		run(append([]string{"bench", "--target", "127.0.0.1:1"}, strings.Fields(flags)...)...).wantUsage(t, words)
	}
	run("bench").wantUsage(t, "--target is needed")
}

func TestBenchNamesWhyItCannotBegin(t *testing.T) {
	target := serveHandler(t, getDictionary.Handler(services.Bench{}.GetDictionary))
	for _, c := range []struct {
		flags []string
		words string
	}{
		{[]string{"--target", "unix:" + filepath.Join(t.TempDir(), "none")}, "no such file"},
		{[]string{"--target", target}, "is not served by this server"},
		{[]string{"--target", target, "--connection-per-call"}, "is not served by this server"},
		{[]string{"--target", target, "--codec", "protobuf-stock"}, "is not served by this server"},
	} {
		got := run(append([]string{"bench", "--method", "Say", "--warmup", "0", "--calls", "2"}, c.flags...)...)
		if got.status != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, c.words) {
			t.Errorf("%q: got %+v, want one line with %q", c.flags, got, c.words)
		}
	}
}
