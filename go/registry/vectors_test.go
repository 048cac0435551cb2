package registry

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// endpointOf is an endpoint as vectors write it.
type endpointOf struct {
	Addresses  []string          `json:"addresses"`
	Attributes map[string]string `json:"attributes"`
	ID         string            `json:"id"`
	ServerName string            `json:"server_name"`
	Weight     int               `json:"weight"`
	Zone       string            `json:"zone"`
}

// recordOf is a record as vectors write it.
type recordOf struct {
	endpointOf
	Service string `json:"service"`
	Version string `json:"version"`
}

func (r *recordOf) record() Record {
	return Record{r.Service, r.ID, r.Addresses, r.ServerName, r.Weight, r.Zone, r.Version, r.Attributes}
}

func (e *endpointOf) same(o trunkcall.Endpoint) bool {
	is, want := Record{ID: o.ID, Addresses: o.Addresses, ServerName: o.ServerName, Weight: o.Weight, Zone: o.Zone, Attributes: o.Attributes},
		(&recordOf{endpointOf: *e}).record()
	return is.equal(&want)
}

// givenOf is what a server's user gave, and what the server has.
type givenOf struct {
	Names, Addresses, Services, Listening []string
	ID                                    string
	Record                                *struct {
		Weight        *int
		Zone, Version string
		ServerName    string `json:"server_name"`
		Attributes    map[string]string
	}
}

type vectors struct {
	Records []struct {
		ID, Input, Written string
		Record             recordOf
		Endpoint           endpointOf
	}
	BadRecords []struct {
		ID, Input, Hex, Service, Key, Error string
	} `json:"bad_records"`
	Registries    []struct{ ID, Name, Scheme, Rest string }
	BadRegistries []struct{ ID, Name, Error string } `json:"bad_registries"`
	Published     []struct {
		ID      string
		Given   givenOf
		Records []string
	}
	BadPublished []struct {
		ID, Error string
		Given     givenOf
	} `json:"bad_published"`
	SRV []struct {
		ID, Service, Domain, Question string
		Answers                       []struct {
			Target                 string
			Port, Priority, Weight uint16
		}
		Entries map[string]string
	}
	Watches []struct {
		ID, Service, Reason string
		Until               int
		Steps               []struct {
			At     int
			All    *map[string]string
			Came   map[string]string
			Went   []string
			Failed string
		}
		Handed []struct {
			At  int
			Set []endpointOf
		}
		Told []toldOf
	}
	Cores  []coreOf
	States []struct {
		ID, Text string
		Records  []string
	}
	BadStates []struct {
		ID, Hex, Error string
		Records        []string
	} `json:"bad_states"`
}

type toldOf struct {
	At               int
	ID, Text, Failed string
	More, Kept       int
	Again            bool
}

func read(t testing.TB) *vectors {
	t.Helper()
	data, err := os.ReadFile("../../spec/vectors/registry.json")
	v := &vectors{}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVectorRecords(t *testing.T) {
	for _, c := range read(t).Records {
		r, err := Parse([]byte(c.Input))
		if want := c.Record.record(); err != nil || !r.equal(&want) {
			t.Errorf("%s: read as %+v, %v", c.ID, r, err)
			continue
		}
		if written, err := r.Bytes(); err != nil || string(written) != c.Written {
			t.Errorf("%s: written as %s, %v\nwant %s", c.ID, written, err, c.Written)
		}
		if !c.Endpoint.same(r.Endpoint()) {
			t.Errorf("%s: makes %+v", c.ID, r.Endpoint())
		}
	}
}

// told reports whether err is told as want, perhaps with words of its own behind it.
func told(err error, want string) bool {
	return err != nil && (err.Error() == want || strings.HasPrefix(err.Error(), want+": "))
}

func TestVectorBadRecords(t *testing.T) {
	for _, c := range read(t).BadRecords {
		data, err := []byte(c.Input), error(nil)
		if c.Hex != "" {
			data, err = hex.DecodeString(c.Hex)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseAt(c.Service, c.Key, data); !told(err, c.Error) {
			t.Errorf("%s: %v\nwant %s", c.ID, err, c.Error)
		}
	}
}

func TestVectorWatches(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range read(t).Watches {
		var handed [][]trunkcall.Endpoint
		var times []int
		var tells []toldOf
		v := newView(c.Service)
		v.hand = func(at time.Duration, set []trunkcall.Endpoint) {
			times, handed = append(times, int(at/ms)), append(handed, set)
		}
		v.told = func(at time.Duration, left []leftOut, more int) {
			for _, one := range left {
				tells = append(tells, toldOf{At: int(at / ms), ID: one.ID, Text: one.err.Error()})
			}
			if more > 0 {
				tells = append(tells, toldOf{At: int(at / ms), More: more})
			}
		}
		v.failing = func(at time.Duration, err error) {
			tells = append(tells, toldOf{At: int(at / ms), Failed: err.Error()})
		}
		v.answering = func(at time.Duration) {
			tells = append(tells, toldOf{At: int(at / ms), Again: true})
		}
		v.keeping = func(at time.Duration, instances int) {
			tells = append(tells, toldOf{At: int(at / ms), Kept: instances})
		}
		until := func(end time.Duration) {
			for at, ok := v.due(); ok && at <= end; at, ok = v.due() {
				v.compute(at)
			}
		}
		for _, s := range c.Steps {
			at := time.Duration(s.At) * ms
			until(at)
			switch {
			case s.Failed != "":
				v.fail(at, errText(s.Failed))
			case s.All != nil:
				v.all(at, entriesOf(*s.All))
			default:
				v.change(at, entriesOf(s.Came), s.Went)
			}
		}
		until(time.Duration(c.Until) * ms)
		if !slices.EqualFunc(tells, c.Told, func(a, b toldOf) bool {
			ok := b.Text == "" || told(errText(a.Text), b.Text)
			b.Text = a.Text
			return ok && a == b
		}) {
			t.Errorf("%s: told %+v\nwant %+v", c.ID, tells, c.Told)
		}
		if v.reason() != c.Reason {
			t.Errorf("%s: reason %q, want %q", c.ID, v.reason(), c.Reason)
		}
		if len(handed) != len(c.Handed) {
			t.Errorf("%s: handed over at %v, want %+v", c.ID, times, c.Handed)
			continue
		}
		for i, want := range c.Handed {
			if times[i] != want.At || !slices.EqualFunc(want.Set, handed[i], func(a endpointOf, b trunkcall.Endpoint) bool { return a.same(b) }) {
				t.Errorf("%s: handed over at %d: %+v\nwant at %d: %+v", c.ID, times[i], handed[i], want.At, want.Set)
			}
		}
	}
}

type errText string

func (e errText) Error() string { return string(e) }

func entriesOf(texts map[string]string) []Entry {
	var all []Entry
	for id, text := range texts {
		all = append(all, Entry{ID: id, Data: []byte(text)})
	}
	return all
}

func TestVectorRegistries(t *testing.T) {
	v := read(t)
	for _, c := range v.Registries {
		s, err := Open(c.Name)
		rest := ""
		switch s := s.(type) {
		case *Folder:
			rest = "file:" + s.path
		case *SRV:
			rest = "srv:" + s.domain
		case *Embedded:
			rest = "trunkcall:" + s.address
		}
		if err != nil || rest != c.Scheme+":"+c.Rest {
			t.Errorf("%s: %s, %v", c.ID, rest, err)
		}
	}
	for _, c := range v.BadRegistries {
		if _, err := Open(c.Name); !told(err, c.Error) {
			t.Errorf("%s: %v\nwant %s", c.ID, err, c.Error)
		}
	}
}

func TestWhatThereIsStandsBehindASchemeThatIsNot(t *testing.T) {
	for name, want := range map[string]string{
		"foo:bar":  `registry "foo:bar": no package for "foo" is in this program: there are file, srv, trunkcall`,
		"etcd:a:1": `registry "etcd:a:1": no package for "etcd" is in this program: there are file, srv, trunkcall; import github.com/trunkcall/trunkcall/go/etcd`,
	} {
		if _, err := Open(name); err == nil || err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

func (g *givenOf) published() *Published {
	p := &Published{Names: g.Names, Addresses: g.Addresses, ID: g.ID}
	if r := g.Record; r != nil {
		if r.Weight != nil {
			p.Weight = *r.Weight
		}
		p.Zone, p.Version, p.ServerName, p.Attributes = r.Zone, r.Version, r.ServerName, r.Attributes
	}
	return p
}

func TestVectorPublished(t *testing.T) {
	v := read(t)
	for _, c := range v.Published {
		records, err := c.Given.published().records(c.Given.Services, c.Given.Listening)
		var texts []string
		for _, r := range records {
			texts = append(texts, string(r.Data))
		}
		if err != nil || !slices.Equal(texts, c.Records) {
			t.Errorf("%s: %s, %v\nwant %s", c.ID, texts, err, c.Records)
		}
	}
	if _, err := (&Published{}).records(nil, []string{"a:1"}); err == nil || err.Error() != "no service to publish: register services before listening, or name them" {
		t.Error(err)
	}
	for _, c := range v.BadPublished {
		if _, err := c.Given.published().records(c.Given.Services, c.Given.Listening); !told(err, c.Error) {
			t.Errorf("%s: %v\nwant %s", c.ID, err, c.Error)
		}
	}
}

func TestVectorSRV(t *testing.T) {
	for _, c := range read(t).SRV {
		var answers []*net.SRV
		for _, a := range c.Answers {
			answers = append(answers, &net.SRV{Target: a.Target, Port: a.Port, Priority: a.Priority, Weight: a.Weight})
		}
		texts := map[string]string{}
		for _, e := range found(c.Service, answers) {
			texts[e.ID] = string(e.Data)
		}
		if !maps.Equal(texts, c.Entries) || question(c.Service, c.Domain) != c.Question {
			t.Errorf("%s: %s: %v", c.ID, question(c.Service, c.Domain), texts)
		}
	}
}

func TestAnAnswerOfDNSThatIsNoRecordHarmsNoOther(t *testing.T) {
	answers := []*net.SRV{{Target: "a b.", Port: 1}, {Target: "a.", Port: 1}}
	entries := found("users", answers)
	if len(entries) != 2 || entries[0].Err == nil || entries[0].From != "SRV a b." || entries[1].Err != nil || entries[1].ID != "a_1" {
		t.Errorf("%+v", entries)
	}
}
