package load

import (
	"flag"
	"io"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, args ...string) *Options {
	t.Helper()
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	options := Flags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return options
}

func TestFlagsFillTheConfig(t *testing.T) {
	o := parse(t, "--target", "a:1", "--callers", "8", "--duration", "250ms", "--rate", "1e4", "--warmup", "2s")
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	want := Config{Callers: 8, Duration: 250 * time.Millisecond, Rate: 10_000, Warmup: 2 * time.Second}
	if got := o.Config(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDefaultsAreACompleteConfig(t *testing.T) {
	o := parse(t, "--target", "a:1")
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	want := Config{Callers: 1, Duration: defaultDuration, Warmup: defaultWarmup, WarmupCalls: defaultWarmupCalls}
	if got := o.Config(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestUnsupportedFlagsAreNamed(t *testing.T) {
	for _, used := range []string{"--clients=2", "--size=1", "--codec=json", "--compression=gzip", "--tls-ca=f", "--async", "--connection-per-call", "--inline"} {
		o := parse(t, "--target", "a:1", used)
		name, _, _ := strings.Cut(used, "=")
		if err := o.Check(); err == nil || err.Error() != name+" is not there yet" {
			t.Errorf("%s: got %v", used, err)
		}
		if err := o.Check(strings.TrimPrefix(name, "--")); err != nil {
			t.Errorf("%s, although supported: got %v", used, err)
		}
	}
}

func TestHelpMarksWhatIsMissing(t *testing.T) {
	o := parse(t)
	o.MarkMissing("size", "codec")
	for name, missing := range map[string]bool{"async": true, "inline": true, "size": false, "codec": false, "callers": false} {
		if usage := o.flags.Lookup(name).Usage; strings.HasSuffix(usage, " (not there yet)") != missing {
			t.Errorf("the help of --%s is %q", name, usage)
		}
	}
}

func TestTimesNameTheirForm(t *testing.T) {
	for _, text := range []string{"-1s", "", "5", "soon", "1 s", "1d"} {
		fs := flag.NewFlagSet("bench", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		Flags(fs)
		if err := fs.Parse([]string{"--duration", text}); err == nil || !strings.Contains(err.Error(), "want a time such as 2s or 250ms") {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestValuesOutOfRangeAreTurnedDown(t *testing.T) {
	for _, args := range []string{
		"--calls 1", "--target a:1 --connections 0", "--target a:1 --callers 0", "--target a:1 --calls 0",
		"--target a:1 --calls 1 --duration 1s", "--target a:1 --duration 0s", "--target a:1 --rate 0", "--target a:1 --size -1",
		"--target a:1 --clients 0", "--target a:1 --clients 2 --connections 2", "--target a:1 --rotate",
	} {
		if err := parse(t, strings.Fields(args)...).Check("size", "clients", "rotate"); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

func TestMethodNames(t *testing.T) {
	for _, name := range []string{"Say", "/Say", "trunkcall.bench.v1.BenchService/Say", "/trunkcall.bench.v1.BenchService/Say"} {
		if got := CanonicalMethod(name); got != "/trunkcall.bench.v1.BenchService/Say" {
			t.Errorf("%s is taken for %s", name, got)
		}
		if short, ok := BenchMethod(name); short != "Say" || !ok {
			t.Errorf("%s is called %s (%v) for short", name, short, ok)
		}
	}
	if short, ok := BenchMethod("/trunkcall.example.v1.UserService/GetUser"); ok {
		t.Errorf("a method of another service is taken for %s", short)
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string][2]string{
		"127.0.0.1:80":   {"tcp", "127.0.0.1:80"},
		"[::1]:80":       {"tcp", "[::1]:80"},
		"unix:/tmp/sock": {"unix", "/tmp/sock"},
	} {
		if network, rest := Network(address); network != want[0] || rest != want[1] {
			t.Errorf("%s is taken for %s, %s", address, network, rest)
		}
	}
}
