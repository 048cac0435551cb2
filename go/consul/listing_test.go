package consul

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"testing"
)

// The cases of spec/vectors/registry.json.
func TestWhatListsOfKeysSay(t *testing.T) {
	text, err := os.ReadFile("../../spec/vectors/registry.json")
	if err != nil {
		t.Fatal(err)
	}
	type told struct {
		Asked, Spoilt, Went []string
		All, Came           map[string]string
	}
	var vectors struct {
		Listings []struct {
			ID    string
			Steps []struct {
				Names   []string
				Records map[string]string
			}
			Told []told
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Listings) == 0 {
		t.Fatal("there are none")
	}
	for _, test := range vectors.Listings {
		t.Run(test.ID, func(t *testing.T) {
			var l listing
			for i, step := range test.Steps {
				is := told{Asked: []string{}, Spoilt: []string{}, Came: map[string]string{}, Went: []string{}}
				l.begin()
				for _, name := range step.Names {
					wanted, err := l.take([]byte(name))
					if err != nil {
						t.Fatal(err)
					}
					if wanted {
						is.Asked = append(is.Asked, name)
					}
				}
				for _, name := range is.Asked {
					if data, ok := step.Records[name]; ok {
						if err := l.put(name, []byte(data)); err != nil {
							t.Fatal(err)
						}
					}
				}
				for _, e := range l.came {
					is.Came[e.ID] = string(e.Data)
					if e.Err != nil {
						is.Spoilt = append(is.Spoilt, e.ID)
					}
				}
				began := l.begun
				is.Went = append(is.Went, l.end()...)
				if !began {
					is.All, is.Came, is.Went = is.Came, nil, nil
				}
				slices.Sort(is.Spoilt)
				slices.Sort(is.Went)
				if !reflect.DeepEqual(is, test.Told[i]) {
					t.Errorf("list %d: %+v\nwant %+v", i, is, test.Told[i])
				}
			}
		})
	}
}

// Of what is too much, the client is told that it is (spec/registry.md 10.1).
func TestAListingIsBounded(t *testing.T) {
	var l listing
	l.begin()
	data := make([]byte, 16<<10)
	for i := range 5_000 {
		name := nameOf(string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676)), data)
		if wanted, err := l.take([]byte(name)); err != nil || !wanted {
			t.Fatal(name, err)
		}
		if err := l.put(name, data); err != nil {
			return
		}
	}
	t.Error("it holds 80 MB")
}
