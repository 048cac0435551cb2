package peer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/codefirst"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

var benchHelp = help{
	synopsis: "--target ADDR --method M [FLAG…]",
	notes: `One line of JSON on stdout is the result; everything else goes to stderr.

Calls that failed are among the calls and in the rate, and are counted in
errors; stderr has the first failure. The exit status is 0 unless no call
succeeded, or one failed in the warm-up.

If the calls could not be made at --rate, stderr says "fell behind" with the
rate that was reached.

With --mix, --ledger, --timeout or --cancel-share there is a warm-up only if
--warmup is given, which is the same load, and no failure ends the load: the ledger has what became of each call. A call of Take
or Exchange then is a stream of its own, with 3 requests. SIGTERM ends such load:
no more calls are made, and the result is printed when those that run have ended.
`,
}

// benchMethods are those that bench drives, benchFlags the optional flags.
var (
	benchMethods = append([]string{"Say", "Echo", "EchoStream", "Emit", "GetDictionary", "GetUser", "GetUsers"}, codeFirstBenchMethods...)
	benchFlags   = []string{"clients", "rotate", "size", "codec", "compression", "tls-ca", "async", "connection-per-call"}
)

// benchOptions are the flags of bench.
type benchOptions struct {
	*load.Options
	identity identity
	options  []trunkcall.ClientOption // that --codec and --compression ask for
	mixed    mixOptions
	found    registryFlag
	choosing choosingFlags

	reserveHeap int
}

func (p program) parseBench(args []string) (*benchOptions, *workload, error) {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	options := &benchOptions{Options: load.Flags(fs)}
	options.identity.flags(fs)
	options.mixed.flags(fs)
	options.found.flags(fs, "in which a target registry:SERVICE is found")
	options.choosing.flags(fs)
	reserveHeapFlag(fs, &options.reserveHeap)
	benchmsg.BusyFlag(fs)
	options.MarkMissing(benchFlags...)
	fs.Lookup("method").Usage += ": " + choice(benchMethods)
	fs.Lookup("codec").Usage += ": " + choice(clientCodecNames()) + "; code-first methods take msgpack (their default) or json, and no others take msgpack"
	fs.Lookup("compression").Usage += " of requests, and so of the answers to them: " + choice(compressionNames()) + "; none unless given"
	others, err := p.parse(fs, benchHelp, args)
	switch {
	case err != nil:
		return nil, nil, err
	case len(others) > 0:
		return nil, nil, usagef("there is nothing to do with %q", others[0])
	}
	if err := options.Check(benchFlags...); err != nil {
		return nil, nil, usageError{err}
	}
	if !options.found.finds(options.Target) {
		if err := checkTarget(options.Target); err != nil {
			return nil, nil, err
		}
	}
	if options.mixed.wanted() {
		if options.Clients > 0 {
			return nil, nil, usagef("--clients does not go with --mix, --ledger, --timeout and --cancel-share")
		}
		if options.Codec == codecRaw || options.Codec == codefirst.MessagePack.Name() {
			return nil, nil, usagef("--codec %s does not go with --mix, --ledger, --timeout and --cancel-share", options.Codec)
		}
		options.options, err = clientOptions(options.Codec, options.Compression)
		return options, nil, err
	}
	given := false
	fs.Visit(func(f *flag.Flag) { given = given || f.Name == "codec" })
	work, err := options.workload(given)
	if err != nil {
		return nil, nil, err
	}
	options.options, err = clientOptions(options.Codec, options.Compression)
	return options, work, err
}

// workload is the calls that --method asks for. Without --codec, code-first
// methods have a codec of their own.
func (o *benchOptions) workload(codecGiven bool) (*workload, error) {
	short, _ := load.BenchMethod(o.Method)
	codeFirst := isCodeFirstBench(o.Method)
	if codeFirst {
		short = strings.TrimPrefix(o.Method, "/")
		if !codecGiven {
			o.Codec = codeFirstCodecs[0].Name()
		}
		if _, err := codeFirstCodec(o.Codec); err != nil {
			return nil, err
		}
	} else if _, err := findCodec(o.Codec); err != nil {
		return nil, err
	}
	work := &workload{method: short, size: o.Size, stock: o.Codec == load.CodecStock, raw: o.Codec == codecRaw}
	switch {
	case !slices.Contains(benchMethods, short):
		return nil, usagef("--method %s: bench drives %s only", o.Method, strings.Join(benchMethods, ", "))
	case !codeFirst && o.Codec == codefirst.MessagePack.Name():
		return nil, usagef("--codec %s goes with the code-first methods %s; --method %s has Protobuf messages",
			o.Codec, strings.Join(codeFirstBenchMethods, " and "), short)
	case work.raw && short != "Echo" && short != "EchoStream":
		return nil, usagef("--codec %s goes with Echo and EchoStream, whose messages can be bytes", codecRaw)
	case o.Async && (short != "Say" && short != "Echo" && !codeFirst || o.ConnectionPerCall || work.stock || work.raw):
		return nil, usagef("--async goes with Say, Echo, %s, with typed methods, and not with --connection-per-call",
			strings.Join(codeFirstBenchMethods, ", "))
	case o.Clients > 0 && (o.Async || o.ConnectionPerCall):
		return nil, usagef("--clients goes neither with --async nor with --connection-per-call")
	case o.Rotate && (short == "EchoStream" || short == "Emit" || codeFirst):
		return nil, usagef("--rotate goes neither with EchoStream and Emit nor with %s, whose callers stay with a client",
			strings.Join(codeFirstBenchMethods, " and "))
	case (short == "EchoStream" || short == "Emit") && o.ConnectionPerCall:
		return nil, usagef("--connection-per-call does not go with EchoStream and Emit, whose calls share a stream")
	}
	return work, nil
}

// bench puts load on a server and prints what it measured.
func (p program) bench(args []string) error {
	options, work, err := p.parseBench(args)
	if err != nil {
		return err
	}
	trunkcall.ReserveHeap(options.reserveHeap)
	config, err := clientTLS(options.TLSCA, options.identity)
	if err != nil {
		return err
	}
	finding, err := options.found.client()
	if err != nil {
		return err
	}
	clientOptions := append(options.options, finding...)
	clientOptions = append(clientOptions, options.choosing.options()...)
	if config != nil {
		clientOptions = append(clientOptions, trunkcall.WithTLS(config))
	}
	var attempts atomic.Int64
	if options.mixed.policyFile != "" {
		clientOptions = append(clientOptions, trunkcall.WithPolicyFile(options.mixed.policyFile))
	}
	if options.mixed.observe {
		count := trunkcall.AttemptObserver{Began: func(*trunkcall.Attempt) { attempts.Add(1) }, Ended: func(*trunkcall.Attempt) {}}
		warnings := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		clientOptions = append(clientOptions, trunkcall.WithAttemptObserver(count), trunkcall.WithLogger(warnings))
	}
	if options.mixed.wanted() {
		return p.benchMixed(options, &attempts, append(clientOptions, trunkcall.WithConnections(options.Connections)))
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if options.ConnectionPerCall {
		return p.measure(options, func(int) (load.Call, error) {
			return connectionPerCall(ctx, work, options.Target, clientOptions), nil
		})
	}
	var opened []*trunkcall.Client
	defer func() {
		cancel() // first: it ends streams that are still open
		for _, client := range opened {
			client.Close()
		}
	}()
	dial := func(connections int) (*calling, error) {
		client, err := trunkcall.Dial(ctx, options.Target, append(slices.Clip(clientOptions), trunkcall.WithConnections(connections))...)
		if err != nil {
			return nil, err
		}
		opened = append(opened, client)
		return newCalling(client), nil
	}
	if options.Async {
		client, err := dial(options.Connections)
		if err != nil {
			return err
		}
		result, err := load.RunAsync(options.Config(), func(int) (load.AsyncCall, error) { return work.newAsync(client.Client), nil })
		return p.report(options, result, err)
	}
	factory, err := load.Spread(options.Options, false, dial, func(next clients) (load.Call, error) { return work.newCall(ctx, next) })
	if err != nil {
		return err
	}
	return p.measure(options, factory)
}

// benchMixed puts load on a server that goes on whatever becomes of its calls.
func (p program) benchMixed(options *benchOptions, attempts *atomic.Int64, clientOptions []trunkcall.ClientOption) error {
	work, err := newMix(&options.mixed, options.Method, options.Size)
	if err == nil {
		err = work.open()
	}
	if err != nil {
		return err
	}
	if k := options.mixed.keepalive; k.given() {
		clientOptions = append(clientOptions, trunkcall.WithKeepalive(k.interval, k.timeout))
	}
	work.stop = p.signalled()
	config := options.Config()
	if config.WarmupCalls > 0 { // it was not asked for
		config.Warmup = 0
	}
	client := func(ctx context.Context) (*trunkcall.Client, func(), error) {
		own, err := trunkcall.Dial(ctx, options.Target, clientOptions...)
		if err != nil {
			return nil, nil, err
		}
		return own, own.Close, nil
	}
	if options.ConnectionPerCall {
		clientOptions = append(clientOptions, trunkcall.WithConnections(1))
	} else {
		shared, err := trunkcall.Dial(context.Background(), options.Target, clientOptions...)
		if err != nil {
			return err
		}
		defer shared.Close()
		client = func(context.Context) (*trunkcall.Client, func(), error) { return shared, func() {}, nil }
	}
	result, before, err := load.RunWarm(config, func(caller int) (load.Call, error) { return work.newCall(caller, client), nil })
	if err != nil {
		return err
	}
	if result.Calls > 0 {
		result.Attempts = float64(attempts.Load()) / float64(before+result.Calls)
	}
	return result.Print(p.stdout)
}

// signalled returns a channel that the first signal closes; the second ends the
// process.
func (p program) signalled() <-chan struct{} {
	signals, stop := make(chan os.Signal, 2), make(chan struct{})
	p.notify(signals)
	go func() {
		<-signals
		close(stop)
		<-signals
		os.Exit(1)
	}()
	return stop
}

func (p program) measure(options *benchOptions, factory load.Factory) error {
	result, err := load.Run(options.Config(), factory)
	return p.report(options, result, err)
}

func (p program) report(options *benchOptions, result load.Result, err error) error {
	if err != nil {
		return err
	}
	if err := result.Print(p.stdout); err != nil {
		return err
	}
	if result.FellBehind(options.Rate) {
		fmt.Fprintf(p.stderr, "peer-go bench: fell behind: %s of %s\n", perSecond(result.Rate), perSecond(options.Rate))
	}
	switch {
	case result.Calls == 0:
		return errors.New("no call was made")
	case result.Errors == result.Calls:
		return fmt.Errorf("no call succeeded, the first failed with: %w", result.FirstError)
	case result.Errors > 0:
		fmt.Fprintf(p.stderr, "peer-go bench: %d of %d calls failed, the first with: %s\n",
			result.Errors, result.Calls, oneLine(result.FirstError.Error()))
	}
	return nil
}

func perSecond(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.2f/s", rate)
	}
	return fmt.Sprintf("%.0f/s", rate)
}

// connectionPerCall makes each call over a connection of its own. A call ends with its answer. It does
// not wait until the connection has closed, which takes another round trip.
func connectionPerCall(
	ctx context.Context, work *workload, target string, options []trunkcall.ClientOption,
) load.Call {
	return func() error {
		client, err := trunkcall.Dial(ctx, target, options...)
		if err != nil {
			return err
		}
		defer func() { go client.Close() }()
		call, err := work.newCall(ctx, func() *calling { return newCalling(client) })
		if err != nil {
			return err
		}
		return call()
	}
}
