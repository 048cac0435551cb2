package trunkcall

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Sets that follow one another at random, with endpoints that come, go, change, are moved and are told twice, are applied
// as if each were looked at without the one before.
func TestSetsThatFollowOneAnother(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func() Endpoint {
		e := Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d:1", random.IntN(3))}, Weight: random.IntN(2)}
		if random.IntN(4) > 0 {
			e.ID = fmt.Sprint(random.IntN(60))
		} else {
			e.Addresses[0] = fmt.Sprintf("10.0.1.%d:1", random.IntN(20))
		}
		return e
	}
	for range 30 {
		s := unresolved(t)
		var set []Endpoint
		for range 60 {
			set = slices.Clone(set)
			for range random.IntN(4) {
				set = slices.Insert(set, random.IntN(len(set)+1), one())
			}
			for range random.IntN(4) {
				if len(set) > 1 {
					from := random.IntN(len(set))
					set = slices.Delete(set, from, min(len(set), from+1+random.IntN(3)))
				}
			}
			if len(set) == 0 {
				continue
			}
			if i, j := random.IntN(len(set)), random.IntN(len(set)); random.IntN(3) == 0 {
				set[i], set[j] = set[j], set[i]
			}
			before := map[string]*EndpointState{}
			were := map[*EndpointState]Endpoint{}
			for _, e := range s.set {
				before[e.identity], were[e] = e, e.Endpoint()
			}
			s.apply(s.client.resolving.choose(set))
			checkApplied(t, s, set, before, were)
		}
	}
}

func checkApplied(t *testing.T, s *endpoints, told []Endpoint, before map[string]*EndpointState, were map[*EndpointState]Endpoint) {
	t.Helper()
	at := 0
	there := map[string]bool{}
	for i := range told {
		identity := told[i].identity()
		if there[identity] {
			continue
		}
		there[identity] = true
		if at >= len(s.set) || s.set[at].identity != identity || s.known[identity] != s.set[at] {
			t.Fatalf("%d: want %s", at, identity)
		}
		e := s.set[at]
		at++
		old := before[identity]
		stays := old != nil && slices.Equal(were[old].Addresses, told[i].Addresses) && were[old].ServerName == told[i].ServerName
		if now := e.Endpoint(); now.Weight != told[i].Weight || now.Addresses[0] != told[i].Addresses[0] || e.within.Err() != nil || stays != (e == old) {
			t.Fatalf("%s: %v, told %v", identity, now, told[i])
		}
		if old != nil && !stays && old.within.Err() == nil {
			t.Fatalf("%s stands elsewhere, and what was before has not left", identity)
		}
	}
	if at != len(s.set) || len(s.known) != at {
		t.Fatalf("%d are used and %d known, want %d", len(s.set), len(s.known), at)
	}
	for identity, old := range before {
		if !there[identity] && old.within.Err() == nil {
			t.Fatalf("%s is not told of, and has not left", identity)
		}
	}
}

// A set is looked at address by address only where it is another than the last.
func TestWhatIsUnlikeTheLastSet(t *testing.T) {
	read := func(ids string) (set []Endpoint) {
		for _, id := range ids {
			set = append(set, Endpoint{ID: string(id), Addresses: []string{"10.0.0.1:1"}})
		}
		return set
	}
	for _, c := range []struct {
		last, set string
		want      []int
	}{
		{"", "abc", []int{0, 1, 2}},
		{"abc", "abc", nil},
		{"abc", "ac", nil},
		{"abc", "abxc", []int{2}},
		{"abc", "xbc", []int{0}},
		{"abcdefghijklm", "ahijklm", nil},
		{"abcdefghijklm", "ajklm", []int{1, 2, 3, 4}}, // too many have gone at once
		{"abc", "cab", []int{1, 2}},
		{"abc", "aabbcc", []int{1, 3, 5}},
	} {
		if got := unlike(read(c.set), read(c.last)); !slices.Equal(got, c.want) {
			t.Errorf("%s after %s: %v, want %v", c.set, c.last, got, c.want)
		}
	}
}
