// Package peer is peer-go, the reference program of the Go implementation: it
// serves the example and benchmark services, calls any method of theirs, and
// measures. Every language has one with the same commands, which is what tests
// across languages and benchmarks drive. It is a package so that a program in
// another module can be peer-go with more registries.
package peer

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
)

const usage = `usage: peer-go COMMAND [FLAG…]

  serve    answer UserService, BenchService, calc and hello
  call     call a method, with JSON in and out
  registry keep where servers are, for clients to find them
  bench    put load on a server and measure
  conformance
           carry out conformance cases, lines of JSON on stdin
  connect-server, connect-client
           the ends under test of the public suite of Connect
  version  print what this was built from

peer-go COMMAND -h lists the flags of a command.
`

// Exit statuses.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command line that cannot be carried out as it stands.
type usageError struct{ error }

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// errReported ends a command whose failure has been printed already.
var errReported = errors.New("reported")

// program is what a command may touch of the process around it, so that tests
// can run commands without one.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	// notify has the signals that end a server sent to the channel.
	notify func(signals chan<- os.Signal)
}

// Main carries out the command line of this process, and ends it.
func Main() {
	p := program{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		notify: func(signals chan<- os.Signal) { signal.Notify(signals, syscall.SIGTERM, os.Interrupt) },
	}
	os.Exit(p.run(os.Args[1:]))
}

// run carries out a command line and returns the exit status.
func (p program) run(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(p.stderr, usage)
		return exitUsage
	}
	command, args := args[0], args[1:]
	switch command {
	case "serve":
		return p.exit(command, p.serve(args))
	case "call":
		return p.exit(command, p.call(args))
	case "bench":
		return p.exit(command, p.bench(args))
	case "registry":
		return p.exit(command, p.registry(args))
	case "conformance":
		return p.exit(command, p.conform(args))
	case "connect-server":
		return p.exit(command, p.connectServer(args))
	case "connect-client":
		return p.exit(command, p.connectClient(args))
	case "version", "-version", "--version":
		fmt.Fprintln(p.stdout, version())
		return exitOK
	case "help", "-h", "-help", "--help":
		fmt.Fprint(p.stdout, usage)
		return exitOK
	default:
		fmt.Fprintf(p.stderr, "peer-go: there is no command %q\n\n%s", command, usage)
		return exitUsage
	}
}

func (p program) exit(command string, err error) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	}
	fmt.Fprintf(p.stderr, "peer-go %s: %s\n", command, oneLine(err.Error()))
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// oneLine joins the parts of a message that stands on several lines.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// help is what a command says of itself around the list of its flags.
type help struct{ synopsis, notes string }

// parse reads the flags, which may stand before, between and after the other
// arguments, and returns those.
func (p program) parse(fs *flag.FlagSet, text help, args []string) ([]string, error) {
	fs.SetOutput(io.Discard)
	var others []string
	for {
		switch err := fs.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprintf(p.stdout, "usage: peer-go %s %s\n\n", fs.Name(), text.synopsis)
			fs.SetOutput(p.stdout)
			fs.PrintDefaults()
			if text.notes != "" {
				fmt.Fprintf(p.stdout, "\n%s", text.notes)
			}
			return nil, err
		case err != nil:
			return nil, usageError{err}
		case fs.NArg() == 0:
			return others, nil
		}
		others = append(others, fs.Arg(0))
		args = fs.Args()[1:]
	}
}

// version names what was linked in.
func version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return "peer-go"
	}
	line := []string{"peer-go", build.Main.Path, build.Main.Version, build.GoVersion}
	for _, module := range build.Deps {
		switch module.Path {
		case "google.golang.org/protobuf", "google.golang.org/grpc":
			line = append(line, module.Path, module.Version)
		}
	}
	return strings.Join(line, " ")
}
