package trunkcall

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func given(schemes []string) map[string]Resolver {
	out := map[string]Resolver{}
	for _, scheme := range schemes {
		out[scheme] = DNS(net.DefaultResolver)
	}
	return out
}

func TestTargetsAreReadAsTheVectorsSay(t *testing.T) {
	v := loadClient(t)
	for _, c := range v.Targets {
		static, scheme, r, rest, err := parseTarget(c.Target, given(c.Schemes))
		if err != nil || scheme != c.Scheme || rest != c.Rest || (r == nil) != (scheme == "static") || len(static) != len(c.Endpoints) {
			t.Errorf("%s: %v %q %q %v", c.ID, static, scheme, rest, err)
			continue
		}
		for i, e := range c.Endpoints {
			if len(static[i].Addresses) != 1 || static[i].Addresses[0] != e.Address {
				t.Errorf("%s: %v, want %v", c.ID, static[i], e.Address)
			}
		}
	}
	for _, c := range v.BadTargets {
		_, _, _, _, err := parseTarget(c.Target, given(c.Schemes))
		if err == nil || !strings.Contains(err.Error(), c.Names) {
			t.Errorf("%s: %v does not name %q", c.ID, err, c.Names)
		}
	}
}

func TestSchemesThatAreAddressesOrHaveAnotherFormAreRefused(t *testing.T) {
	for scheme, good := range map[string]bool{"consul": true, "dns": true, "a+b.c-1": true, "unix": false, "wss": false, "": false, "A": false, "1a": false, "a/b": false} {
		if err := schemeFault(scheme); (err == nil) != good {
			t.Errorf("%q: %v", scheme, err)
		}
	}
}

func TestSetsAreReadAsTheVectorsSay(t *testing.T) {
	v := loadClient(t)
	read := func(told []endpointVector) (out []Endpoint) {
		for _, e := range told {
			out = append(out, e.endpoint())
		}
		return out
	}
	for _, c := range v.Sets {
		before := map[string]string{}
		for _, e := range read(c.Before) {
			before[e.identity()] = e.where()
		}
		set, again, err := checkSet(read(c.Set))
		var order, fresh, stay []string
		for _, e := range set {
			order = append(order, e.identity())
			if before[e.identity()] == e.where() {
				stay = append(stay, e.identity())
			} else {
				fresh = append(fresh, e.identity())
			}
		}
		if err != nil || len(again) != c.Ignored || !slices.Equal(order, c.Order) || !slices.Equal(fresh, c.New) || !slices.Equal(stay, c.Stay) {
			t.Errorf("%s: order %v, new %v, stay %v, again %v, %v", c.ID, order, fresh, stay, again, err)
		}
	}
	for _, c := range v.BadSets {
		if _, _, err := checkSet(read(c.Set)); err == nil {
			t.Errorf("%s is taken", c.ID)
		}
	}
	if _, _, err := checkSet(make([]Endpoint, mostEndpoints+1)); err == nil || !strings.Contains(err.Error(), "100000") {
		t.Error(err)
	}
}

// named is a name server of the test's own.
type named struct {
	mu    sync.Mutex
	asked []time.Duration // when, from the beginning
	err   error
}

func (n *named) times() []time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

func (n *named) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

func TestNamesAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, n := time.Now(), &named{}
		ctx, cancel := context.WithCancel(t.Context())
		sets := make(chan []Endpoint, 10)
		w := &Watch{target: "example.com:50051", failed: make(chan struct{}, 1)}
		w.set = func(endpoints []Endpoint) error { sets <- endpoints; return nil }
		ended := make(chan error, 1)
		go func() {
			ended <- lookup(func(_ context.Context, host string) ([]string, error) {
				if host != "example.com" {
					t.Errorf("asked for %q", host)
				}
				n.mu.Lock()
				defer n.mu.Unlock()
				n.asked = append(n.asked, time.Since(start))
				return []string{"10.0.0.1", "::1"}, n.err
			}).Resolve(ctx, w)
		}()
		synctest.Wait()
		want := []string{"10.0.0.1:50051#example.com", "[::1]:50051#example.com"}
		for i, e := range <-sets {
			if e.identity() != want[i] {
				t.Errorf("%q, want %q", e.identity(), want[i])
			}
		}
		time.Sleep(36 * time.Second)
		synctest.Wait()
		if asked := n.times(); len(asked) != 2 || asked[1] < 24*time.Second {
			t.Fatalf("asked at %v", asked)
		}
		time.Sleep(20 * time.Second)
		w.failed <- struct{}{}
		synctest.Wait()
		if len(n.times()) != 3 {
			t.Fatalf("asked at %v: not at once after a failure", n.times())
		}
		w.failed <- struct{}{}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if len(n.times()) != 3 {
			t.Fatalf("asked at %v: within 5 s", n.times())
		}
		none := errors.New("no such host")
		n.fail(none)
		time.Sleep(time.Second)
		synctest.Wait()
		if err := <-ended; !errors.Is(err, none) || len(n.times()) != 4 {
			t.Fatal(n.times(), err)
		}
		cancel()
	})
}

func TestResolvingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, failed := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			w := &Watch{target: "a:1", set: func([]Endpoint) error { return nil }, failed: make(chan struct{}, 1)}
			if failed {
				w.failed <- struct{}{}
			}
			ended := make(chan error, 1)
			go func() {
				ended <- lookup(func(context.Context, string) ([]string, error) { return []string{"::1"}, nil }).Resolve(ctx, w)
			}()
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}
