package load

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options are the flags of the bench command, the same in every program that
// offers it.
type Options struct {
	Target            string
	Method            string
	Connections       int
	Clients           int
	Rotate            bool
	Callers           int
	Calls             int64
	Duration          time.Duration
	Rate              float64
	Warmup            time.Duration
	Size              int
	Codec             string
	Compression       string
	TLSCA             string
	Async             bool
	ConnectionPerCall bool
	Inline            bool

	flags *flag.FlagSet
}

// Names of codecs that programs written in Go offer for Protobuf messages.
const (
	CodecFast  = "protobuf"       // generated marshalling code
	CodecStock = "protobuf-stock" // the reflective code of google.golang.org/protobuf
)

const (
	defaultDuration    = 5 * time.Second
	defaultWarmup      = time.Second
	defaultWarmupCalls = 20_000
)

// Flags registers the flags of bench. After parsing, call Check.
func Flags(fs *flag.FlagSet) *Options {
	o := &Options{flags: fs}
	fs.StringVar(&o.Target, "target", "", "`address` of the server: HOST:PORT or unix:PATH")
	fs.StringVar(&o.Method, "method", "Say", "`method` to call; a name without a slash is one of "+benchService)
	fs.IntVar(&o.Connections, "connections", 1, "`number` of connections, over which callers are spread evenly")
	fs.IntVar(&o.Clients, "clients", 0, "`number` of clients of one connection each, in place of one client of --connections")
	fs.BoolVar(&o.Rotate, "rotate", false, "have every caller move to the next of the --clients with each call")
	fs.IntVar(&o.Callers, "callers", 1, "`number` of calls in flight")
	fs.Int64Var(&o.Calls, "calls", 0, "end after this `number` of calls in total")
	DurationVar(fs, &o.Duration, "duration", 0, "end after this `time` (default "+defaultDuration.String()+" unless --calls is given)")
	fs.Float64Var(&o.Rate, "rate", 0, "open loop: this `number` of calls per second, timed from when each was due; all are made, so the run outlasts --duration if they cannot be answered that fast")
	DurationVar(fs, &o.Warmup, "warmup", defaultWarmup, fmt.Sprintf("`time` of uncounted load before the clock starts; unless given it ends early, after %d calls", defaultWarmupCalls))
	fs.IntVar(&o.Size, "size", 1024, "`bytes` of payload, for Echo, EchoStream and Emit")
	fs.StringVar(&o.Codec, "codec", CodecFast, "`name` of the codec")
	fs.StringVar(&o.Compression, "compression", "", "`name` of the compression")
	fs.StringVar(&o.TLSCA, "tls-ca", "", "connect with TLS and trust the certificates in this `file`")
	fs.BoolVar(&o.Async, "async", false, "use the asynchronous client API")
	fs.BoolVar(&o.ConnectionPerCall, "connection-per-call", false, "make a connection for each call")
	fs.BoolVar(&o.Inline, "inline", false, "run handlers on the goroutine that reads")
	return o
}

// MarkMissing says in the help of each flag that Check would turn down that it
// is not there yet. Call it before parsing.
func (o *Options) MarkMissing(supported ...string) {
	for _, name := range optional {
		if !slices.Contains(supported, name) {
			o.flags.Lookup(name).Usage += " (not there yet)"
		}
	}
}

// optional are the flags that Check turns down unless the program names them.
// Flags that a program adds itself are its own affair.
var optional = []string{"clients", "rotate", "size", "codec", "compression", "tls-ca", "async", "connection-per-call", "inline"}

// Check reports the first flag that cannot be served: one that was used without
// being among the supported, or a value out of range.
func (o *Options) Check(supported ...string) error {
	used := map[string]bool{}
	o.flags.Visit(func(f *flag.Flag) { used[f.Name] = true })
	for _, name := range optional {
		if used[name] && !slices.Contains(supported, name) {
			return fmt.Errorf("--%s is not there yet", name)
		}
	}
	switch {
	case o.Target == "":
		return errors.New("--target is needed")
	case o.Connections < 1 || o.Callers < 1:
		return errors.New("--connections and --callers must be at least 1")
	case used["clients"] && (o.Clients < 1 || used["connections"]):
		return errors.New("--clients must be at least 1, and goes without --connections")
	case o.Rotate && !used["clients"]:
		return errors.New("--rotate goes with --clients")
	case used["calls"] && used["duration"]:
		return errors.New("--calls and --duration cannot go together")
	case used["calls"] && o.Calls < 1, used["duration"] && o.Duration <= 0, used["rate"] && !(o.Rate > 0): // which NaN is not, either
		return errors.New("--calls, --duration and --rate must be above 0")
	case o.Warmup < 0 || o.Size < 0:
		return errors.New("--warmup and --size cannot be negative")
	}
	if o.Calls == 0 && o.Duration == 0 {
		o.Duration = defaultDuration
	}
	return nil
}

// Config is the load that the flags ask for.
func (o *Options) Config() Config {
	config := Config{
		Callers:     o.Callers,
		Calls:       o.Calls,
		Duration:    o.Duration,
		Rate:        o.Rate,
		Warmup:      o.Warmup,
		WarmupCalls: defaultWarmupCalls,
	}
	o.flags.Visit(func(f *flag.Flag) {
		if f.Name == "warmup" {
			config.WarmupCalls = 0
		}
	})
	return config
}

const benchService = "trunkcall.bench.v1.BenchService"

// CanonicalMethod completes the name of a method: Say,
// trunkcall.bench.v1.BenchService/Say and the same with a leading slash all are
// /trunkcall.bench.v1.BenchService/Say.
func CanonicalMethod(name string) string {
	name = strings.TrimPrefix(name, "/")
	if !strings.Contains(name, "/") {
		name = benchService + "/" + name
	}
	return "/" + name
}

// BenchMethod is the short name of a method of the benchmark service, and false
// for any other method.
func BenchMethod(name string) (string, bool) {
	return strings.CutPrefix(CanonicalMethod(name), "/"+benchService+"/")
}

// Network splits an address into what net.Dial and net.Listen take.
func Network(address string) (network, rest string) {
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		return "unix", path
	}
	return "tcp", address
}
