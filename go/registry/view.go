package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Times of a watcher (spec/registry.md 6).
const (
	missingFor = 60 * time.Second      // how long what went is missing
	settling   = 20 * time.Millisecond // between two sets that are handed over
	named      = 8                     // pieces of rubbish that are told of one telling
)

// Entry is what stands in a registry under the key of an instance, whatever it is.
type Entry struct {
	ID   string
	Data []byte
	// From is where it was found, if a key does not say that: a path.
	From string
	// Err says why it is no record, where that is not for its Data.
	Err error
}

// view makes sets of endpoints of what a registry tells (spec/registry.md 6). Times are of a clock that does not jump,
// from any begin. It is not safe for concurrent use.
type view struct {
	service string
	hand    func(at time.Duration, set []trunkcall.Endpoint)
	// told is told of entries that are left out, and how many more there are.
	told func(at time.Duration, left []leftOut, more int)
	// failing is told why the registry fails, once until it tells something again.
	failing func(at time.Duration, err error)

	entries map[string]string        // what stands in the registry: bytes, or what is wrong
	good    map[string]*Record       // the last good records of what is there or missing
	present int                      // how many of good are there
	missing map[string]time.Duration // since when
	begun   bool                     // the registry has told something
	fault   error                    // why it fails
	changed bool                     // since the set was handed over
	handed  []*Record                // the set that was handed over last, in order
	kept    []trunkcall.Endpoint     // what was made of it
	at      time.Duration            // when it was
}

// fail takes note that the registry fails, which changes nothing.
func (v *view) fail(at time.Duration, err error) {
	if v.fault == nil {
		v.failing(at, err)
	}
	v.fault = err
}

// leftOut is an entry that is no record.
type leftOut struct {
	Entry
	err error
}

func newView(service string) *view {
	return &view{service: service, entries: map[string]string{}, good: map[string]*Record{}, missing: map[string]time.Duration{}}
}

// all takes all entries that there are.
func (v *view) all(at time.Duration, entries []Entry) {
	there := make(map[string]struct{}, len(entries))
	for i := range entries {
		there[entries[i].ID] = struct{}{}
	}
	var went []string
	for id := range v.entries {
		if _, ok := there[id]; !ok {
			went = append(went, id)
		}
	}
	v.change(at, entries, went)
}

// change takes entries that came or changed, and the ids of those that went.
func (v *view) change(at time.Duration, came []Entry, went []string) {
	v.begun, v.fault = true, nil
	before := v.present
	for _, id := range went {
		if _, ok := v.entries[id]; !ok {
			continue
		}
		delete(v.entries, id)
		if v.good[id] != nil {
			v.missing[id] = at
			v.present--
		}
	}
	var left []leftOut
	for _, e := range came {
		if err := v.take(e); err != nil {
			left = append(left, leftOut{e, err})
		}
	}
	if len(left) > 0 {
		slices.SortFunc(left, func(a, b leftOut) int { return strings.Compare(a.ID, b.ID) })
		v.told(at, left[:min(named, len(left))], max(len(left)-named, 0))
	}
	if before == 0 && v.present > 0 {
		for id := range v.missing {
			v.missing[id] = at
		}
	}
	v.compute(at)
}

// take takes one entry. The error says why it is no record; the same bytes are told once.
func (v *view) take(e Entry) error {
	before, was := v.entries[e.ID]
	stands := string(e.Data)
	if e.Err != nil {
		stands = e.Err.Error()
	}
	if was && before == stands {
		return nil
	}
	there := was && v.good[e.ID] != nil
	v.entries[e.ID] = stands
	var r Record
	err := e.Err
	if err == nil {
		r, err = parseAt(v.service, e.ID, e.Data)
	}
	if err == nil {
		v.good[e.ID] = &r
	}
	if v.good[e.ID] != nil {
		delete(v.missing, e.ID)
		if !there {
			v.present++
		}
	}
	return err
}

// compute is spec/registry.md 6.4.
func (v *view) compute(at time.Duration) {
	if v.present > 0 {
		v.forgetMissing(at)
		v.changed = true
	}
	v.handOver(at)
}

func (v *view) forgetMissing(at time.Duration) {
	for id, since := range v.missing {
		if at-since >= missingFor {
			delete(v.missing, id)
			v.forget(id)
		}
	}
	if v.present >= len(v.missing) {
		for id := range v.missing {
			v.forget(id)
		}
	}
}

// forget drops the record of what is missing.
func (v *view) forget(id string) {
	if _, there := v.entries[id]; !there {
		delete(v.good, id)
	}
}

// handOver hands over what is good, if that is another set than the last one and it is time for the next.
func (v *view) handOver(at time.Duration) {
	if !v.changed || len(v.handed) > 0 && at < v.at+settling {
		return
	}
	v.changed = false
	set := slices.SortedFunc(maps.Values(v.good), func(a, b *Record) int { return strings.Compare(a.ID, b.ID) })
	if slices.EqualFunc(set, v.handed, func(a, b *Record) bool { return a == b || a.equal(b) }) {
		return
	}
	endpoints := v.endpointsOf(set)
	v.handed, v.kept, v.at = set, slices.Clone(endpoints), at
	v.hand(at, endpoints)
}

// endpointsOf makes endpoints of a set in order. Those of records that were handed over last are there already.
func (v *view) endpointsOf(set []*Record) []trunkcall.Endpoint {
	endpoints := make([]trunkcall.Endpoint, len(set))
	last := 0
	for i, r := range set {
		for last < len(v.handed) && v.handed[last].ID < r.ID {
			last++
		}
		if last < len(v.handed) && v.handed[last] == r {
			endpoints[i] = v.kept[last]
		} else {
			endpoints[i] = r.Endpoint()
		}
	}
	return endpoints
}

// due is when advance is to be called; false: not before something is told.
func (v *view) due() (at time.Duration, ok bool) {
	if v.changed {
		at, ok = v.at+settling, true
	}
	if v.present > 0 {
		for _, since := range v.missing {
			if end := since + missingFor; !ok || end < at {
				at, ok = end, true
			}
		}
	}
	return at, ok
}

// reason says why there is no set yet, "" if there is, or nothing is known.
func (v *view) reason() string {
	switch {
	case len(v.handed) > 0:
		return ""
	case v.fault != nil:
		return v.fault.Error()
	case !v.begun:
		return ""
	case len(v.entries) > 0:
		return fmt.Sprintf("no instance of %s is registered, and %d entries are left out", v.service, len(v.entries))
	}
	return fmt.Sprintf("no instance of %s is registered", v.service)
}
