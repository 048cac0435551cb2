package registry

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlacesAreRead(t *testing.T) {
	for _, c := range []struct {
		rest  string
		hosts []string
		root  string
		lease time.Duration
	}{
		{"127.0.0.1:2379", []string{"127.0.0.1:2379"}, "", 0},
		{"a:1,b-c.d_e:65535,[::1]:3", []string{"a:1", "b-c.d_e:65535", "[::1]:3"}, "", 0},
		{"a:1/root", []string{"a:1"}, "root", 0},
		{"a:1/one/two/v1?lease=3600", []string{"a:1"}, "one/two/v1", time.Hour},
		{"a:1?lease=1", []string{"a:1"}, "", time.Second},
	} {
		p, ok := ParsePlace(c.rest)
		if !ok || !slices.Equal(p.Hosts, c.hosts) || p.Root != c.root || p.Lease != c.lease {
			t.Errorf("%s is %+v, %v", c.rest, p, ok)
		}
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", c.rest, err)
		}
	}
}

func TestWhatIsNoPlaceIsRefused(t *testing.T) {
	for _, rest := range []string{
		"", "a", ":1", "a:", "a:0", "a:65536", "a:123456", "a:1,", ",a:1", "::1:1", "[a:1", "a b:1", "a:1 ", "ä:1", strings.Repeat("a", 254) + ":1",
		strings.TrimSuffix(strings.Repeat("a:1,", 10), ","), "a:1/", "a:1//b", "a:1/b/", "a:1/-", "a:1/b c", "a:1?", "a:1?lease", "a:1?lease=",
		"a:1?lease=0", "a:1?lease=-1", "a:1?lease=3601", "a:1?lease=15s", "a:1?lease=1&lease=2", "a:1?other=1", "user:password@a:1",
	} {
		if p, ok := ParsePlace(rest); ok {
			t.Errorf("%q is %+v", rest, p)
		}
	}
	for _, p := range []Place{{Root: "/a"}, {Root: "a//b"}, {Lease: time.Millisecond}, {Lease: 2 * time.Hour}, {Lease: -time.Second}} {
		if p.Check() == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

func TestARecordReplacesItselfAndRubbishOnly(t *testing.T) {
	r := Record{Service: "s", ID: "i", Addresses: []string{"a:1"}}
	data, err := r.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	w := Written{r, data}
	for _, there := range []string{string(data), "", "{", `{"addresses":["a:1"],"id":"other","service":"s"}`} {
		if err := w.Replaces([]byte(there)); err != nil {
			t.Errorf("%s: %v", there, err)
		}
	}
	err = w.Replaces([]byte(`{"addresses":["b:1"],"id":"i","service":"s"}`))
	if err == nil || err.Error() != "s/i: another server is published under this id, at b:1" {
		t.Errorf("another's record: %v", err)
	}
}

func TestAnAccountBoundsWhatIsHeld(t *testing.T) {
	var a Account
	long := make([]byte, maxRecord+1)
	if e, err := a.Put("long", long); err != nil || e.Data != nil || e.Err == nil || e.Err.Error() != "record of 16385 bytes, at most 16384" {
		t.Errorf("%v, %v", e.Err, err)
	}
	for range 3 * mostBytes / maxRecord { // the same again and again
		if _, err := a.Put("one", long[:maxRecord]); err != nil {
			t.Fatal(err)
		}
	}
	var full error
	for i := 0; full == nil && i <= mostBytes/maxRecord; i++ {
		_, full = a.Put(strings.Repeat("i", i+1), long[:maxRecord])
	}
	if full == nil || !strings.Contains(full.Error(), "at most 100000 of 67108864") {
		t.Error(full)
	}
	for _, id := range a.IDs() {
		a.Remove(id)
	}
	if a.bytes != 0 || len(a.IDs()) != 0 {
		t.Errorf("%d bytes are left", a.bytes)
	}
}
