package peer

import (
	"flag"
	"fmt"
	"os"

	"github.com/trunkcall/trunkcall/go/peer/publicsuite"
)

// Messages on stdin and stdout have their length before them, 32 bits, big-endian.
var (
	connectServerHelp = help{
		synopsis: "--schema FILE",
		notes: `The server under test of the public suite of Connect, gRPC and gRPC-Web: reads a
ServerCompatRequest from stdin, prints a ServerCompatResponse, ends on SIGTERM.
`,
	}
	connectClientHelp = help{
		synopsis: "--schema FILE",
		notes: `The client under test of the same suite: reads ClientCompatRequests from stdin, makes
the calls and prints a ClientCompatResponse for each. It speaks the native protocol,
whichever a request names: its server is a connect-server.
`,
	}
)

func (p program) connectServer(args []string) error {
	if err := p.loadSchema("connect-server", connectServerHelp, args); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	p.notify(signals)
	return publicsuite.Serve(p.stdin, p.stdout, signals)
}

func (p program) connectClient(args []string) error {
	if err := p.loadSchema("connect-client", connectClientHelp, args); err != nil {
		return err
	}
	return publicsuite.Call(p.stdin, p.stdout)
}

// loadSchema reads the flags of both, and the file that they name.
func (p program) loadSchema(command string, text help, args []string) error {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	schema := fs.String("schema", "", "`file` with the suite's messages, a FileDescriptorSet")
	others, err := p.parse(fs, text, args)
	switch {
	case err != nil:
		return err
	case len(others) > 0:
		return usagef("there is nothing to do with %q", others[0])
	case *schema == "":
		return usagef("--schema is needed")
	}
	if err := publicsuite.LoadSchema(*schema); err != nil {
		return usageError{fmt.Errorf("--schema: %w", err)}
	}
	return nil
}
