package peer

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/trunkcall/trunkcall/go/registry"
)

var registryHelp = help{
	synopsis: "--listen HOST:PORT | --unix PATH [--state FILE] [--lease D]",
	notes: `One line on stdout, "listening ADDRESS", says where. Its name for --registry is
then trunkcall:ADDRESS. SIGTERM ends it; servers go on, and publish again when it
is back.
`,
}

// registry keeps a registry until a signal comes.
func (p program) registry(args []string) error {
	var listen, unix string
	config := registry.ServerConfig{Logger: slog.New(slog.NewTextHandler(p.stderr, nil))}
	fs := flag.NewFlagSet("registry", flag.ContinueOnError)
	fs.StringVar(&listen, "listen", "", "`address` to listen on, HOST:PORT; port 0 takes a free one")
	fs.StringVar(&unix, "unix", "", "`path` of a Unix socket to listen on instead")
	fs.StringVar(&config.State, "state", "", "`file` by which what was published is known after a restart")
	fs.DurationVar(&config.Lease, "lease", 15*time.Second, "`time` for which a server counts that is stopped: 1s to 1h")
	others, err := p.parse(fs, registryHelp, args)
	switch {
	case err != nil:
		return err
	case len(others) > 0:
		return usagef("there is nothing to do with %q", others[0])
	case (listen == "") == (unix == ""):
		return usagef("--listen or --unix is needed, and not both")
	case listen != "" && !isHostPort(listen):
		return usagef("--listen %s: want HOST:PORT", listen)
	case config.Lease < time.Second || config.Lease > time.Hour:
		return usagef("--lease %v: want 1s to 1h", config.Lease)
	case unix != "":
		listen = "unix:" + unix
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	p.notify(signals)
	go func() {
		<-signals
		cancel()
	}()
	var said error
	err = registry.Serve(ctx, listen, config, func(address net.Addr) {
		where := address.String()
		if unix != "" {
			where = listen
		}
		if _, said = fmt.Fprintf(p.stdout, "listening %s\n", where); said != nil {
			said = fmt.Errorf("cannot say where it listens: %w", said)
			cancel()
		}
	})
	if said != nil {
		return said
	}
	return err
}
