package consul

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"github.com/trunkcall/trunkcall/go/registry"
)

var nameForm = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})/[0-9a-f]{16}$`)

// nameOf is what the key of a record ends with: another record has another name.
func nameOf(id string, data []byte) string {
	sum := sha256.Sum256(data)
	return id + "/" + hex.EncodeToString(sum[:8])
}

// idIn is the id that a name has, and whether it is one: all else is rubbish.
func idIn(name string) (string, bool) {
	if form := nameForm.FindStringSubmatch(name); form != nil {
		return form[1], true
	}
	return "consul:" + name, false
}

// listing is what a watcher knows of a service whose records are keys (spec/registry.md 10.5). Lists of their names come in,
// and the records of those that are new. Its zero value knows nothing.
type listing struct {
	begun   bool
	account registry.Account
	known   map[string]*listed  // by name
	counts  map[string]*listed  // by id
	awaited map[string]struct{} // ids of this list whose records are wanted, and were not put
	round   uint64              // lists that have begun
	last    string              // the id of the name before
	came    []registry.Entry
}

type listed struct {
	id   string
	good bool   // of form
	seen uint64 // the last round in which it counted
}

func (l *listing) begin() {
	l.round++
	l.last = ""
	l.came = []registry.Entry{}
	if l.known == nil {
		l.known, l.counts, l.awaited = map[string]*listed{}, map[string]*listed{}, map[string]struct{}{}
	}
	clear(l.awaited)
}

// take takes the next name of a list, and reports whether its record is wanted. Of several names of one id, which stand
// together in Consul's order but for rubbish, the first counts. The empty name is the folder's own.
func (l *listing) take(name []byte) (wanted bool, err error) {
	if len(name) == 0 {
		return false, nil
	}
	if known := l.known[string(name)]; known != nil {
		if known.id != l.last {
			known.seen = l.round
		}
		if known.good {
			l.last = known.id
		}
		return false, nil
	}
	id, good := idIn(string(name))
	if !good {
		return false, l.put(string(name), nil)
	}
	if id == l.last {
		return false, nil
	}
	l.last = id
	l.awaited[id] = struct{}{}
	return true, nil
}

// put takes the record of a new name, which is in the list of this round.
func (l *listing) put(name string, data []byte) error {
	id, good := idIn(name)
	e, err := l.account.Put(id, data)
	if err != nil {
		return err
	}
	if e.Err == nil && (!good || nameOf(id, data) != name) {
		e.Err = fmt.Errorf("the key %s is not that of a record there", name)
	}
	delete(l.awaited, id)
	one := &listed{id, good, l.round}
	l.known[name], l.counts[id] = one, one
	l.came = append(l.came, e)
	return nil
}

// end is behind the last record, and returns the ids of those that went by the list. Whose record had gone when it was
// asked for is left as it was: the next list says what has become of it.
func (l *listing) end() (went []string) {
	for name, one := range l.known {
		counts := l.counts[one.id] == one
		if _, awaited := l.awaited[one.id]; one.seen == l.round || counts && awaited {
			continue
		}
		delete(l.known, name)
		if counts {
			delete(l.counts, one.id)
			l.account.Remove(one.id)
			went = append(went, one.id)
		}
	}
	l.begun = true
	return went
}
