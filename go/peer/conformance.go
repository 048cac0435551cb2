package peer

import (
	"crypto/tls"
	"flag"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/peer/conformance"
)

var conformanceHelp = help{
	synopsis: "",
	notes: `Reads cases from stdin, a line of JSON each, carries them out one after the other,
and prints a line for each; conformance/cases/README.md describes both.
`,
}

// conform carries out the cases on standard input.
func (p program) conform(args []string) error {
	others, err := p.parse(flag.NewFlagSet("conformance", flag.ContinueOnError), conformanceHelp, args)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return usagef("there is nothing to do with %q", others[0])
	}
	client := conformance.Client{TLS: func(ca, cert, key string) (*tls.Config, error) {
		return clientTLS(ca, identity{cert, key})
	}}
	return client.Run(p.stdin, p.stdout)
}

// conformanceOptions are the flags with which serve takes part in the matrix.
type conformanceOptions struct {
	serve                    bool
	message, calls, metadata uint
}

func (o *conformanceOptions) flags(fs *flag.FlagSet) {
	fs.BoolVar(&o.serve, "conformance", false, "answer ConformanceService as well, which the conformance cases call")
	fs.UintVar(&o.message, "max-message", 0, "largest message in `bytes`, the framework's default unless given")
	fs.UintVar(&o.calls, "max-calls", 0, "`number` of calls that may be open on a connection, likewise")
	fs.UintVar(&o.metadata, "max-metadata", 0, "metadata of one side of a call in `bytes`, likewise")
}

func (o *conformanceOptions) options() []trunkcall.ServerOption {
	return []trunkcall.ServerOption{trunkcall.WithLimits(trunkcall.Limits{
		MessageBytes: uint32(o.message), Calls: uint32(o.calls), MetadataBytes: uint32(o.metadata),
	})}
}

func (o *conformanceOptions) handlers() []trunkcall.Handler {
	if !o.serve {
		return nil
	}
	return new(conformance.Service).Handlers()
}
