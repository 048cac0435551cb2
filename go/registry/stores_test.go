package registry_test

import (
	"context"
	"fmt"
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
