package benchmsg

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/peer/load"
)

// station is a handler of Say whose capacity does not depend on the machine: each call takes one of
// a number of slots for a time, after it has waited until one is free. The server can take slots /
// work calls a second. Its caller's deadline ends the wait, but not the work once that has begun.
var station struct {
	work    time.Duration
	number  int
	trouble string
	slots   chan struct{}
	calls   atomic.Uint64
}

// What is wrong with a server, as --trouble names it.
const (
	troubleSlow     = "slow"
	troubleFailing  = "failing"
	troubleHalfDead = "half-dead"
)

var troubles = []string{troubleSlow, troubleFailing, troubleHalfDead}

// slower is how many times longer a slow server works.
const slower = 10

// ErrFailing is how all calls end at a server with --trouble failing: at once.
var ErrFailing = errors.New("failing, as --trouble says")

// StationFlags registers --work, --slots and --trouble, which servers have whose handlers can wait
// and fail.
func StationFlags(fs *flag.FlagSet) {
	load.DurationVar(fs, &station.work, "work", 0, "`time` that a handler of Say takes, once it has one of the --slots")
	fs.IntVar(&station.number, "slots", 0, "`number` of handlers of Say that work at once; the others wait until their callers' deadlines")
	fs.Func("trouble", "what is wrong with this server, `KIND`: slow: ten times the --work; failing: UNAVAILABLE at once; half-dead: no answer to every second call", func(kind string) error {
		if !slices.Contains(troubles, kind) {
			return fmt.Errorf("want one of %s", strings.Join(troubles, ", "))
		}
		station.trouble = kind
		return nil
	})
}

// OpenStation makes what the flags ask for.
func OpenStation() error {
	if station.number == 0 && station.work == 0 && station.trouble == "" {
		return nil
	}
	if station.number < 1 || station.work <= 0 {
		return errors.New("--work and --slots, both above 0, go together, and --trouble with them")
	}
	if station.trouble == troubleSlow {
		station.work *= slower
	}
	station.slots = make(chan struct{}, station.number)
	return nil
}

// HasStation reports whether handlers of Say wait, and can fail.
func HasStation() bool { return station.slots != nil }

// TellRuns prints ten times a second how many calls of Say there were, if --slots was given, as
//
//	runs 1000
func TellRuns(out io.Writer) {
	if !HasStation() {
		return
	}
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			if _, err := fmt.Fprintf(out, "runs %d\n", station.calls.Load()); err != nil {
				return
			}
		}
	}()
}

// Station takes a slot and works. It returns ErrFailing, or the error of ctx if that is over before
// there is a slot.
func Station(ctx context.Context) error {
	number := station.calls.Add(1)
	switch {
	case station.trouble == troubleFailing:
		return ErrFailing
	case station.trouble == troubleHalfDead && number%2 == 0:
		<-ctx.Done()
		return ctx.Err()
	}
	select {
	case station.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	time.Sleep(station.work)
	<-station.slots
	return nil
}
