package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// pushed is a resolver whose sets the test hands over.
type pushed struct{ watch chan *trunkcall.Watch }

func newPushed() *pushed { return &pushed{make(chan *trunkcall.Watch, 1)} }

func (p *pushed) Resolve(ctx context.Context, w *trunkcall.Watch) error {
	p.watch <- w
	<-ctx.Done()
	return nil
}

// at are endpoints at addresses, which are their names too.
func at(addresses ...string) (set []trunkcall.Endpoint) {
	for _, a := range addresses {
		set = append(set, trunkcall.Endpoint{ID: a, Addresses: []string{a}})
	}
	return set
}

// begun is a client of a resolver that the test pushes sets for, and what it pushes through.
func begun(t *testing.T, options ...trunkcall.ClientOption) (*trunkcall.Client, *trunkcall.Watch) {
	t.Helper()
	p := newPushed()
	c := newClient(t, "pushed:rest", append(options, trunkcall.WithResolver("pushed", p))...)
	t.Cleanup(c.Close)
	go func() { _ = c.Connect(soon(t)) }()
	return c, receive(t, p.watch, "resolver")
}

func mustSet(t testing.TB, w *trunkcall.Watch, set []trunkcall.Endpoint) {
	t.Helper()
	if err := w.Set(set); err != nil {
		t.Fatal(err)
	}
}

// Servers that come and go in sets that change by the hundred, under load: no call fails,
// none runs twice, and nothing is left of those that went.
func TestEndpointsThatComeAndGoLoseNoCall(t *testing.T) {
	var l load
	const servers = 8
	where := make([]string, servers)
	for i := range where {
		_, where[i] = serve(t, nil, l.handler())
	}
	c, w := begun(t, trunkcall.WithConnections(2))
	if w.Target() != "rest" {
		t.Error(w.Target())
	}
	mustSet(t, w, at(where...))
	l.begin(t, c)
	l.progress(t)
	for round := range 300 {
		set := at(where[round%servers:]...)
		if round%3 == 0 {
			set = append(set, at(where[:round%servers]...)...)
		}
		set[0].Weight = round%5 + 1
		mustSet(t, w, set)
		if round%30 == 0 {
			l.progress(t)
		}
	}
	mustSet(t, w, at(where[0], where[1]))
	l.progress(t)
	l.end()
	eventually(t, "those that left are closed", func() bool { return len(c.Connections()) == 4 })
}

// Thousands of sets leave nothing behind but what the last one has.
func TestThousandsOfSetsLeaveNothingBehind(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c, w := begun(t)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	round := func(n int) {
		for i := range n {
			set := at(target)
			for j := range 50 {
				set = append(set, trunkcall.Endpoint{ID: fmt.Sprint(i, " ", j), Addresses: []string{"mem:nobody"}})
			}
			trunkcall.ApplyAtOnce(c, set)
		}
		mustSet(t, w, at(target))
		eventually(t, "the last set is there", func() bool { return len(c.Endpoints()) == 1 })
		mustEcho(t, c, "x")
	}
	sets := among(2000, 300)
	round(100)
	before, goroutines := heap(), runtime.NumGoroutine()
	round(sets)
	eventually(t, "goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines+20 })
	if after := heap(); after > before+8<<20 {
		t.Errorf("%d bytes on the heap after %d sets, %d before", after, sets, before)
	}
	eventually(t, "one connection", func() bool { return len(c.Connections()) == 1 })
}

// failing is a resolver that does what a test wants.
type resolverFunc func(context.Context, *trunkcall.Watch) error

func (f resolverFunc) Resolve(ctx context.Context, w *trunkcall.Watch) error { return f(ctx, w) }

func TestAResolverThatTellsOfNoEndpointsIsNamedInTheStatus(t *testing.T) {
	for name, r := range map[string]struct {
		resolve resolverFunc
		says    string
	}{
		"fails":       {func(context.Context, *trunkcall.Watch) error { return errors.New("no registry") }, "no registry"},
		"panics":      {func(context.Context, *trunkcall.Watch) error { panic("a fault") }, "it panicked: a fault"},
		"ends":        {func(context.Context, *trunkcall.Watch) error { return nil }, "told of no endpoints"},
		"empty":       {func(_ context.Context, w *trunkcall.Watch) error { return w.Set(nil) }, "the set of endpoints is empty"},
		"no address":  {func(_ context.Context, w *trunkcall.Watch) error { return w.Set([]trunkcall.Endpoint{{ID: "me"}}) }, `"me" has no address`},
		"bad address": {func(_ context.Context, w *trunkcall.Watch) error { return w.Set(at("nowhere")) }, "nowhere"},
		"flood": {func(_ context.Context, w *trunkcall.Watch) error {
			return w.Set(make([]trunkcall.Endpoint, 100_001))
		}, "100001 endpoints, at most 100000"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, "mine:x", trunkcall.WithResolver("mine", r.resolve))
			t.Cleanup(c.Close)
			_, err := echo.Call(soon(t), c, text("x"))
			s := wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
			wantsText(t, s.Message, "resolver mine: ", r.says)
			done := make(chan error, 1)
			trunkcall.InvokeFunc(soon(t), c, unary("/test.Service/Echo"), text("x"), &payload{}, func(err error) { done <- err })
			wants(t, receive(t, done, "end"), trunkcall.Unavailable, trunkcall.NotSent)
		})
	}
}

// Why a resolver fails is in the status of a call that waited for it. Without a logger it is told to the default one, once
// for failures in a row.
func TestWhyAResolverFailsIsTold(t *testing.T) {
	var log logged
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	_, target := serve(t, nil, standard()...)
	waiting, giveUp := context.WithCancel(soon(t))
	defer giveUp()
	ended, again := make(chan struct{}), make(chan struct{})
	times := 0
	c := newClient(t, "mine:told", trunkcall.WithResolver("mine", resolverFunc(func(ctx context.Context, w *trunkcall.Watch) error {
		switch times++; times {
		case 3:
			giveUp()
			<-ended
		case 4:
			if err := w.Set(at(target)); err != nil {
				t.Error(err)
			}
		case 6:
			close(again)
			<-ctx.Done()
		}
		return errors.New("no registry")
	})))
	t.Cleanup(c.Close)
	_, err := echo.Call(waiting, c, text("x"), trunkcall.WaitForReady())
	close(ended)
	s := wants(t, err, trunkcall.Canceled, trunkcall.NotSent)
	wantsText(t, s.Message, "resolver mine has told of no endpoints in time: ", "; resolver mine: no registry")
	receive(t, again, "another failure after a good set")
	eventually(t, "two rows of failures are logged", func() bool { return log.count("mine:told") == 2 })
	c.Close() // what is to be logged is, then
	if n := log.count("mine:told"); n != 2 || !log.has("level=WARN", "resolver failed", "resolver mine: no registry") {
		t.Errorf("%d records, or not as they should be", n)
	}
}

func TestTheLastGoodSetStays(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c, w := begun(t)
	mustSet(t, w, append(at(target), at(target)...)) // twice
	mustEcho(t, c, "x")
	if err := w.Set(nil); err == nil {
		t.Error("an empty set is good")
	}
	if err := w.Set([]trunkcall.Endpoint{{Addresses: []string{target}, Weight: -1}}); err == nil {
		t.Error("a weight below 0 is good")
	}
	mustEcho(t, c, "x")
	if n := len(c.Endpoints()); n != 1 {
		t.Errorf("%d endpoints", n)
	}
}

func TestAFailedResolverIsCalledAgain(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	var times atomic.Int32
	c := newClient(t, "mine:x", trunkcall.WithResolver("mine", resolverFunc(func(_ context.Context, w *trunkcall.Watch) error {
		if times.Add(1) < 3 {
			return errors.New("not yet")
		}
		return w.Set(at(target))
	})))
	t.Cleanup(c.Close)
	if _, err := echo.Call(soon(t), c, text("x"), trunkcall.WaitForReady()); err != nil {
		t.Fatal(err)
	}
}

// The fields of an endpoint that may differ are exchanged in place, and its connection stays; another address
// makes it another endpoint.
func TestAnEndpointIsRecognised(t *testing.T) {
	_, one := serve(t, nil, standard()...)
	_, two := serve(t, nil, standard()...)
	c, w := begun(t)
	mustSet(t, w, []trunkcall.Endpoint{{ID: "a", Addresses: []string{one}}})
	mustEcho(t, c, "x")
	conn := c.Connections()[0]
	mustSet(t, w, []trunkcall.Endpoint{{ID: "a", Addresses: []string{one}, Weight: 7, Zone: "z"}})
	eventually(t, "the new description", func() bool { return c.Endpoints()[0].Endpoint.Weight == 7 })
	mustEcho(t, c, "x")
	if all := c.Connections(); len(all) != 1 || all[0] != conn {
		t.Error("the connection was exchanged")
	}
	mustSet(t, w, []trunkcall.Endpoint{{ID: "a", Addresses: []string{two}}})
	eventually(t, "a connection to the other", func() bool {
		mustEcho(t, c, "x")
		all := c.Connections()
		return len(all) == 1 && all[0].Remote().String() == two
	})
}

// A call that runs at an endpoint which leaves is answered.
func TestAnEndpointThatLeavesIsDrained(t *testing.T) {
	g := newGate(t)
	_, one := serve(t, nil, append(standard(), g.handler())...)
	_, two := serve(t, nil, standard()...)
	c, w := begun(t)
	mustSet(t, w, at(one))
	ended := make(chan error, 1)
	go func() {
		_, err := block.Call(soon(t), c, text("x"))
		ended <- err
	}()
	g.await(t)
	mustSet(t, w, at(two))
	eventually(t, "calls go to the other", func() bool { return len(c.Endpoints()) == 1 && c.Endpoints()[0].Endpoint.ID == two })
	for range 20 {
		mustEcho(t, c, "x")
	}
	g.open()
	if err := receive(t, ended, "answer"); err != nil {
		t.Fatal(err)
	}
}

type balancerFunc func([]*trunkcall.EndpointState) trunkcall.Picker

func (f balancerFunc) Balance(all []*trunkcall.EndpointState) trunkcall.Picker { return f(all) }

type pickerFunc func(*trunkcall.Pick) *trunkcall.EndpointState

func (f pickerFunc) Pick(p *trunkcall.Pick) *trunkcall.EndpointState { return f(p) }

func TestAFaultyBalancerIsNamedInTheStatus(t *testing.T) {
	_, one := serve(t, nil, standard()...)
	_, two := serve(t, nil, standard()...)
	var foreign atomic.Pointer[trunkcall.EndpointState]
	other := newClient(t, one, trunkcall.WithBalancer(balancerFunc(func(all []*trunkcall.EndpointState) trunkcall.Picker {
		foreign.Store(all[0])
		return pickerFunc(func(*trunkcall.Pick) *trunkcall.EndpointState { return all[0] })
	})))
	t.Cleanup(other.Close)
	mustEcho(t, other, "x")
	for name, b := range map[string]struct {
		balance balancerFunc
		code    trunkcall.Code
		says    string
	}{
		"panics":    {func([]*trunkcall.EndpointState) trunkcall.Picker { panic("a fault") }, trunkcall.Internal, "it panicked: a fault"},
		"no picker": {func([]*trunkcall.EndpointState) trunkcall.Picker { return nil }, trunkcall.Internal, "made no picker"},
		"its picker panics": {func([]*trunkcall.EndpointState) trunkcall.Picker {
			return pickerFunc(func(*trunkcall.Pick) *trunkcall.EndpointState { panic("a fault") })
		}, trunkcall.Internal, "its picker panicked: a fault"},
		"picks who is not there": {func([]*trunkcall.EndpointState) trunkcall.Picker {
			return pickerFunc(func(*trunkcall.Pick) *trunkcall.EndpointState { return foreign.Load() })
		}, trunkcall.Internal, "not among the endpoints"},
		"has a picker of ours pick who is not there": {func([]*trunkcall.EndpointState) trunkcall.Picker {
			return trunkcall.RoundRobin().Balance([]*trunkcall.EndpointState{foreign.Load(), foreign.Load()})
		}, trunkcall.Internal, "not among the endpoints"},
		"picks none": {func([]*trunkcall.EndpointState) trunkcall.Picker {
			return pickerFunc(func(*trunkcall.Pick) *trunkcall.EndpointState { return nil })
		}, trunkcall.Unavailable, "picks none of the 2 endpoints"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, one+","+two, trunkcall.WithBalancer(b.balance))
			t.Cleanup(c.Close)
			eventually(t, "both are connected", func() bool {
				_ = c.Connect(soon(t))
				return len(c.Connections()) == 2
			})
			_, err := echo.Call(soon(t), c, text("x"))
			s := wants(t, err, b.code, trunkcall.NotSent)
			wantsText(t, s.Message, "balancer ", "balancerFunc", b.says)
			if !s.Local {
				t.Error("not local")
			}
		})
	}
}

// A picker that is told how calls end is told of each call once, and sees how many are open.
type watchingPicker struct {
	trunkcall.Picker
	ended *atomic.Int64
}

func (w watchingPicker) Ended(_ *trunkcall.EndpointState, o trunkcall.Outcome) {
	if o.Status.Code == trunkcall.OK && o.Duration > 0 {
		w.ended.Add(1)
	}
}

func TestAPickerIsToldHowCallsEnd(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	var ended atomic.Int64
	var seen atomic.Pointer[trunkcall.EndpointState]
	c := newClient(t, target, trunkcall.WithBalancer(balancerFunc(func(all []*trunkcall.EndpointState) trunkcall.Picker {
		seen.Store(all[0])
		return watchingPicker{pickerFunc(func(*trunkcall.Pick) *trunkcall.EndpointState { return all[0] }), &ended}
	})))
	t.Cleanup(c.Close)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { mustEcho(t, c, "x") })
	}
	all.Wait()
	checkBidi(t, c)
	eventually(t, "all are told of", func() bool { return ended.Load() == 11 && seen.Load().Calls() == 0 })
	if seen.Load().Latency() == 0 {
		t.Error("no latency")
	}
}

func TestConnectionsWithoutCallsCloseAfterTheIdleTimeout(t *testing.T) {
	for name, options := range map[string][]trunkcall.ClientOption{
		"all together": nil, "each by itself": {trunkcall.WithBalancer(trunkcall.First())},
	} {
		t.Run(name, func(t *testing.T) {
			_, one := serve(t, nil, standard()...)
			_, two := serve(t, nil, standard()...)
			c := dial(t, one+","+two, append(options, trunkcall.WithIdleTimeout(20*time.Millisecond))...)
			for range 3 {
				mustEcho(t, c, "x")
				eventually(t, "no connection", func() bool { return len(c.Connections()) == 0 })
			}
		})
	}
}

func TestOptionsThatContradictEachOtherAreNamed(t *testing.T) {
	r := newPushed()
	for says, options := range map[string][]trunkcall.ClientOption{
		"two resolvers for mine":    {trunkcall.WithResolver("mine", r), trunkcall.WithResolver("mine", r)},
		"unix, which begins":        {trunkcall.WithResolver("unix", r)},
		"no scheme":                 {trunkcall.WithResolver("Mine", r)},
		"resolver for \"x\" is nil": {trunkcall.WithResolver("x", nil)},
		"two balancers":             {trunkcall.WithBalancer(trunkcall.First()), trunkcall.WithBalancer(trunkcall.RoundRobin())},
		"the balancer is nil":       {trunkcall.WithBalancer(nil)},
		"most endpoints is -1":      {trunkcall.WithMostEndpoints(-1)},
		"idle timeout is 1ns":       {trunkcall.WithIdleTimeout(1)},
		"the timeout is 0s":         {trunkcall.WithTimeout(0)},
		"two policies for \"\"":     {trunkcall.WithPolicy(trunkcall.Policy{Timeout: 1}, trunkcall.Policy{Timeout: 2})},
		"says nothing":              {trunkcall.WithPolicy(trunkcall.Policy{Method: "/a.B/C"})},
		"policy is for \"a.B/C\"":   {trunkcall.WithPolicy(trunkcall.Policy{Method: "a.B/C", Timeout: 1})},
		"two timeouts for all":      {trunkcall.WithTimeout(1), trunkcall.WithPolicy(trunkcall.Policy{Timeout: 2})},
	} {
		if _, err := trunkcall.NewClient("mem:x", options...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
}

func TestACallThatRunsOutOfTimeSaysWhatItWaitedFor(t *testing.T) {
	ctx, cancel := within(50 * time.Millisecond)
	defer cancel()
	c := newClient(t, "pushed:rest", trunkcall.WithResolver("pushed", newPushed()))
	t.Cleanup(c.Close)
	_, err := echo.Call(ctx, c, text("x"))
	wantsText(t, wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent).Message, "resolver pushed", "in time")
	g := newGate(t)
	one := fewSlots(t, 1, 10, g.handler())
	go func() { _, _ = block.Call(soon(t), one, text("")) }()
	g.await(t)
	ctx, cancel = within(50 * time.Millisecond)
	defer cancel()
	_, err = echo.Call(ctx, one, text("x"))
	wantsText(t, wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent).Message, "slot", "in time")
}

// A resolver may fill the same slice anew: what is otherwise, or wrong, is noticed.
func TestASetThatIsChangedInPlaceIsLookedAtAnew(t *testing.T) {
	_, target := serve(t, nil, standard()...)
	c, w := begun(t)
	set := at(target)
	mustSet(t, w, set)
	eventually(t, "the set is there", func() bool { return len(c.Endpoints()) == 1 })
	set[0].Weight = -5
	if w.Set(set) == nil {
		t.Error("a weight of -5 is taken")
	}
}
