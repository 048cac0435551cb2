package etcd

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trunkcall/trunkcall/go/registry"
)

func TestNames(t *testing.T) {
	for name, wrong := range map[string]bool{
		"etcd:127.0.0.1:1": false, "etcd:a:1,[::1]:2/root/v1?lease=2": false,
		"etcd:": true, "etcd:a": true, "etcd:a:1/": true, "etcd:a:1?lease=0": true, "etcd:a:1?tls=1": true,
	} {
		_, err := registry.OpenStore(name)
		want := `registry "` + name + `": want etcd:HOST:PORT,…/ROOT?lease=SECONDS`
		if wrong && (err == nil || err.Error() != want) || !wrong && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []Options{{Root: "/"}, {Lease: time.Millisecond}} {
		if _, err := New(clientv3.Config{Endpoints: []string{"a:1"}}, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// Nobody is there: that is said at once, and nothing is left running.
func TestNobodyIsThere(t *testing.T) {
	store, err := registry.OpenStore("etcd:127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := store.Watch(t.Context(), "s", nil); err == nil {
		t.Error("it is watched")
	}
	if err := store.Keep(t.Context(), nil, nil); err == nil {
		t.Error("it is published")
	}
	if took := time.Since(began); took > answersWithin {
		t.Errorf("that took %v", took)
	}
}

// Nobody answers a user who asks for a token: that is said in time, and ends at once with who wants it.
func TestNobodyAnswersAUser(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	for where, why := range map[string]string{"127.0.0.1:1": "etcd 127.0.0.1:1: connection error: desc = \"transport: Error while dialing: dial tcp 127.0.0.1:1: connect: connection refused\"", silent.Addr().String(): ""} {
		store, err := New(clientv3.Config{Endpoints: []string{where}, Username: "root", Password: "p"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 2)
			go func() { ended <- store.Watch(ctx, "s", nil) }()
			go func() { ended <- store.Keep(ctx, nil, nil) }()
			cancel()
			for range 2 {
				_ = ends(t, ended)
			}
			go func() { ended <- store.Watch(t.Context(), "s", nil) }() //nolint:contextcheck // by itself
			if err := ends(t, ended); !strings.Contains(err.Error(), why) {
				t.Errorf("%v, want %s", err, why)
			}
		})
	}
}

func ends(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		if err == nil {
			t.Fatal("it is watched, or published")
		}
		return err
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	return nil
}
