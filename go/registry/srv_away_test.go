package registry

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/trunkcall/trunkcall/go"
)

// While DNS has no servers, or does not answer, the last ones stay. Those that it has when it is back are taken, and the
// ones before go (spec/registry.md 6.4, 8).
func TestWhileDNSHasNoServersTheLastOnesStay(t *testing.T) {
	failed := func(why string, e net.DNSError) func(context.Context) ([]*net.SRV, error) {
		return func(ctx context.Context) ([]*net.SRV, error) {
			if e.IsTimeout {
				select {
				case <-time.After(10 * time.Second): // as the system's resolver does
				case <-ctx.Done():
				}
			}
			e.Err, e.Name = why, "_s._tcp.example.com"
			return nil, &e
		}
	}
	for name, away := range map[string]func(context.Context) ([]*net.SRV, error){
		"no name":    failed("no such host", net.DNSError{IsNotFound: true}),
		"failure":    failed("server misbehaving", net.DNSError{IsTemporary: true}),
		"silence":    failed("i/o timeout", net.DNSError{IsTimeout: true, IsTemporary: true}),
		"no answer":  func(context.Context) ([]*net.SRV, error) { return nil, nil },
		"no service": func(context.Context) ([]*net.SRV, error) { return []*net.SRV{{Target: "."}}, nil },
		"no records": func(context.Context) ([]*net.SRV, error) { return []*net.SRV{{Target: "a b.", Port: 1}}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { goesAndComesBack(t, away) })
		})
	}
}

func goesAndComesBack(t *testing.T, away func(context.Context) ([]*net.SRV, error)) {
	var answer atomic.Pointer[func(context.Context) ([]*net.SRV, error)]
	var asked atomic.Int64
	has := func(targets ...string) func(context.Context) ([]*net.SRV, error) {
		return func(context.Context) ([]*net.SRV, error) {
			var all []*net.SRV
			for _, one := range targets {
				all = append(all, &net.SRV{Target: one + ".", Port: 1})
			}
			return all, nil
		}
	}
	first := has("a", "b")
	answer.Store(&first)
	source := &SRV{domain: "example.com", lookup: func(ctx context.Context, name string) ([]*net.SRV, error) {
		if name != "_s._tcp.example.com" {
			t.Errorf("asked for %s", name)
		}
		asked.Add(1)
		return (*answer.Load())(ctx)
	}}
	client, err := trunkcall.NewClient("registry:s", trunkcall.WithResolver("registry", Resolver(source, nil)),
		trunkcall.WithDialer(func(context.Context, trunkcall.Endpoint, string) (net.Conn, error) {
			return nil, errors.New("nobody is reached")
		}))
	if err != nil {
		t.Fatal(err)
	}
	// A call that waits keeps the client asking.
	over := make(chan struct{})
	never := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/s/Never")
	go func() {
		defer close(over)
		_, _ = never.Call(context.Background(), client, wrapperspb.String(""), trunkcall.WaitForReady())
	}()
	defer func() {
		client.Close()
		<-over
	}()
	// later is the set after a while of such answers.
	later := func(now func(context.Context) ([]*net.SRV, error), d time.Duration) string {
		answer.Store(&now)
		before := asked.Load()
		time.Sleep(d)
		synctest.Wait()
		if n := asked.Load() - before; n < 3 {
			t.Errorf("asked %d times in %v", n, d)
		}
		var ids []string
		for _, one := range client.Endpoints() {
			ids = append(ids, one.Endpoint.ID)
		}
		return strings.Join(ids, " ")
	}
	const while = 15 * time.Minute // longer than what is missing beside others is kept
	for _, step := range []struct {
		now  func(context.Context) ([]*net.SRV, error)
		want string
	}{
		{first, "a_1 b_1"},
		{away, "a_1 b_1"},
		{has("b", "c"), "b_1 c_1"}, // a is gone
		{away, "b_1 c_1"},
		{has("a", "b", "c"), "a_1 b_1 c_1"},
	} {
		if ids := later(step.now, while); ids != step.want {
			t.Fatalf("the client knows %q, not %q", ids, step.want)
		}
	}
}

func TestWhatDNSWasAskedForIsSaid(t *testing.T) {
	for want, source := range map[string]*SRV{
		"no instance of s is registered: DNS was asked for _s._tcp.example.com": {
			domain: "example.com", lookup: func(context.Context, string) ([]*net.SRV, error) { return nil, nil },
		},
		"lookup _s._tcp.example.com": NewSRV("example.com", &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("nobody is reached")
		}}),
	} {
		client, err := trunkcall.NewClient("registry:s", trunkcall.WithResolver("registry", Resolver(source, nil)))
		if err != nil {
			t.Fatal(err)
		}
		method := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/s/Method")
		if _, err := method.Call(t.Context(), client, wrapperspb.String("")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
		client.Close()
	}
}
