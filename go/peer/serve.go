package peer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/peer/benchmsg"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"google.golang.org/grpc/health"
)

// codecs are what serve's --codec names, the default first: which code encodes and decodes
// Protobuf. Whatever it names, the server also answers calls in its other codecs.
var codecs = []string{load.CodecFast, load.CodecStock}

func checkCodec(name string) error {
	if !slices.Contains(codecs, name) {
		return usagef("--codec %s: want %s", name, choice(codecs))
	}
	return nil
}

// choice lists the values that a flag takes.
func choice(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// serveOptions are the flags of serve.
type serveOptions struct {
	listen, unix, codec, clientCA string
	compression                   string
	identity                      identity
	allowCleartext, inline        bool
	nativeOnly                    bool
	reserveHeap                   int
	faults                        faultOptions
	conformance                   conformanceOptions
	registry                      registryFlag
}

var serveHelp = help{
	synopsis: "--listen HOST:PORT [--unix PATH] [--tls-cert F --tls-key F [--tls-client-ca F] [--allow-cleartext]]",
	notes: `One line on stdout, "listening HOST:PORT", says that calls are answered; the log
goes to stderr, also the --unix path if it is not the only address. SIGTERM ends
the server when the calls that run are answered, another one at once, unless it
comes within a tenth of a second: that is the same one, passed on twice.
`,
}

func (p program) parseServe(args []string) (*serveOptions, error) {
	o := &serveOptions{}
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.StringVar(&o.listen, "listen", "", "`address` to listen on, HOST:PORT; port 0 takes a free one")
	fs.StringVar(&o.unix, "unix", "", "`path` of a Unix socket to listen on, as well or instead")
	o.identity.flags(fs)
	fs.StringVar(&o.clientCA, "tls-client-ca", "", "have clients show a certificate that one in this `file` has signed")
	fs.BoolVar(&o.allowCleartext, "allow-cleartext", false, "take connections without TLS too")
	fs.StringVar(&o.codec, "codec", load.CodecFast, "`name` of the codec: "+choice(codecs))
	benchmsg.HandlerFlags(fs)
	benchmsg.StationFlags(fs)
	fs.StringVar(&o.compression, "compression", "", "`name` of the compression of answers, also to requests that came plain: "+choice(compressionNames()))
	fs.BoolVar(&o.inline, "inline", false, "run handlers on the goroutine that reads")
	fs.BoolVar(&o.nativeOnly, "native-only", false, "do not serve clients of gRPC on the same port")
	reserveHeapFlag(fs, &o.reserveHeap)
	o.faults.flags(fs)
	o.conformance.flags(fs)
	o.registry.flags(fs, "in which the server is published")
	fs.Var(&o.registry.instance, "instance", "`JSON` of what its record says besides: weight, zone, version, attributes")
	others, err := p.parse(fs, serveHelp, args)
	switch {
	case err != nil:
		return nil, err
	case len(others) > 0:
		return nil, usagef("there is nothing to do with %q", others[0])
	}
	if err := benchmsg.OpenStation(); err != nil {
		return nil, usageError{err}
	}
	switch {
	case o.listen == "" && o.unix == "":
		return nil, usagef("--listen or --unix is needed")
	case o.listen != "" && !isHostPort(o.listen):
		return nil, usagef("--listen %s: want HOST:PORT", o.listen)
	case benchmsg.HasStation() && (o.inline || o.codec == load.CodecStock):
		return nil, usagef("--slots goes neither with --inline nor with --codec %s", load.CodecStock)
	case o.inline && o.codec == load.CodecStock:
		return nil, usagef("--inline needs --codec %s: the stock stubs have no such option", load.CodecFast)
	case !o.identity.given() && (o.clientCA != "" || o.allowCleartext):
		return nil, usagef("--tls-client-ca and --allow-cleartext go with --tls-cert and --tls-key")
	}
	if err := o.faults.check(); err != nil {
		return nil, err
	}
	return o, checkCodec(o.codec)
}

// reserveHeapFlag registers what serve and bench both have.
func reserveHeapFlag(fs *flag.FlagSet, bytes *int) {
	fs.Func("reserve-heap", "`bytes` of the heap to set aside, so that garbage is collected less often", func(text string) error {
		n, err := strconv.ParseUint(text, 10, 36)
		if err != nil {
			return errors.New("want a number of bytes below 64 GiB")
		}
		*bytes = int(n)
		return nil
	})
}

func isHostPort(address string) bool {
	_, _, err := net.SplitHostPort(address)
	return err == nil
}

// serve answers until a signal comes, then until what runs is answered.
func (p program) serve(args []string) error {
	o, err := p.parseServe(args)
	if err != nil {
		return err
	}
	if err := benchmsg.TellAllocations(p.stdout, o.codec); err != nil {
		return err
	}
	trunkcall.ReserveHeap(o.reserveHeap)
	logger := slog.New(slog.NewTextHandler(p.stderr, nil))
	if err := o.faults.open(); err != nil {
		return err
	}
	defer o.faults.close()
	server, state, err := newServer(o, slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		return err
	}
	// Before anybody can know that the server is there, and signal it.
	signals := make(chan os.Signal, 2)
	p.notify(signals)
	where, err := listen(server, o)
	if err != nil {
		server.Close()
		return err
	}
	if err := published(o, signals); err != nil {
		server.Close()
		return err
	}
	if o.unix != "" && o.listen != "" {
		logger.Info("listening", "address", "unix:"+o.unix)
	}
	if _, err := fmt.Fprintf(p.stdout, "listening %s\n", where); err != nil {
		server.Close()
		return fmt.Errorf("cannot say where it listens: %w", err)
	}
	benchmsg.TellRuns(p.stdout)
	<-signals
	state.Shutdown() // for who watches
	return stop(server, o.faults.grace, signals, logger)
}

// published waits until the server is published, if it is to be, or a signal comes.
func published(o *serveOptions, signals chan os.Signal) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waited := make(chan error, 1)
	go func() { waited <- o.registry.wait(ctx) }()
	select {
	case err := <-waited:
		return err
	case <-signals:
		return errors.New("a signal came before the server was published")
	}
}

func newServer(o *serveOptions, logger *slog.Logger) (*trunkcall.Server, *health.Server, error) {
	options := append(o.faults.options(), trunkcall.WithLogger(logger))
	options = append(options, o.conformance.options()...)
	registered, err := o.registry.server(logger)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, registered...)
	compressing, err := withCompression(o.compression)
	if err != nil {
		return nil, nil, err
	}
	for _, option := range compressing {
		options = append(options, option)
	}
	if o.identity.given() {
		config, err := serverTLS(o.identity, o.clientCA)
		if err != nil {
			return nil, nil, err
		}
		options = append(options, trunkcall.WithTLS(config))
	}
	if o.allowCleartext {
		options = append(options, trunkcall.WithCleartext())
	}
	if o.nativeOnly {
		options = append(options, trunkcall.WithNativeOnly())
	}
	if o.codec == load.CodecStock {
		options = append(options, trunkcall.WithCodec(trunkcall.ProtobufStock))
	}
	server, err := trunkcall.NewServer(options...)
	if err != nil {
		return nil, nil, err
	}
	state := registerForGRPC(server)
	o.faults.register(server)
	if err := server.Register(o.conformance.handlers()...); err != nil {
		return nil, nil, err
	}
	return server, state, registerServices(server, o)
}

// registerServices registers all that there is to be called.
func registerServices(server *trunkcall.Server, o *serveOptions) error {
	if o.codec == load.CodecStock {
		registerStock(server)
		return registerCodeFirst(server)
	}
	handlers := nativeHandlers()
	more, err := codeFirstHandlers()
	if err != nil {
		return err
	}
	handlers = append(handlers, more...)
	for i := range handlers {
		handlers[i].Inline = o.inline
	}
	return server.Register(handlers...)
}

// listen opens the listeners and returns the address to announce: the TCP one
// if there is one.
func listen(server *trunkcall.Server, o *serveOptions) (string, error) {
	var announced string
	if o.unix != "" {
		if _, err := server.Listen("unix:" + o.unix); err != nil {
			return "", fmt.Errorf("--unix: %w", err)
		}
		announced = "unix:" + o.unix
	}
	if o.listen != "" {
		address, err := server.Listen(o.listen)
		if err != nil {
			return "", fmt.Errorf("--listen: %w", err)
		}
		announced = address.String()
	}
	return announced, nil
}

// closeTime bounds how long handlers that do not heed their cancellation can
// hold up the end of the process.
const closeTime = time.Second

// quietStop is how long draining may take before the log says what it waits for.
// Calls that end by then are no news, and a handler that has just answered may
// still be counted.
const quietStop = 100 * time.Millisecond

// stop drains the server, for as long as grace if that is not 0; another signal
// cuts that short.
func stop(server *trunkcall.Server, grace time.Duration, signals <-chan os.Signal, logger *slog.Logger) error {
	drained := make(chan error, 1)
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if grace > 0 {
		ctx, cancel = context.WithTimeout(ctx, grace)
	}
	defer cancel()
	go func() { drained <- server.Stop(ctx) }()
	notice := time.NewTimer(quietStop)
	defer notice.Stop()
	var another <-chan os.Signal // nil while a signal may be the first one again, from whoever else passes it on
	for cut := false; !cut; {
		select {
		case err := <-drained:
			return err
		case <-notice.C:
			forget(signals)
			another = signals
			if running := server.Running(); running > 0 {
				logger.Info("waiting for calls that still run; another signal cuts them off", "calls", running)
			}
		case <-another:
			cut = true
		}
	}
	closed := make(chan struct{})
	go func() {
		server.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
	return errors.New("a second signal came: calls that were running are cut off")
}

// forget takes what has come out of the channel.
func forget(signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
		default:
			return
		}
	}
}
