package trunkcall_test

import (
	"context"
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
