package registry

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// A set is made of the last one and of what has changed since. It is the same as one made of all that is there, whatever
// is told.
func TestSetsOfWhatHasChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		v := newView("s")
		handed := 0
		v.hand = func(_ time.Duration, set []trunkcall.Endpoint) {
			handed++
			want := slices.SortedFunc(maps.Values(v.good), func(a, b *Record) int { return strings.Compare(a.ID, b.ID) })
			same := func(e trunkcall.Endpoint, r *Record) bool {
				w := r.Endpoint()
				return e.ID == w.ID && e.Weight == w.Weight && slices.Equal(e.Addresses, w.Addresses) && maps.Equal(e.Attributes, w.Attributes)
			}
			if !slices.EqualFunc(set, want, same) {
				t.Fatalf("handed over %v, want %d", set, len(want))
			}
		}
		v.told = func(time.Duration, []leftOut, int) {}
		v.failing = func(time.Duration, error) {}
		v.keeping = func(time.Duration, int) {}
		at := time.Duration(0)
		for range 200 {
			at += time.Duration(random.IntN(30_000)) * time.Millisecond / 100
			if random.IntN(20) == 0 {
				at += missingFor
			}
			var came []Entry
			var went []string
			for range random.IntN(4) {
				e := entryOf(random.IntN(40))
				switch random.IntN(5) {
				case 0:
					e.Data = []byte("rubbish")
				case 1:
					e.Data = []byte(strings.Replace(string(e.Data), "1.4.2", "2", 1))
				}
				came = append(came, e)
			}
			for range random.IntN(3) {
				went = append(went, entryOf(random.IntN(40)).ID)
			}
			if random.IntN(10) == 0 {
				v.all(at, came)
			} else {
				v.change(at, came, went)
			}
			if due, ok := v.due(); ok && due <= at+time.Second {
				at = max(at, due)
				v.compute(at)
			}
		}
		if handed < 50 {
			t.Fatalf("%d sets were handed over", handed)
		}
	}
}

func entryOf(number int) Entry {
	r := Record{
		Service: "s", ID: fmt.Sprintf("instance-%05d", number), Addresses: []string{fmt.Sprintf("10.%d.%d.%d:4000", number>>16&255, number>>8&255, number&255)},
		Zone: "here", Version: "1.4.2",
	}
	data, _ := r.Bytes()
	return Entry{ID: r.ID, Data: data}
}
