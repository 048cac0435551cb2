package registry

import "fmt"

// Account makes entries of what a Source finds, and bounds what it has a client hold (spec/registry.md 10.1). Its zero
// value is empty. It is not safe for concurrent use.
type Account struct {
	sizes map[string]int
	bytes int
}

// Put makes the entry of what stands under an id. An error is a failure of the Source: there is too much. Data that is
// longer than a record is not kept, and the entry says so.
func (a *Account) Put(id string, data []byte) (Entry, error) {
	e := Entry{ID: id, Data: data}
	if len(data) > maxRecord {
		e.Data, e.Err = nil, errSize(len(data))
	}
	if a.sizes == nil {
		a.sizes = map[string]int{}
	}
	a.Remove(id)
	a.sizes[id] = len(id) + len(e.Data)
	a.bytes += a.sizes[id]
	if err := checkHeld(len(a.sizes), a.bytes, mostBytes); err != nil {
		return Entry{}, err
	}
	return e, nil
}

// checkHeld refuses more than a watcher holds.
func checkHeld(entries, bytes, most int) error {
	if entries > mostKeys || bytes > most {
		return fmt.Errorf("%d entries of %d bytes, at most %d of %d", entries, bytes, mostKeys, most)
	}
	return nil
}

// Remove takes note that nothing stands under an id any more.
func (a *Account) Remove(id string) {
	a.bytes -= a.sizes[id]
	delete(a.sizes, id)
}

// IDs are those under which something stands.
func (a *Account) IDs() []string {
	ids := make([]string, 0, len(a.sizes))
	for id := range a.sizes {
		ids = append(ids, id)
	}
	return ids
}
