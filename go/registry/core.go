package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Bounds of the embedded registry (spec/registry.md 9).
const (
	mostPublished = 128 // records of one call
	mostKeys      = 100_000
	mostBytes     = 64 << 20
	mostWatches   = 10_000

	defaultLease   = 15 * time.Second
	leastLease     = time.Second
	greatestLease  = time.Hour
	ticksOfLease   = 15 // how often in a lease the core is told the time
	renewsOfLease  = 3
	leasesRestored = 2 // after which what nobody has published again goes
)

// core decides what the embedded registry does (spec/registry.md 9.2 to 9.6). It is told events, each with the time by a
// clock that does not jump, and tells calls, which its user has numbers for. It is not safe for concurrent use.
type core struct {
	lease                time.Duration
	keys, bytes, watches int // the most of each
	// tell is told of a call, within the call of a method, in the order in which calls began.
	tell func(call uint64, what telling)
	// version is another one after each change of a record.
	version uint64

	last     time.Duration // when it was told the time
	clock    time.Duration // how long it ran
	begun    bool
	services map[string]*inService
	size     struct{ keys, bytes int }
	calls    map[uint64]*publishing
	expires  time.Duration // no lease ends before
	watchers map[uint64]*inService
	restored map[*held]struct{} // what nobody has published since
	until    time.Duration      // when that goes, if it is not 0
	unsure   bool               // there may have been more than was restored
}

// inService is what there is of one service.
type inService struct {
	name    string
	records map[string]*held
	watches []uint64 // as they began
}

// held is a record.
type held struct {
	service, id string
	data        []byte
	calls       int // that publish it
}

func (h *held) key() string { return h.service + "/" + h.id }

// publishing is a call that publishes.
type publishing struct {
	records []*held
	renewed time.Duration
}

// telling is what a call is told.
type telling struct {
	err      error // it ends with it
	answered bool
	all      bool // all entries are to be told, those of `came`; PARTIAL if the core is unsure
	came     []Entry
	went     []string
}

func newCore(tell func(uint64, telling)) *core {
	return &core{
		lease: defaultLease, keys: mostKeys, bytes: mostBytes, watches: mostWatches, tell: tell, services: map[string]*inService{},
		calls: map[uint64]*publishing{}, watchers: map[uint64]*inService{}, restored: map[*held]struct{}{},
	}
}

// time tells the core how late it is. It is told so ahead of each event, and each fifteenth of the lease.
func (c *core) time(at time.Duration) {
	if gap := at - c.last; c.begun && gap <= c.lease/renewsOfLease {
		c.clock += gap
	}
	c.begun, c.last = true, at
	if c.clock >= c.expires {
		c.expire()
	}
	if c.until != 0 && c.clock >= c.until {
		c.settle()
	}
}

// expire ends the calls that were not renewed.
func (c *core) expire() {
	var late []uint64
	c.expires = c.clock + c.lease
	for number, call := range c.calls {
		if end := call.renewed + c.lease; end <= c.clock {
			late = append(late, number)
		} else {
			c.expires = min(c.expires, end)
		}
	}
	slices.Sort(late)
	for _, number := range late {
		c.tell(number, telling{err: trunkcall.Errorf(trunkcall.Aborted, "not renewed for %d ms", c.lease.Milliseconds())})
		c.end(number)
	}
}

// settle lets go of what was restored and nobody has published.
func (c *core) settle() {
	sure := c.unsure
	c.unsure, c.until = false, 0
	gone := slices.Collect(maps.Keys(c.restored))
	clear(c.restored)
	for _, h := range gone {
		c.drop(h)
	}
	if !sure {
		c.tellChanges(nil, gone)
		return
	}
	for _, number := range slices.Sorted(maps.Keys(c.watchers)) {
		c.tell(number, telling{all: true, came: c.entries(c.watchers[number].name)})
	}
}

// restore takes records of before a restart, and whether those are the whole.
func (c *core) restore(records []Written, whole bool) {
	for i := range records {
		c.restored[c.put(&records[i])] = struct{}{}
	}
	c.unsure = !whole
	c.until = c.clock + leasesRestored*c.lease
}

// publish takes the records of a call. Their bytes stay the core's.
func (c *core) publish(number uint64, records [][]byte) {
	given, err := c.check(records)
	if err != nil {
		c.tell(number, telling{err: err})
		return
	}
	var came []*held
	call := &publishing{renewed: c.clock}
	for i := range given {
		before := c.find(&given[i].Record)
		changed := before == nil || string(before.data) != string(given[i].Data)
		h := c.put(&given[i])
		h.calls++
		delete(c.restored, h)
		call.records = append(call.records, h)
		if changed {
			came = append(came, h)
		}
	}
	c.calls[number] = call
	c.expires = min(c.expires, c.clock+c.lease)
	c.tell(number, telling{answered: true})
	c.tellChanges(came, nil)
}

// check is spec/registry.md 9.4.
func (c *core) check(records [][]byte) ([]Written, error) {
	invalid := func(format string, words ...any) error {
		return trunkcall.Errorf(trunkcall.InvalidArgument, format, words...)
	}
	if len(records) == 0 || len(records) > mostPublished {
		return nil, invalid("records: want 1 to %d", mostPublished)
	}
	given := make([]Written, len(records))
	keys := make(map[string]struct{}, len(records))
	for i, data := range records {
		r, err := parseLine(data)
		if err != nil {
			return nil, invalid("records[%d]: %v", i, err)
		}
		if _, twice := keys[r.Key()]; twice {
			return nil, invalid("records[%d]: %s is there twice", i, r.Key())
		}
		keys[r.Key()] = struct{}{}
		given[i] = Written{r, data}
	}
	moreKeys, moreBytes := c.size.keys, c.size.bytes
	for i := range given {
		before := c.find(&given[i].Record)
		if before == nil {
			moreKeys, moreBytes = moreKeys+1, moreBytes+len(given[i].Data)
			continue
		}
		if before.calls > 0 {
			if err := given[i].Replaces(before.data); err != nil {
				return nil, trunkcall.Errorf(trunkcall.AlreadyExists, "%v", err)
			}
		}
		moreBytes += len(given[i].Data) - len(before.data)
	}
	if moreKeys > c.keys || moreBytes > c.bytes {
		return nil, trunkcall.Errorf(trunkcall.ResourceExhausted, "the registry is full: %d records, %d bytes", c.size.keys, c.size.bytes)
	}
	return given, nil
}

// parseLine reads a record that is one line of a file.
func parseLine(data []byte) (Record, error) {
	if i := slices.IndexFunc(data, func(b byte) bool { return b < ' ' }); i >= 0 && len(data) <= maxRecord {
		return Record{}, errControl
	}
	return Parse(data)
}

var errControl = fmt.Errorf("want no control characters")

// renew takes note that a call is alive.
func (c *core) renew(number uint64) {
	if call := c.calls[number]; call != nil {
		call.renewed = c.clock
		c.tell(number, telling{answered: true})
	}
}

// watch has a call told of a service.
func (c *core) watch(number uint64, name string) {
	if !isName(name, maxService) {
		c.tell(number, telling{err: trunkcall.Errorf(trunkcall.InvalidArgument, "%v", errService)})
		return
	}
	if len(c.watchers) >= c.watches {
		c.tell(number, telling{err: trunkcall.Errorf(trunkcall.ResourceExhausted, "%d watches, which is the most", c.watches)})
		return
	}
	s := c.in(name)
	s.watches = append(s.watches, number)
	c.watchers[number] = s
	c.tell(number, telling{all: true, came: c.entries(name)})
}

// end takes note that a call has ended, whatever it was.
func (c *core) end(number uint64) {
	if s := c.watchers[number]; s != nil {
		delete(c.watchers, number)
		s.watches = slices.DeleteFunc(s.watches, func(one uint64) bool { return one == number })
		c.tidy(s)
	}
	call := c.calls[number]
	if call == nil {
		return
	}
	delete(c.calls, number)
	var went []*held
	for _, h := range call.records {
		if h.calls--; h.calls == 0 {
			c.drop(h)
			went = append(went, h)
		}
	}
	c.tellChanges(nil, went)
}

// entries are those of a service, in the order of their ids.
func (c *core) entries(name string) []Entry {
	s := c.services[name]
	if s == nil {
		return nil
	}
	all := make([]Entry, 0, len(s.records))
	for id, h := range s.records {
		all = append(all, Entry{ID: id, Data: h.data})
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// records are all, in the order of their keys.
func (c *core) records() [][]byte {
	all := make([]*held, 0, c.size.keys)
	for _, s := range c.services {
		all = slices.AppendSeq(all, maps.Values(s.records))
	}
	slices.SortFunc(all, func(a, b *held) int { return strings.Compare(a.key(), b.key()) })
	data := make([][]byte, len(all))
	for i, h := range all {
		data[i] = h.data
	}
	return data
}

// tellChanges tells watchers of what came and went in their services.
func (c *core) tellChanges(came, went []*held) {
	changes := map[*inService]*telling{}
	var watches []uint64
	of := func(h *held) *telling {
		s := c.services[h.service]
		if s == nil || len(s.watches) == 0 {
			return &telling{}
		}
		if changes[s] == nil {
			changes[s] = &telling{}
			watches = append(watches, s.watches...)
		}
		return changes[s]
	}
	for _, h := range came {
		t := of(h)
		t.came = append(t.came, Entry{ID: h.id, Data: h.data})
	}
	for _, h := range went {
		t := of(h)
		t.went = append(t.went, h.id)
	}
	slices.Sort(watches)
	for _, number := range watches {
		c.tell(number, *changes[c.watchers[number]])
	}
}

// in is a service, which is made if it is not there.
func (c *core) in(name string) *inService {
	s := c.services[name]
	if s == nil {
		s = &inService{name: name, records: map[string]*held{}}
		c.services[name] = s
	}
	return s
}

// tidy forgets a service of which there is nothing.
func (c *core) tidy(s *inService) {
	if len(s.records) == 0 && len(s.watches) == 0 {
		delete(c.services, s.name)
	}
}

func (c *core) find(r *Record) *held {
	if s := c.services[r.Service]; s != nil {
		return s.records[r.ID]
	}
	return nil
}

// put puts a record under its key.
func (c *core) put(r *Written) *held {
	s := c.in(r.Service)
	h := s.records[r.ID]
	if h == nil {
		h = &held{service: s.name, id: r.ID}
		s.records[h.id] = h
		c.size.keys++
	}
	if string(h.data) != string(r.Data) {
		c.version++
	}
	c.size.bytes += len(r.Data) - len(h.data)
	h.data = r.Data
	return h
}

// drop takes a record away.
func (c *core) drop(h *held) {
	s := c.services[h.service]
	delete(s.records, h.id)
	c.version++
	c.size.keys--
	c.size.bytes -= len(h.data)
	c.tidy(s)
}
