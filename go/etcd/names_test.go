package etcd

import (
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
