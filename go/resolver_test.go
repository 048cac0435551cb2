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

func TestTheLikelierFaultOfATargetIsSaidFirst(t *testing.T) {
	const want = ": want HOST:PORT, unix:PATH, mem:NAME or ws://HOST:PORT/PATH"
	for target, why := range map[string]string{
		"registry:a.B": `no resolver was given for the scheme "registry"; as an address: a port is a number from 1 to 65535, not "a.B"` + want,
		"a:99999":      `a port is a number from 1 to 65535, not "99999"` + want + `; no resolver was given for the scheme "a" either`,
		"a:4001/":      "there is a path behind the port; without it, it is a:4001" + want + `; no resolver was given for the scheme "a" either`,
		"a":            "it has no port; with one it is, for example, a:8080" + want,
	} {
		if _, err := NewClient(target); err == nil || err.Error() != `target "`+target+`": `+why {
			t.Errorf("%v\nwant %s", err, why)
		}
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
		failed := make(chan struct{}, 1)
		set := func(endpoints []Endpoint) error { sets <- endpoints; return nil }
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
			}).resolve(ctx, "example.com:50051", set, failed)
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
		time.Sleep(9 * time.Second) // the next would be asked for after 48 s at the earliest
		failed <- struct{}{}
		synctest.Wait()
		if len(n.times()) != 3 {
			t.Fatalf("asked at %v: not at once after a failure", n.times())
		}
		failed <- struct{}{}
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
		for _, unreached := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan struct{}, 1)
			if unreached {
				failed <- struct{}{}
			}
			ended := make(chan error, 1)
			go func() {
				ended <- lookup(func(context.Context, string) ([]string, error) { return []string{"::1"}, nil }).resolve(ctx, "a:1", func([]Endpoint) error { return nil }, failed)
			}()
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}
