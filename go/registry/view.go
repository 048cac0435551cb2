package registry

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Times of a watcher (spec/registry.md 6).
const (
	missingFor = 60 * time.Second      // how long what went is missing
	settling   = 10 * time.Millisecond // between two sets that are handed over
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

	digest uint64 // of the bytes that Err is about, which are not kept; 0: there are none
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
	// answering is told that it tells something, for the first time after it failed.
	answering func(at time.Duration)
	// keeping is told how many instances are kept that the registry has not, each time that this begins.
	keeping func(at time.Duration, instances int)

	entries map[string]uint64        // what stands in the registry: a digest of the bytes, or of what is wrong
	seed    maphash.Seed             // of the digests
	good    map[string]*Record       // the last good records of what is there or missing
	touched map[string]struct{}      // the ids whose records may be others than in the set that was handed over last
	present int                      // how many of good are there
	missing map[string]time.Duration // since when
	begun   bool                     // the registry has told something
	fault   error                    // why it fails
	keeps   bool                     // instances that the registry has not
	changed bool                     // since the set was handed over
	handed  []*Record                // the set that was handed over last, in order
	kept    []trunkcall.Endpoint     // what was made of it
	at      time.Duration            // when it was
	likely  *Record                  // the last that was good: others are like it
	version map[string]string        // attributes of a record that has a version alone, which others share
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
	return &view{
		service: service, entries: map[string]uint64{}, seed: maphash.MakeSeed(), good: map[string]*Record{},
		touched: map[string]struct{}{}, missing: map[string]time.Duration{}, likely: &Record{},
	}
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
	if v.fault != nil {
		v.answering(at)
	}
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
	stands := maphash.Bytes(v.seed, e.Data)
	if e.Err != nil {
		stands = ^maphash.String(v.seed, e.Err.Error()) ^ e.digest
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
		v.good[e.ID] = v.sharing(&r, e.ID)
		v.touched[e.ID] = struct{}{}
	}
	if v.good[e.ID] != nil {
		delete(v.missing, e.ID)
		if !there {
			v.present++
		}
	}
	return err
}

// sharing has a record hold no texts of its own that are somewhere else as well.
func (v *view) sharing(r *Record, id string) *Record {
	r.Service, r.ID = v.service, id
	if r.Zone == v.likely.Zone {
		r.Zone = v.likely.Zone
	}
	if r.Version == v.likely.Version {
		r.Version = v.likely.Version
	}
	v.likely = r
	return r
}

// compute is spec/registry.md 6.4.
func (v *view) compute(at time.Duration) {
	if v.present > 0 {
		v.forgetMissing(at)
		v.changed = true
	}
	kept := len(v.good) - v.present
	if kept > 0 && !v.keeps {
		v.keeping(at, kept)
	}
	v.keeps = kept > 0
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
		v.touched[id] = struct{}{}
	}
}

// handOver hands over what is good, if that is another set than the last one and it is time for the next.
func (v *view) handOver(at time.Duration) {
	if !v.changed || len(v.handed) > 0 && at < v.at+settling {
		return
	}
	v.changed = false
	if set, endpoints, other := v.next(); other {
		v.handed, v.kept, v.at = set, endpoints, at
		v.hand(at, endpoints)
	}
	v.touched = map[string]struct{}{}
}

// next is the set as it is now, in order, and whether it is another than the one that was handed over last: that one,
// with what was touched exchanged.
func (v *view) next() (set []*Record, endpoints []trunkcall.Endpoint, other bool) {
	set = make([]*Record, 0, len(v.handed)+len(v.touched))
	endpoints = make([]trunkcall.Endpoint, 0, cap(set))
	at := 0 // what is before that in the last set has been looked at
	for _, id := range slices.Sorted(maps.Keys(v.touched)) {
		n, was := slices.BinarySearchFunc(v.handed[at:], id, func(r *Record, id string) int { return strings.Compare(r.ID, id) })
		set, endpoints = append(set, v.handed[at:at+n]...), append(endpoints, v.kept[at:at+n]...)
		at += n
		r := v.good[id]
		switch {
		case was && r != nil && r.equal(v.handed[at]):
			set, endpoints = append(set, v.handed[at]), append(endpoints, v.kept[at])
		case r != nil:
			set, endpoints, other = append(set, r), append(endpoints, v.endpoint(r)), true
		default:
			other = other || was
		}
		if was {
			at++
		}
	}
	return append(set, v.handed[at:]...), append(endpoints, v.kept[at:]...), other
}

// endpoint makes an endpoint of a record.
func (v *view) endpoint(r *Record) trunkcall.Endpoint {
	if r.Version == "" || len(r.Attributes) > 0 {
		return r.Endpoint()
	}
	if v.version[versionAttribute] != r.Version {
		v.version = map[string]string{versionAttribute: r.Version}
	}
	e := *r // without a map of its own
	e.Version, e.Attributes = "", v.version
	return e.Endpoint()
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
