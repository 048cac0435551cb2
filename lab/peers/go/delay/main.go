// Delay stands between a client and a server and makes the way between them long:
// what one end sends reaches the other a given time later, in order, and so do the
// end of what it sends and a reset. See the lab's README.
package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/trunkcall/trunkcall/go/peer/load"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "delay:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("delay", flag.ExitOnError)
	listen := fs.String("listen", "127.0.0.1:0", "`address` to listen on, HOST:PORT; port 0 takes a free one")
	target := fs.String("target", "", "`address` to forward to, HOST:PORT")
	var way way
	load.DurationVar(fs, &way.delay, "delay", 0, "`time` that each direction takes: half a round trip")
	load.DurationVar(fs, &way.jitter, "jitter", 0, "up to this `time` more, drawn anew for whatever is read at once")
	fs.Int64Var(&way.rate, "rate", 0, "`bytes` a second that each direction of a connection takes; 0 for as many as come")
	_ = fs.Parse(args) // exits on errors
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("there is nothing to do with %q", fs.Arg(0))
	case *target == "":
		return errors.New("--target is needed")
	case way.delay < 0 || way.jitter < 0 || way.rate < 0:
		return errors.New("--delay, --jitter and --rate cannot be negative")
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	failed := make(chan error, 1)
	go func() { failed <- forward(listener, *target, way) }()
	fmt.Printf("listening %s\n", listener.Addr())
	select {
	case err := <-failed:
		return err
	case <-signals:
		return nil
	}
}

// forward makes a connection to the target for each that comes.
func forward(listener net.Listener, target string, way way) error {
	began := time.Now()
	for {
		near, err := listener.Accept()
		if err != nil {
			return err
		}
		go carry(near.(*net.TCPConn), target, way, began)
	}
}
