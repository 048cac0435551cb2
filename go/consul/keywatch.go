package consul

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/trunkcall/trunkcall/go/registry"
)

const (
	oneByOne = 50        // new records that are asked for so; of more all are
	maxValue = 512 << 10 // bytes of a key's value, Consul's own bound
	mostKeys = 100_000   // new ones, as of entries, or those of one id (spec/registry.md 10.1)
)

// keyLooking watches a service whose records are keys: it has their names told, and asks for the records of new ones.
type keyLooking struct {
	listing

	store  *Store
	prefix string
}

// ask has Consul tell the names, once there is something newer than index, and returns what is asked for next; 0 is to
// begin anew.
func (l *keyLooking) ask(ctx context.Context, index uint64, w *registry.Watcher) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, waits+longer)
	defer cancel()
	asked := newer(index)
	asked.Set("keys", "")
	answer, err := l.store.request(ctx, "kv/"+l.prefix, asked)
	if err != nil {
		return 0, err
	}
	next, tells, err := indexOf(answer, index)
	var fresh []string
	if err == nil && tells {
		fresh, err = l.names(answer)
	}
	_ = answer.Body.Close() // before what follows, which takes the same connection if this has been read to its end
	if err != nil || !tells {
		return next, err
	}
	if len(fresh) > oneByOne {
		err = l.readAll(ctx, fresh)
	} else {
		for i := 0; i < len(fresh) && err == nil; i++ {
			err = l.readOne(ctx, fresh[i])
		}
	}
	if err != nil {
		return 0, err
	}
	first := !l.begun
	went := l.end()
	switch {
	case first:
		w.All(l.came)
	case len(l.came)+len(went) > 0:
		w.Change(l.came, went)
	}
	return next, nil
}

// names reads the keys that there are, and returns the names that are new.
func (l *keyLooking) names(answer *http.Response) (fresh []string, err error) {
	l.begin()
	var text []byte
	for d, err := range values(listIn(answer)) {
		if err != nil {
			return nil, err
		}
		value, err := d.ReadValue()
		if err == nil {
			text, err = jsontext.AppendUnquote(text[:0], value)
		}
		if err != nil {
			return nil, fmt.Errorf("Consul's answer: %w", err) //nolint:staticcheck // a name
		}
		name, ok := bytes.CutPrefix(text, []byte(l.prefix))
		if !ok {
			continue
		}
		wanted, err := l.take(name)
		if err != nil {
			return nil, err
		}
		if wanted {
			fresh = append(fresh, string(name))
		}
		if len(fresh) > mostKeys {
			return nil, fmt.Errorf("more than %d new keys under %s", mostKeys, l.prefix)
		}
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return fresh, err
}

func (l *keyLooking) readOne(ctx context.Context, name string) error {
	answer, err := l.store.request(ctx, "kv/"+l.prefix+name, url.Values{"raw": {""}, "consistent": {""}})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxValue+1))
	if err != nil || answer.StatusCode == http.StatusNotFound { // it has gone by now
		return err
	}
	return l.put(name, data)
}

func (l *keyLooking) readAll(ctx context.Context, fresh []string) error {
	wanted := make(map[string]bool, len(fresh))
	for _, name := range fresh {
		wanted[name] = true
	}
	for one, err := range l.store.pairs(ctx, l.prefix) {
		if err != nil {
			return err
		}
		if name := strings.TrimPrefix(one.Key, l.prefix); wanted[name] {
			delete(wanted, name)
			if err := l.put(name, one.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// pair is a key, and what stands there.
type pair struct {
	Key         string
	Value       []byte // base64 in an answer
	ModifyIndex uint64
}

// pairs asks for what stands under keys that begin so, and has it read one after the other. Who does not read one ends
// there.
func (s *Store) pairs(ctx context.Context, prefix string) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		answer, err := s.request(ctx, "kv/"+prefix, url.Values{"recurse": {""}, "consistent": {""}})
		if err != nil {
			yield(pair{}, err)
			return
		}
		defer func() { _ = answer.Body.Close() }()
		for d, err := range values(listIn(answer)) {
			var one pair
			if err == nil {
				if err = json.UnmarshalDecode(d, &one); err != nil {
					err = fmt.Errorf("Consul's answer: %w", err) //nolint:staticcheck // a name
				}
			}
			if !yield(one, err) || err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // for the connection, which serves again then
	}
}

// listIn is the list that an answer has; where there is nothing, Consul says so.
func listIn(answer *http.Response) io.Reader {
	if answer.StatusCode == http.StatusNotFound {
		return strings.NewReader("[]")
	}
	return answer.Body
}
