package registry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/registry"
)

// storeFunc is a Store that keeps records so.
type storeFunc func(ctx context.Context, records []registry.Written, published func()) error

func (storeFunc) Watch(ctx context.Context, _ string, _ *registry.Watcher) error {
	<-ctx.Done()
	return ctx.Err()
}

func (f storeFunc) Keep(ctx context.Context, records []registry.Written, published func()) error {
	return f(ctx, records, published)
}

// A store that panics has failed: its server serves, and it is asked again.
func TestAStoreThatPanicsIsAskedAgain(t *testing.T) {
	asked := make(chan struct{}, 2)
	store := storeFunc(func(context.Context, []registry.Written, func()) error {
		select {
		case asked <- struct{}{}:
		default:
		}
		panic("a fault")
	})
	server, err := trunkcall.NewServer(trunkcall.WithRegistrar(registry.NewRegistrar(store, registry.Published{Names: []string{service}})))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := server.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	<-asked
	<-asked
}

// sourceFunc is a Source.
type sourceFunc func(ctx context.Context, service string, w *registry.Watcher) error

func (f sourceFunc) Watch(ctx context.Context, service string, w *registry.Watcher) error {
	return f(ctx, service, w)
}

// A source that panics has failed: what it told is still known, so that a registry that comes back with less withdraws
// nobody (spec/registry.md 6.4).
func TestWhatASourceToldThatPanicsIsStillKnown(t *testing.T) {
	entry := func(id string, weight int) registry.Entry {
		r := registry.Record{Service: service, ID: id, Addresses: []string{"127.0.0.1:1"}, Weight: weight}
		data, err := r.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return registry.Entry{ID: id, Data: data}
	}
	asked := 0
	source := sourceFunc(func(ctx context.Context, _ string, w *registry.Watcher) error {
		if asked++; asked == 1 {
			w.All([]registry.Entry{entry("a", 1), entry("b", 1), entry("c", 1)})
			panic("a fault")
		}
		w.All([]registry.Entry{entry("a", 7)})
		<-ctx.Done()
		return ctx.Err()
	})
	client, err := trunkcall.NewClient("registry:"+service, trunkcall.WithResolver("registry", registry.Resolver(source, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan struct{})
	go func() {
		defer close(called)
		_, _ = who.Call(ctx, client, wrapperspb.String(""), trunkcall.WaitForReady())
	}()
	defer func() { <-called }()
	defer cancel()
	for {
		all := client.Endpoints()
		if len(all) > 0 && all[0].Endpoint.Weight == 7 {
			if len(all) != 3 {
				t.Errorf("%d endpoints are left of 3", len(all))
			}
			return
		}
		time.Sleep(time.Millisecond) // it is asked again, not relied on
	}
}

// What a registry that comes back without its instances leads to is logged (spec/registry.md 6.5).
func TestARegistryThatComesBackEmptyIsLogged(t *testing.T) {
	one := registry.Record{Service: service, ID: "a", Addresses: []string{"127.0.0.1:1"}}
	data, err := one.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	source := sourceFunc(func(ctx context.Context, _ string, w *registry.Watcher) error {
		if asked++; asked == 1 {
			w.All([]registry.Entry{{ID: "a", Data: data}})
			return errors.New("a fault")
		}
		w.All(nil)
		<-ctx.Done()
		return ctx.Err()
	})
	log := &logged{}
	client, err := trunkcall.NewClient("registry:"+service, trunkcall.WithResolver("registry", registry.Resolver(source, log.logger())))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	go func() { _ = client.Connect(t.Context()) }() // nobody is there: it begins to look
	log.wait(t, `level=INFO msg="a registry answers again" service=test.Names`)
	log.wait(t, `level=WARN msg="instances that a registry has no more are kept" service=test.Names instances=1`)
}

// Services are registered by several goroutines while the server listens: in the end all are published.
func TestServicesThatAreRegisteredAtOnceAreAllPublished(t *testing.T) {
	const services = 4
	for range 1_000 {
		var mu sync.Mutex
		there := map[string]bool{}
		changed := sync.NewCond(&mu)
		note := func(records []registry.Written, published bool) {
			mu.Lock()
			defer mu.Unlock()
			for i := range records {
				if delete(there, records[i].Key()); published {
					there[records[i].Key()] = true
				}
			}
			changed.Broadcast()
		}
		store := storeFunc(func(ctx context.Context, records []registry.Written, published func()) error {
			note(records, true)
			published()
			<-ctx.Done()
			note(records, false)
			return nil
		})
		server, err := trunkcall.NewServer(trunkcall.WithRegistrar(registry.NewRegistrar(store, registry.Published{ID: "x"})))
		if err != nil {
			t.Fatal(err)
		}
		register := func(number int) {
			method := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue](fmt.Sprintf("/test.Service%d/Get", number))
			if err := server.Register(method.Handler(func(_ context.Context, in *wrapperspb.StringValue) (*wrapperspb.StringValue, error) {
				return in, nil
			})); err != nil {
				t.Error(err)
			}
		}
		register(0)
		if _, err := server.Listen("127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for number := range services {
			all.Go(func() { register(number + 1) })
		}
		all.Wait()
		late := time.AfterFunc(time.Minute, func() {
			mu.Lock()
			defer mu.Unlock()
			t.Errorf("after a minute these are published: %v", there)
			there = nil
			changed.Broadcast()
		})
		mu.Lock()
		for there != nil && len(there) < services+1 {
			changed.Wait()
		}
		mu.Unlock()
		late.Stop()
		server.Close()
		if t.Failed() {
			return
		}
	}
}

func TestARegistrarPublishesOneServer(t *testing.T) {
	store := storeFunc(func(ctx context.Context, _ []registry.Written, published func()) error {
		published()
		<-ctx.Done()
		return nil
	})
	r := registry.NewRegistrar(store, registry.Published{Names: []string{service}})
	for i, want := range []string{"", "a registrar publishes one server, and it has another"} {
		server, err := trunkcall.NewServer(trunkcall.WithRegistrar(r))
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		for range 2 {
			_, err := server.Listen("127.0.0.1:0")
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("server %d: %v", i, err)
			}
		}
	}
}

// refusing is a registrar that refuses a server once another has published it.
type refusing struct{ other *registry.Registrar }

func (r refusing) Publish(*trunkcall.Server) error {
	_ = r.other.Wait(context.Background())
	return errors.New("a fault")
}

func (refusing) Withdraw(context.Context) error { return nil }

func TestWhatIsPublishedIsWithdrawnIfAnotherRegistrarFailsTheListening(t *testing.T) {
	withdrawn := make(chan struct{})
	first := registry.NewRegistrar(storeFunc(func(ctx context.Context, _ []registry.Written, published func()) error {
		published()
		<-ctx.Done()
		close(withdrawn)
		return nil
	}), registry.Published{Names: []string{service}})
	server, err := trunkcall.NewServer(trunkcall.WithRegistrar(first), trunkcall.WithRegistrar(refusing{first}))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := server.Listen("127.0.0.1:0"); err == nil || err.Error() != "a fault" {
		t.Error(err)
	}
	select {
	case <-withdrawn:
	case <-time.After(time.Minute):
		t.Error("it is still published")
	}
}
