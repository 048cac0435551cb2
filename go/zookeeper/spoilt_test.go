package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/registry"
)

func recordOf(t *testing.T, id string) []byte {
	t.Helper()
	r := registry.Record{Service: "s", ID: id, Addresses: []string{"10.0.0.1:4000"}, Zone: "here"}
	data, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// spoiler makes answers of random form.
type spoiler struct {
	mu     sync.Mutex
	random *rand.Rand
	good   bool // nothing is spoilt
	spoilt int  // answers
}

// chance reports true once in n times, and never while answers are to be good.
func (s *spoiler) chance(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.good || s.random.IntN(n) > 0 {
		return false
	}
	s.spoilt++
	return true
}

func (s *spoiler) pick(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// bytes are others: some are changed, gone or there twice.
func (s *spoiler) bytes(whole []byte) []byte {
	made := bytes.Clone(whole)
	for range 1 + s.pick(3) {
		if len(made) == 0 {
			break
		}
		at := s.pick(len(made))
		end := min(len(made), at+1+s.pick(8))
		switch s.pick(4) {
		case 0:
			made[at] = byte(s.pick(256))
		case 1:
			made = append(made[:at], made[end:]...)
		case 2:
			made = append(bytes.Clone(made[:end]), made[at:]...)
		default:
			made = made[:at]
		}
	}
	return made
}

// code is an error that ZooKeeper has, or that it has not.
func (s *spoiler) code() int32 {
	return []int32{noNode, -1, -4, -5, -102, -112, -9999, 1, 285212672}[s.pick(9)]
}

func (s *spoiler) names(good []string) (int32, []byte) {
	if !s.chance(2) {
		return 0, namesBody(good...)
	}
	switch s.pick(4) {
	case 0:
		return s.code(), nil
	case 1:
		return 0, s.bytes(namesBody(good...))
	}
	odd := []string{"", ".", "..", "a/b", "/", "a\x00", "\xff\xfe", "\u00e9", " ", "a", strings.Repeat("x", 4000)}
	ids := []string{}
	for range s.pick(6) {
		ids = append(ids, odd[s.pick(len(odd))])
	}
	return 0, namesBody(append(ids, good[:s.pick(len(good)+1)]...)...)
}

func (s *spoiler) node(data []byte) (int32, []byte) {
	if !s.chance(3) {
		return 0, nodeBody(data)
	}
	switch s.pick(6) {
	case 0:
		return s.code(), nil
	case 3:
		return 0, s.bytes(nodeBody(data))
	case 1:
		return 0, nodeBody(bytes.Repeat([]byte("x"), 20_000)) // longer than a record
	case 2:
		return 0, append([]byte{0xff, 0xff, 0xff, 0xff}, make([]byte, 68)...) // no data, as ZooKeeper writes it
	}
	return 0, nodeBody(s.bytes(data))
}

// Answers of ZooKeeper of random form are read or refused. A client that watches goes on with what it knew, never with
// nobody, and in the end knows what there is (spec/registry.md 6, 10.3).
func TestSpoiltAnswersAreReadOrRefused(t *testing.T) {
	for _, seed := range []uint64{1, rand.Uint64()} {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { spoils(t, seed) })
	}
}

func spoils(t *testing.T, seed uint64) {
	ids := []string{"a", "b", "c"}
	records := map[string][]byte{}
	for _, id := range append(ids, "d") { // that comes in the end
		records[id] = recordOf(t, id)
	}
	s := &spoiler{random: rand.New(rand.NewPCG(seed, 1)), good: true}
	p := play(t)
	var there atomic.Pointer[[]string]
	there.Store(&ids)
	p.names = func() (int32, []byte) { return s.names(*there.Load()) }
	p.node = func(id string) (int32, []byte) {
		if data := records[id]; data != nil {
			return s.node(data)
		}
		return noNode, nil
	}
	p.ends = func() bool { return s.chance(20) }
	store, err := New([]string{p.address}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	source, client, over := watching(t, store)
	known := func() string {
		var all []string
		for _, one := range client.Endpoints() {
			all = append(all, one.Endpoint.ID)
		}
		return strings.Join(all, " ")
	}
	wait := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never: %s; the client knows %q", what, known())
			}
		}
	}
	wait("it knows what there is", func() bool { return known() == "a b c" })
	s.mu.Lock()
	s.good = false
	s.mu.Unlock()
	for range 25 {
		if err := ends(t, p, source); err == nil || err.Error() == "" {
			t.Errorf("a watch ended with %v", err)
		}
		if known() == "" {
			t.Fatal("nobody is known any more")
		}
	}
	s.mu.Lock()
	s.good = true
	spoilt := s.spoilt
	s.mu.Unlock()
	all := append(ids, "d")
	there.Store(&all)
	_ = ends(t, p, source) // and all is asked once more
	wait("it knows again what there is", func() bool { return known() == "a b c d" })
	if spoilt < 10 {
		t.Errorf("%d answers were spoilt", spoilt)
	}
	client.Close()
	<-over
	p.endAll()
	wait("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

// watching is a client that watches the service s, and reaches nobody. The channel is closed when it was closed.
func watching(t *testing.T, store *Store) (*watched, *trunkcall.Client, <-chan struct{}) {
	t.Helper()
	source := &watched{Store: store, ended: make(chan error)}
	client, err := trunkcall.NewClient("registry:s",
		trunkcall.WithResolver("registry", registry.Resolver(source, slog.New(slog.DiscardHandler))),
		trunkcall.WithDialer(func(context.Context, trunkcall.Endpoint, string) (net.Conn, error) {
			return nil, errors.New("nobody is reached")
		}))
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	never := trunkcall.Unary[wrapperspb.StringValue, wrapperspb.StringValue]("/s/Never")
	go func() { // it waits, so that the client watches
		defer close(over)
		_, _ = never.Call(context.Background(), client, wrapperspb.String(""), trunkcall.WaitForReady())
	}()
	return source, client, over
}

// ends is how a watch ended, of which the connection is ended time and again.
func ends(t *testing.T, p *played, source *watched) error {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	late := time.After(time.Minute)
	for {
		select {
		case err := <-source.ended:
			return err
		case <-again.C:
			p.endAll()
		case <-late:
			t.Fatal("a watch stalls")
		}
	}
}

// watched watches a Store again and again, without a pause, and tells how each watch ended.
type watched struct {
	*Store

	ended chan error
}

func (w *watched) Watch(ctx context.Context, service string, to *registry.Watcher) error {
	for {
		err := w.Store.Watch(ctx, service, to)
		if ctx.Err() != nil {
			return err
		}
		select {
		case w.ended <- err:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
