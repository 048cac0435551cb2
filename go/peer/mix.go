package peer

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
	faultv1 "github.com/trunkcall/trunkcall/go/gen/fault/v1"
	"github.com/trunkcall/trunkcall/go/peer/ledger"
	"github.com/trunkcall/trunkcall/go/peer/load"
	"google.golang.org/protobuf/encoding/protojson"
)

// mixOptions are the flags of bench for load that is to show what becomes of
// calls under faults, not how fast they are.
type mixOptions struct {
	mix, path, behaviour string
	timeout              timeoutFlag
	cancelShare          float64
	cancelAfter          time.Duration
	keepalive            keepaliveFlag
	seed                 uint64
	policyFile           string
	observe              bool
}

func (o *mixOptions) flags(fs *flag.FlagSet) {
	fs.StringVar(&o.mix, "mix", "", "`METHOD=WEIGHT,…` in place of --method: methods drawn at random, of "+choice(mixMethods()))
	fs.StringVar(&o.path, "ledger", "", "append to this `file` a line for each beginning and end of a call, which then has an id")
	fs.StringVar(&o.behaviour, "behaviour", "{}", "`JSON` of the requests to FaultService")
	fs.Var(&o.timeout, "timeout", "`D or D-D`: deadline of each call; of two times, drawn between them; none unless given")
	fs.Float64Var(&o.cancelShare, "cancel-share", 0, "`share` of the calls that are given up, 0 to 1")
	load.DurationVar(fs, &o.cancelAfter, "cancel-after", 5*time.Millisecond, "`time` within which they are, drawn at random")
	fs.Var(&o.keepalive, "keepalive", keepaliveUsage)
	fs.StringVar(&o.policyFile, "policy-file", "", "`file` that says what holds for the calls (spec/policy.md)")
	fs.BoolVar(&o.observe, "observe", false, "have an observer count the attempts; with --mix the result then has how many there were for a call; and log the client's warnings")
	fs.Uint64Var(&o.seed, "seed", 1, "`number` that decides what is drawn")
}

// wanted reports whether one of the flags asks for such load.
func (o *mixOptions) wanted() bool {
	return o.mix != "" || o.path != "" || o.timeout.given || o.cancelShare != 0
}

// mix is load of several methods, each call with an id, perhaps a deadline, and
// perhaps given up.
type mix struct {
	*mixOptions
	calls   []mixedCall // each as often as its weight says
	request *faultv1.Behaviour
	size    int
	ledger  *ledger.File // nil without one
	stop    <-chan struct{}
}

// connect returns a client for a call and what to do with it afterwards.
type connect func(context.Context) (*trunkcall.Client, func(), error)

func newMix(o *mixOptions, method string, size int) (*mix, error) {
	m := &mix{mixOptions: o, request: &faultv1.Behaviour{}, size: size}
	if o.cancelShare < 0 || o.cancelShare > 1 || o.cancelAfter <= 0 {
		return nil, usagef("--cancel-share is between 0 and 1, --cancel-after above 0")
	}
	if err := protojson.Unmarshal([]byte(o.behaviour), m.request); err != nil {
		return nil, usagef("--behaviour: %w", err)
	}
	for _, part := range strings.Split(cmp.Or(o.mix, method), ",") {
		name, text, weighted := strings.Cut(part, "=")
		weight := 1
		if weighted {
			weight, _ = strconv.Atoi(text)
		}
		short, _ := load.BenchMethod(name)
		call, ok := mixedCalls[short]
		if !ok || weight < 1 || weight > maxWeight {
			return nil, usagef("--mix %s: want one of %s, a weight from 1 to %d", part, choice(mixMethods()), maxWeight)
		}
		for range weight {
			m.calls = append(m.calls, call)
		}
	}
	return m, nil
}

const maxWeight = 1000

// open opens the ledger, if there is to be one.
func (m *mix) open() (err error) {
	if m.path != "" {
		if m.ledger, err = ledger.Open(m.path); err != nil {
			return fmt.Errorf("--ledger: %w", err)
		}
	}
	return nil
}

// newCall is the call function of one caller. Its error is a failure that the
// caller did not bring about itself.
func (m *mix) newCall(caller int, client connect) load.Call {
	random := rand.New(rand.NewPCG(m.seed, uint64(caller))) //nolint:gosec // not for secrets
	return func() error {
		select {
		case <-m.stop:
			return load.ErrStop
		default:
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if m.timeout.given {
			var release context.CancelFunc
			ctx, release = context.WithTimeout(ctx, m.timeout.draw(random))
			defer release()
		}
		chosen := m.calls[random.IntN(len(m.calls))]
		give := givingUp{}
		if random.Float64() < m.cancelShare {
			give.after = time.Duration(random.Int64N(int64(m.cancelAfter))) + 1
		}
		return m.one(ctx, cancel, chosen, client, give)
	}
}

// givingUp says after what time a caller gives a call up; 0: never.
type givingUp struct{ after time.Duration }

// one makes a call and keeps the ledger.
func (m *mix) one(ctx context.Context, cancel context.CancelFunc, chosen mixedCall, client connect, give givingUp) error {
	var entry *ledger.Entry
	if m.ledger != nil {
		ctx, entry = m.ledger.Begin(ctx, chosen.name)
	}
	if give.after > 0 {
		stop := afterFunc(give.after, func() {
			if entry != nil {
				entry.Cancel()
			}
			cancel()
		})
		defer stop()
	}
	c, release, err := client(ctx)
	if err == nil {
		err = chosen.run(ctx, c, m)
		release()
	}
	status := trunkcall.StatusOf(err)
	if entry != nil {
		entry.End(status)
	}
	if give.after > 0 && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// afterFunc is time.AfterFunc, but what it returns waits for f if that has begun.
func afterFunc(d time.Duration, f func()) (stop func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		defer close(done)
		f()
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

// timeoutFlag is the flag --timeout.
type timeoutFlag struct {
	given       bool
	least, most time.Duration
}

func (t *timeoutFlag) String() string { return "" }

func (t *timeoutFlag) Set(text string) error {
	least, most, isRange := text, text, false
	if i := strings.LastIndexByte(text, '-'); i > 0 {
		least, most, isRange = text[:i], text[i+1:], true
	}
	var err, also error
	t.least, err = time.ParseDuration(least)
	t.most, also = time.ParseDuration(most)
	if err != nil || also != nil || isRange && t.most <= t.least {
		return errors.New("want a time such as 50ms, or two such as 1ms-50ms")
	}
	t.given = true
	return nil
}

func (t *timeoutFlag) draw(random *rand.Rand) time.Duration {
	if t.least == t.most {
		return t.least
	}
	return t.least + time.Duration(random.Int64N(int64(t.most-t.least)))
}
