// Package program is the command line that all peers share: serve and bench,
// with the same flags and the same output as our own reference program.
package program

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

// Peer is one framework under measurement.
type Peer struct {
	Name    string
	Module  string   // path of the framework's Go module; empty for the standard library
	Methods []string // of the benchmark service, by their short names
	Codecs  []string // the default first
	Tunable bool     // there are documented settings beyond the defaults, for --tuned
	Secure  bool     // offers TLS
	Cold    bool     // offers a connection for each call, by --connection-per-call
	Whole   bool     // its callers stay with a connection: no --rotate
	Unix    bool     // offers Unix sockets
	Several bool     // offers several servers under policies, by --service-config and --limit
	Nagle   bool     // leaves Nagle's algorithm on unless told otherwise, by --nodelay

	// Serve answers on the listener until the process ends.
	Serve func(listener net.Listener, options ServeOptions) error

	// Bench opens the connections and gives the callers' factory.
	Bench func(options BenchOptions) (load.Factory, error)
}

// ServeOptions are the flags of serve beyond the address.
type ServeOptions struct {
	Codec   string
	Tuned   bool
	NoDelay bool
	TLS     *tls.Config // nil for none
	Limit   int         // calls at once, beyond which they are refused; 0: none
}

// Secured is the listener with TLS upon it, if that was asked for.
func (o ServeOptions) Secured(listener net.Listener) net.Listener {
	if o.TLS == nil {
		return listener
	}
	return tls.NewListener(listener, o.TLS)
}

// BenchOptions are the flags of bench.
type BenchOptions struct {
	*load.Options
	Short   string // the method's short name
	Tuned   bool
	NoDelay bool
	TLS     *tls.Config // nil for none

	// ServiceConfig is JSON, empty for none. Attempts counts those of all calls, where the peer can.
	ServiceConfig string
	Attempts      *atomic.Int64
}

// Dial connects to the target, with TLS if that was asked for.
func (o BenchOptions) Dial() (net.Conn, error) {
	network, address := load.Network(o.Target)
	if o.TLS == nil {
		return net.Dial(network, address)
	}
	return tls.Dial(network, address, o.TLS)
}

// Main runs the program and ends the process: with 0 when all went well, 1 when
// something failed, 2 when the command line asks for what is not there.
func (p Peer) Main() {
	if len(os.Args) < 2 {
		p.usage()
	}
	switch os.Args[1] {
	case "serve":
		p.exit(p.serve(os.Args[2:]))
	case "bench":
		p.exit(p.bench(os.Args[2:]))
	case "version":
		fmt.Println(p.version())
	default:
		p.usage()
	}
}

func (p Peer) usage() {
	fmt.Fprintf(os.Stderr, "usage: %s serve --listen HOST:PORT [flags]\n       %s bench --target HOST:PORT [flags]\n       %s version\n", p.Name, p.Name, p.Name)
	os.Exit(2)
}

// version names what is measured, as it was linked in.
func (p Peer) version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return p.Name
	}
	for _, module := range build.Deps {
		if module.Path == p.Module {
			return p.Name + " " + module.Path + " " + module.Version
		}
	}
	return p.Name + " " + build.GoVersion
}

// usageError is a command line that cannot be served.
type usageError struct{ error }

func (p Peer) exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", p.Name, err)
	if errors.As(err, new(usageError)) {
		os.Exit(2)
	}
	os.Exit(1)
}

func (p Peer) serve(args []string) error {
	fs := flag.NewFlagSet(p.Name+" serve", flag.ExitOnError)
	listen := fs.String("listen", "", "`address` to listen on, HOST:PORT; port 0 takes a free one")
	unix := fs.String("unix", "", "`path` of a Unix socket to listen on as well")
	options := ServeOptions{}
	fs.StringVar(&options.Codec, "codec", p.Codecs[0], "codec, one of "+strings.Join(p.Codecs, ", "))
	p.settings(fs, &options.Tuned, &options.NoDelay)
	benchmsg.HandlerFlags(fs)
	if p.Several {
		benchmsg.StationFlags(fs)
		fs.IntVar(&options.Limit, "limit", 0, "`number` of calls of unary methods at once; those beyond are refused with RESOURCE_EXHAUSTED")
	}
	certificate := fs.String("tls-cert", "", "certificate `file`")
	key := fs.String("tls-key", "", "key `file`")
	_ = fs.Parse(args) // exits on errors
	if err := p.check(options.Codec, options.Tuned, *certificate+*key != ""); err != nil {
		return err
	}
	if *certificate+*key != "" {
		var err error
		if options.TLS, err = ServerTLS(*certificate, *key); err != nil {
			return err
		}
	}
	if err := benchmsg.OpenStation(); err != nil {
		return usageError{err}
	}
	if *listen == "" {
		return usageError{errors.New("--listen is needed")}
	}
	if err := p.checkNetwork(*unix != ""); err != nil {
		return err
	}
	if err := benchmsg.TellAllocations(os.Stdout, options.Codec); err != nil {
		return err
	}

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	failed := make(chan error, 2)
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	go func() { failed <- p.Serve(listener, options) }()
	if *unix != "" {
		local, err := net.Listen("unix", *unix)
		if err != nil {
			return err
		}
		defer local.Close()
		go func() { failed <- p.Serve(local, options) }()
	}
	fmt.Printf("listening %s\n", listener.Addr())
	benchmsg.TellRuns(os.Stdout)
	select {
	case err := <-failed:
		return err
	case <-signals:
		return nil
	}
}

func (p Peer) bench(args []string) error {
	fs := flag.NewFlagSet(p.Name+" bench", flag.ExitOnError)
	options := BenchOptions{Options: load.Flags(fs)}
	fs.Lookup("codec").DefValue = p.Codecs[0]
	options.Codec = p.Codecs[0]
	p.settings(fs, &options.Tuned, &options.NoDelay)
	benchmsg.BusyFlag(fs)
	config := ""
	if p.Several {
		fs.StringVar(&config, "service-config", "", "`file` with the service config of the channel, to the servers that --target names with commas; no failure then ends the load, and the result has the attempts of a call")
	}
	_ = fs.Parse(args) // exits on errors

	if err := options.Check(p.supported()...); err != nil {
		return usageError{err}
	}
	if err := p.check(options.Codec, options.Tuned, options.TLSCA != ""); err != nil {
		return err
	}
	network, _ := load.Network(options.Target)
	if err := p.checkNetwork(network == "unix"); err != nil {
		return err
	}
	var known bool
	if options.Short, known = load.BenchMethod(options.Method); !known || !slices.Contains(p.Methods, options.Short) {
		return usageError{fmt.Errorf("--method %s is not there yet, %s is", options.Method, strings.Join(p.Methods, ", "))}
	}
	if options.TLSCA != "" {
		var err error
		if options.TLS, err = ClientTLS(options.TLSCA); err != nil {
			return err
		}
	}
	if config != "" {
		text, err := os.ReadFile(config)
		if err != nil {
			return usageError{fmt.Errorf("--service-config: %w", err)}
		}
		options.ServiceConfig, options.Attempts = string(text), new(atomic.Int64)
	}
	factory, err := p.Bench(options)
	if err != nil {
		return err
	}
	var result load.Result
	if options.Attempts == nil {
		result, err = load.Run(options.Config(), factory)
	} else {
		var before int64
		result, before, err = load.RunWarm(options.Config(), factory)
		result.Attempts = float64(options.Attempts.Load()) / float64(max(1, before+result.Calls))
	}
	if err != nil {
		return err
	}
	if err := result.Print(os.Stdout); err != nil {
		return err
	}
	if result.FirstError != nil {
		fmt.Fprintf(os.Stderr, "%s: %d of %d calls failed, the first with: %v\n", p.Name, result.Errors, result.Calls, result.FirstError)
	}
	if result.Errors == result.Calls && options.Attempts == nil { // else that is what the load was to show
		return errors.New("no call succeeded")
	}
	return nil
}

// settings registers the flags that serve and bench have in common.
func (p Peer) settings(fs *flag.FlagSet, tuned, noDelay *bool) {
	fs.BoolVar(tuned, "tuned", false, "use the documented settings for throughput")
	if p.Nagle {
		fs.BoolVar(noDelay, "nodelay", false, "switch Nagle's algorithm off")
	}
}

// supported are the flags that the peer takes beyond those that all do.
func (p Peer) supported() []string {
	flags := []string{"codec", "clients"}
	if p.Cold {
		flags = append(flags, "connection-per-call")
	}
	if !p.Whole {
		flags = append(flags, "rotate")
	}
	if len(p.Methods) > 1 {
		flags = append(flags, "size")
	}
	if p.Secure {
		flags = append(flags, "tls-ca")
	}
	return flags
}

func (p Peer) check(codec string, tuned, secure bool) error {
	switch {
	case !slices.Contains(p.Codecs, codec):
		return usageError{fmt.Errorf("--codec %s is not there, %s is", codec, strings.Join(p.Codecs, ", "))}
	case tuned && !p.Tunable:
		return usageError{errors.New("--tuned is not there: no settings beyond the defaults are documented for it")}
	case secure && !p.Secure:
		return usageError{errors.New("TLS is not there yet")}
	}
	return nil
}

func (p Peer) checkNetwork(unix bool) error {
	if unix && !p.Unix {
		return usageError{errors.New("a Unix socket is not there yet")}
	}
	return nil
}
