package zookeeper

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go/registry"
)

const noAuth = -102

// begun is a session with a played server.
func begun(t *testing.T, p *played) (*Store, *session) {
	t.Helper()
	store, err := New([]string{p.address}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := store.open(t.Context(), defaultLease)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.giveUp)
	return store, n
}

// A node that ZooKeeper does not let a client read is rubbish, and hides nobody else (spec/registry.md 10.3).
func TestANodeThatMayNotBeReadHidesNobodyElse(t *testing.T) {
	p := play(t)
	p.names = func() (int32, []byte) { return 0, namesBody("a", "hidden") }
	record := recordOf(t, "a")
	p.node = func(id string) (int32, []byte) {
		if id == "a" {
			return 0, nodeBody(record)
		}
		return noAuth, nil
	}
	store, n := begun(t, p)
	l := looking{session: n, folder: store.root + "/s", names: map[string]int{}, unread: map[string]struct{}{}}
	for _, want := range []string{"a hidden", "hidden"} { // it is asked for with each list
		ids, went, err := l.differences(nil)
		if slices.Sort(ids); err != nil || len(went) > 0 || strings.Join(ids, " ") != want {
			t.Fatalf("%v are to be read, %v went, %v; want %s", ids, went, err, want)
		}
		came, gone, err := l.read(ids)
		if err != nil || len(gone) > 0 {
			t.Fatal(gone, err)
		}
		for _, e := range came {
			hidden := e.Err != nil && e.Err.Error() == "ZooKeeper does not let it be read"
			if hidden != (e.ID == "hidden") || !hidden && string(e.Data) != string(record) {
				t.Errorf("%+v came", e)
			}
		}
	}
}

// A registrar whose connection ends while it looks at its nodes has not failed before the time of its session is over.
func TestALostConnectionEndsNoSession(t *testing.T) {
	p := play(t)
	p.keeps = true
	record := recordOf(t, "a")
	p.node = func(string) (int32, []byte) { return 0, nodeBody(record) }
	again := make(chan struct{})
	var looks atomic.Int32
	p.ends = func() bool {
		look := looks.Add(1)
		if look == 2 {
			close(again)
		}
		return look == 1
	}
	store, n := begun(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k := keeping{session: n, store: store, records: []registry.Written{{Record: registry.Record{Service: "s", ID: "a"}, Data: record}}}
	ended := make(chan error, 1)
	go func() { ended <- k.watch(ctx) }()
	select {
	case err := <-ended:
		t.Fatal(err)
	case <-again:
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
