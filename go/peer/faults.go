package peer

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/peer/ledger"
	"github.com/trunkcall/trunkcall/go/peer/load"
)

// faultOptions are the flags with which serve takes part in tests of faults.
type faultOptions struct {
	serve     bool
	path      string
	running   int
	grace     time.Duration
	keepalive keepaliveFlag

	policyFile string
	onward     string

	ledger *ledger.File
	client *trunkcall.Client // to onward; nil unless that is given
}

func (o *faultOptions) flags(fs *flag.FlagSet) {
	fs.BoolVar(&o.serve, "faults", false, "answer FaultService as well, whose handlers misbehave as they are asked to")
	fs.StringVar(&o.path, "ledger", "", "append to this `file` a line for each beginning and end of a handler whose call has an id")
	fs.StringVar(&o.policyFile, "policy-file", "", "`file` that says the limits of the calls that are served, and what holds for those made --onward (spec/policy.md)")
	fs.StringVar(&o.onward, "onward", "", "pass calls of Behave on to the server at this `address`; needs --faults")
	fs.IntVar(&o.running, "running-handlers", 0, "`number` of handlers that may run at once, the framework's default unless given")
	load.DurationVar(fs, &o.grace, "grace", 0, "`time` after SIGTERM before calls that still run are cut off (default 30s)")
	fs.Var(&o.keepalive, "keepalive", keepaliveUsage)
}

func (o *faultOptions) check() error {
	if o.onward != "" && !o.serve {
		return usagef("--onward needs --faults")
	}
	return nil
}

// open opens the ledger and the client, if there are to be any.
func (o *faultOptions) open() (err error) {
	if o.path != "" {
		if o.ledger, err = ledger.Open(o.path); err != nil {
			return fmt.Errorf("--ledger: %w", err)
		}
	}
	if o.onward != "" {
		if o.client, err = newOnwardClient(o); err != nil {
			o.close()
			return usagef("--onward %s: %w", o.onward, err)
		}
	}
	return nil
}

func (o *faultOptions) close() {
	if o.client != nil {
		o.client.Close()
	}
	if o.ledger != nil {
		_ = o.ledger.Close()
	}
}

func (o *faultOptions) options() (options []trunkcall.ServerOption) {
	if o.ledger != nil {
		options = append(options, trunkcall.WithInterceptors(o.ledger.Intercept))
	}
	if o.policyFile != "" {
		options = append(options, trunkcall.WithPolicyFile(o.policyFile))
	}
	if o.running > 0 {
		options = append(options, trunkcall.WithRunningHandlers(o.running))
	}
	if o.keepalive.given() {
		options = append(options, trunkcall.WithKeepalive(o.keepalive.interval, o.keepalive.timeout))
	}
	return options
}

func (o *faultOptions) register(server *trunkcall.Server) {
	if o.serve {
		registerFault(server, o.client)
	}
}

// keepaliveFlag is the flag --keepalive.
type keepaliveFlag struct{ interval, timeout time.Duration }

const keepaliveUsage = "`INTERVAL,TIMEOUT`: when a silent peer is asked for a sign of life, and how long it has to give one, such as 20s,20s"

func (k *keepaliveFlag) given() bool { return k.timeout > 0 }

func (k *keepaliveFlag) String() string { return "" }

func (k *keepaliveFlag) Set(text string) error {
	interval, timeout, ok := strings.Cut(text, ",")
	var err, also error
	k.interval, err = time.ParseDuration(interval)
	k.timeout, also = time.ParseDuration(timeout)
	if !ok || err != nil || also != nil || k.interval <= 0 || k.timeout <= 0 {
		return errors.New("want two times above 0, such as 20s,20s")
	}
	return nil
}
