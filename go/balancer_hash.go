package trunkcall

import (
	"math/rand/v2"
	"slices"
	"strings"
)

// Hash picks the same endpoint for all calls with the same key, of whichever client. While that
// endpoint fails, it picks the next in the key's rank. When the set changes, only the keys of
// endpoints that came or left move. A call with an empty key goes anywhere. The key may be an entry
// of the metadata:
//
//	trunkcall.Hash(func(p *trunkcall.Pick) string { return p.Metadata.Get("user") })
//
// Endpoints are connected once they are needed.
func Hash(key func(*Pick) string) Balancer { return &hashing{key, rand.Uint64} }

type hashing struct {
	key    func(*Pick) string
	random func() uint64
}

func (*hashing) Lazy() {}

func (*hashing) anySlot() bool { return false }

func (b *hashing) Balance(endpoints []*EndpointState) Picker {
	p := &hashPicker{hashing: b}
	for _, e := range endpoints {
		if e.State() != StateFailing {
			p.usable = append(p.usable, hashed{e, hashText(e.identity)})
		}
	}
	return p
}

// hashed is an endpoint with the hash of its identity.
type hashed struct {
	*EndpointState
	hash uint64
}

type hashPicker struct {
	*hashing
	usable []hashed
}

// Pick takes the endpoint of the highest rank (client.md 10.7).
func (p *hashPicker) Pick(call *Pick) *EndpointState {
	var hash uint64
	if key := p.key(call); key != "" {
		hash = hashText(key)
	} else {
		hash = p.random()
	}
	var best, last *EndpointState
	var highest uint64
	for _, e := range p.usable {
		if e.EndpointState == call.Not {
			last = e.EndpointState
			continue
		}
		s := score(hash, e.hash)
		if best == nil || s > highest || s == highest && e.identity < best.identity {
			best, highest = e.EndpointState, s
		}
	}
	if best == nil {
		return last
	}
	return best
}

// part returns most of the endpoints at most, in their order: the highest in rank for a
// client (client.md 8.5). So clients spread over them, and a change moves few.
func part(client uint64, most int, endpoints []Endpoint) []Endpoint {
	if most == 0 || len(endpoints) <= most {
		return endpoints
	}
	type ranked struct {
		score    uint64
		identity string
		index    int
	}
	all := make([]ranked, len(endpoints))
	for i, e := range endpoints {
		identity := e.identity()
		all[i] = ranked{score(client, hashText(identity)), identity, i}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return strings.Compare(a.identity, b.identity)
	})
	all = all[:most]
	slices.SortFunc(all, func(a, b ranked) int { return a.index - b.index })
	out := make([]Endpoint, most)
	for i, r := range all {
		out[i] = endpoints[r.index]
	}
	return out
}

// hashText is FNV-1a, mixed. Package hash/fnv has it too, by way of a copy of the text.
func hashText(text string) uint64 {
	h := uint64(0xCBF29CE484222325)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001B3
	}
	return mix(h)
}

// score is the rank of b for a, both of them hashes.
func score(a, b uint64) uint64 { return mix(a ^ b) }

// mix is the output function of SplitMix64.
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
