package registry

import (
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	registryv1 "github.com/trunkcall/trunkcall/go/gen/registry/v1"
)

// refused is what a record is refused with, which names the member that is at fault (spec/registry.md 2.5).
var refused = regexp.MustCompile(`^(record of \d+ bytes, at most 16384|not a JSON object|` +
	`(addresses(\[\d+\])?|attributes|id|server_name|service|version|weight|zone): want )`)

func unhex(f *testing.F, text string) []byte {
	f.Helper()
	data, err := hex.DecodeString(text)
	if err != nil {
		f.Fatal(err)
	}
	return data
}

// What is read is written the same way again, and read as the same; what is refused is refused with its place.
func FuzzParse(f *testing.F) {
	v := read(f)
	for _, c := range v.Records {
		f.Add([]byte(c.Input))
	}
	for _, c := range v.BadRecords {
		f.Add(append(unhex(f, c.Hex), c.Input...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			if !refused.MatchString(err.Error()) {
				t.Fatalf("%q is refused with %v", data, err)
			}
			return
		}
		once, err := r.Bytes()
		if err != nil {
			// What was read from escapes may be longer written out, not the other way round.
			t.Fatalf("%q cannot be written: %v", data, err)
		}
		again, err := Parse(once)
		if err != nil || !again.equal(&r) {
			t.Fatalf("%q was written as %q, which is %+v, %v", data, once, again, err)
		}
		if twice, err := again.Bytes(); err != nil || string(twice) != string(once) {
			t.Fatalf("%q is written as %q, then as %q, %v", data, once, twice, err)
		}
	})
}

func FuzzOpen(f *testing.F) {
	v := read(f)
	for _, c := range v.Registries {
		f.Add(c.Name)
	}
	for _, c := range v.BadRegistries {
		f.Add(c.Name)
	}
	AddScheme("placed", func(rest string) (Source, error) { // as the packages of other registries read names
		if p, ok := ParsePlace(rest); ok {
			return NewEmbedded(p.Hosts[0]), nil
		}
		return nil, errors.New("want placed:HOST:PORT,…/ROOT?lease=SECONDS")
	})
	f.Add("placed:a:1,b:2/root/v1?lease=3")
	f.Add("placed:a:1/")
	f.Fuzz(func(t *testing.T, name string) {
		s, err := Open(name)
		if (s == nil) == (err == nil) {
			t.Fatal(s, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), `registry "`+name+`": `) {
			t.Fatal(err)
		}
		if s, ok := s.(interface{ Close() }); ok {
			s.Close()
		}
	})
}

// A place that is read is good by its own check, and is read as the same when it is written again.
func FuzzPlace(f *testing.F) {
	for _, rest := range []string{
		"127.0.0.1:2379", "a:1,b-c.d_e:65535,[::1]:3", "a:1/one/two/v1?lease=3600", "a:1?lease=1", "a:1/", "a:0", "a:1?lease=0", "[::1", "",
	} {
		f.Add(rest)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		p, ok := ParsePlace(rest)
		if !ok {
			return
		}
		if err := p.Check(); err != nil || len(p.Hosts) < 1 || len(p.Hosts) > 9 {
			t.Fatalf("%q is %+v, %v", rest, p, err)
		}
		text := strings.Join(p.Hosts, ",")
		if p.Root != "" {
			text += "/" + p.Root
		}
		if p.Lease != 0 {
			text += fmt.Sprintf("?lease=%d", p.Lease/time.Second)
		}
		if again, ok := ParsePlace(text); !ok || !reflect.DeepEqual(again, p) {
			t.Fatalf("%q is %+v, %q is %+v", rest, p, text, again)
		}
	})
}

// lineOf is the line of what is at fault in a state file: each record before it has one, as has the first text.
func lineOf(err error, records int) int {
	switch _, text, _ := strings.Cut(err.Error(), ": "); text {
	case `want "trunkcall registry 1"`:
		return 1
	case "want nothing behind the end":
		return records + 3
	}
	return records + 2
}

// What is read of a state file is written as a file that is read whole.
func FuzzState(f *testing.F) {
	v := read(f)
	for _, s := range v.States {
		f.Add([]byte(s.Text))
	}
	for _, s := range v.BadStates {
		f.Add(unhex(f, s.Hex))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := parseState(data)
		if err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("%d: ", lineOf(err, len(records)))) {
			t.Fatalf("%v behind %d records", err, len(records))
		}
		var texts [][]byte
		for i := range records {
			texts = append(texts, records[i].Data)
		}
		again, err := parseState(appendState(nil, texts))
		if err != nil || !slices.Equal(textsOf(again), textsOf(records)) {
			t.Fatalf("%q, %v", textsOf(again), err)
		}
	})
}

// What a registry answers is told, or refused; a watcher never holds more than it may.
func FuzzTellings(f *testing.F) {
	for _, a := range []*registryv1.WatchAnswer{
		{Kind: registryv1.WatchAnswer_KIND_ALL, Came: []*registryv1.Entry{{Id: "a", Record: []byte("{}")}}},
		{Kind: registryv1.WatchAnswer_KIND_PARTIAL, Went: []string{"a", "a"}, More: true},
	} {
		data, err := a.MarshalVT()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, data)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		there := map[string]string{}
		take := tellings{sizes: map[string]int{}, all: func(all []Entry) {
			clear(there)
			for _, e := range all {
				there[e.ID] = string(e.Data)
			}
		}, change: func(came []Entry, went []string) {
			for _, e := range came {
				there[e.ID] = string(e.Data)
			}
			for _, id := range went {
				delete(there, id)
			}
		}}
		for _, data := range [][]byte{first, second} {
			var a registryv1.WatchAnswer
			if a.UnmarshalVT(data) != nil || take.take(&a) != nil {
				return
			}
			size := 0
			for _, text := range there {
				size += len(text)
			}
			if !take.within && (len(take.sizes) != len(there) || take.bytes != size) {
				t.Fatalf("%d entries of %d bytes are counted as %d of %d", len(there), size, len(take.sizes), take.bytes)
			}
		}
	})
}
