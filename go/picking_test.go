package trunkcall_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// A user's picker has a purpose: a shard, a tenant. Where it says an endpoint that is failing, the call does not go
// to another, though one or several are ready.
func TestACallGoesNowhereElseThanAUsersPickerSays(t *testing.T) {
	_, one := serve(t, nil, standard()...)
	_, two := serve(t, nil, standard()...)
	for name, ready := range map[string][]string{"one is ready": {one}, "two are ready": {one, two}} {
		t.Run(name, func(t *testing.T) {
			const shard = "mem:nobody"
			var settled atomic.Bool
			c, w := begun(t, trunkcall.WithBalancer(balancerFunc(func(all []*trunkcall.EndpointState) trunkcall.Picker {
				var picked *trunkcall.EndpointState
				there := 0
				for _, e := range all {
					switch {
					case e.Endpoint().ID == shard:
						picked = e
					case e.State() == trunkcall.StateReady:
						there++
					}
				}
				settled.Store(there == len(ready) && picked.State() == trunkcall.StateFailing)
				return pickerFunc(func(*trunkcall.Pick) *trunkcall.EndpointState { return picked })
			})))
			mustSet(t, w, at(append(ready, shard)...))
			eventually(t, "the shard is failing, the others are ready", settled.Load)
			for range 10 {
				_, err := echo.Call(soon(t), c, text("x"))
				wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
			}
		})
	}
}

// A balancer that ends its goroutine is at fault as one that panics; the process goes on.
func TestABalancerThatEndsItsGoroutineIsNamedInTheStatus(t *testing.T) {
	_, one := serve(t, nil, standard()...)
	_, two := serve(t, nil, standard()...)
	c := newClient(t, one+","+two, trunkcall.WithBalancer(balancerFunc(func([]*trunkcall.EndpointState) trunkcall.Picker {
		runtime.Goexit()
		return nil
	})))
	t.Cleanup(c.Close)
	_, err := echo.Call(soon(t), c, text("x"))
	wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.NotSent).Message, "balancerFunc", "it ended its goroutine")
}

// A resolver that ends its goroutine has failed, and is called again.
func TestAResolverThatEndsItsGoroutineIsCalledAgain(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	var times atomic.Int32
	c := newClient(t, "mine:x", trunkcall.WithResolver("mine", resolverFunc(func(_ context.Context, w *trunkcall.Watch) error {
		if times.Add(1) < 3 {
			runtime.Goexit()
		}
		return w.Set(at(target))
	})))
	t.Cleanup(c.Close)
	if _, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady()); err != nil {
		t.Fatal(err)
	}
}

// countedPicker counts what it picked and what it was told the end of.
type countedPicker struct {
	counts        *atomic.Bool
	pick          func(*countedPicker) *trunkcall.EndpointState
	picked, ended atomic.Int64
}

func (p *countedPicker) Pick(*trunkcall.Pick) *trunkcall.EndpointState {
	if p.counts.Load() {
		p.picked.Add(1)
	}
	return p.pick(p)
}

func (p *countedPicker) Ended(*trunkcall.EndpointState, trunkcall.Outcome) {
	if p.counts.Load() {
		p.ended.Add(1)
	}
}

// The end of a call is told to the picker that chose for it, though there is another by the time that it is made.
func TestTheEndOfACallIsToldToThePickerThatChose(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	var ready, exchanged atomic.Bool
	var latest, first atomic.Pointer[countedPicker]
	var c *trunkcall.Client
	var w *trunkcall.Watch
	c, w = begun(t, trunkcall.WithBalancer(balancerFunc(func(all []*trunkcall.EndpointState) trunkcall.Picker {
		p := &countedPicker{counts: &ready, pick: func(p *countedPicker) *trunkcall.EndpointState {
			if ready.Load() && first.CompareAndSwap(nil, p) {
				again := at(target)
				again[0].Weight = 7
				mustSet(t, w, again)
				for !exchanged.Load() {
					mustEcho(t, c, "another picker")
				}
			}
			if chose := first.Load(); chose != nil && p != chose {
				exchanged.Store(true)
			}
			return all[0]
		}}
		latest.Store(p)
		return p
	})))
	mustSet(t, w, at(target))
	mustEcho(t, c, "x")
	ready.Store(true)
	mustEcho(t, c, "chosen for by the first")
	last := latest.Load()
	eventually(t, "each picker knows of the ends of its own", func() bool {
		chose := first.Load()
		return chose.ended.Load() == chose.picked.Load() && last.ended.Load() == last.picked.Load()
	})
}

// A picker that stays because the balancer has panicked may say endpoints that have left: it is asked again.
func TestAPickerThatStaysIsAskedAgainForEndpointsThatAreThere(t *testing.T) {
	_, one := serve(t, nil, standard()...)
	_, two := serve(t, nil, standard()...)
	_, three := serve(t, nil, standard()...)
	var broken atomic.Bool
	var turn atomic.Int64
	told := &records{}
	c, w := begun(t, trunkcall.WithLogger(slog.New(slog.NewTextHandler(told, nil))),
		trunkcall.WithBalancer(balancerFunc(func(all []*trunkcall.EndpointState) trunkcall.Picker {
			if broken.Load() {
				panic("a fault")
			}
			return pickerFunc(func(*trunkcall.Pick) *trunkcall.EndpointState { return all[turn.Add(1)%int64(len(all))] })
		})))
	mustSet(t, w, at(one, two, three))
	eventually(t, "all are connected", func() bool { return len(c.Connections()) == 3 })
	mustEcho(t, c, "x")
	broken.Store(true)
	mustSet(t, w, at(two, three))
	eventually(t, "the picker stays", func() bool { return told.has("balancer failed") && len(c.Endpoints()) == 2 })
	for range 12 {
		mustEcho(t, c, "x")
	}
}
