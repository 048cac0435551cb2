package trunkcall

import "slices"

// A registry tells the whole set of ten thousand because one endpoint came. What is the same as before is recognised
// here without a map and without reading an address again.

// ahead is how many endpoints that went in a row are passed over when two sets are compared. After more of them the rest
// of that one set counts as new.
const ahead = 8

// unlike are the indexes of the endpoints in set that are not, in the same order, in last. The others are as they were.
func unlike(set, last []Endpoint) []int {
	var found []int
	at := 0
	for i := range set {
		next := at
		for next < min(len(last), at+ahead) && !set[i].is(&last[next]) {
			next++
		}
		if next < min(len(last), at+ahead) {
			at = next + 1
		} else {
			found = append(found, i)
		}
	}
	return found
}

// is reports whether two descriptions have in common what is checked and what an endpoint is recognised by.
func (e *Endpoint) is(o *Endpoint) bool {
	return e.ID == o.ID && e.Weight == o.Weight && e.stands(o)
}

// stands reports whether two descriptions with one identity are the same endpoint (client.md 7.3).
func (e *Endpoint) stands(o *Endpoint) bool {
	return e.ServerName == o.ServerName && slices.Equal(e.Addresses, o.Addresses)
}

// hasRepeated reports whether an identity is in set twice. None is in last twice.
func hasRepeated(set, last []Endpoint) bool {
	others := unlike(set, last)
	if len(others) == 0 {
		return false
	}
	seen := make(map[string]struct{}, len(others))
	for _, i := range others {
		identity := set[i].identity()
		if _, ok := seen[identity]; ok {
			return true
		}
		seen[identity] = struct{}{}
	}
	for i := range set {
		if len(others) > 0 && others[0] == i {
			others = others[1:]
		} else if _, ok := seen[set[i].identity()]; ok {
			return true
		}
	}
	return false
}

// apply replaces the set. Endpoints that are in both stay as they were, with their connections;
// those that left are drained.
func (s *endpoints) apply(told []Endpoint) {
	s.mu.Lock()
	if s.known == nil {
		s.known = make(map[string]*EndpointState, len(told))
	}
	s.applied++
	set, last := make([]*EndpointState, 0, len(told)), s.set
	at := 0 // where the next is in the last set, if nothing has changed
	for i := range told {
		one := &told[i]
		identity := one.identity()
		var e *EndpointState
		if at < len(last) && last[at].identity == identity {
			e = last[at]
		} else {
			e = s.known[identity]
		}
		if e != nil && e.endpoint.Load().stands(one) {
			at = e.place + 1
		} else {
			e = newEndpointState(s, *one)
			s.known[identity] = e
		}
		e.endpoint.Store(one) // of those that stay too: nothing is kept of the set before
		e.place, e.applied = i, s.applied
		set = append(set, e)
	}
	s.set, s.fault = set, nil
	if s.wanted && !s.lazy {
		s.connectAllLocked()
	}
	s.changedLocked()
	var gone []*Connection
	for _, e := range last {
		if e.applied == s.applied {
			continue
		}
		if s.known[e.identity] == e {
			delete(s.known, e.identity)
		}
		own := *e.endpoint.Load() // and not the whole of the set that it was told in
		e.endpoint.Store(&own)
		gone = append(gone, e.leaveLocked()...)
	}
	s.mu.Unlock()
	for _, conn := range gone {
		conn.link.Drain(textLeft)
	}
}
