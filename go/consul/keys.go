package consul

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/trunkcall/trunkcall/go/registry"
)

// Consul's bounds of a session's time (spec/registry.md 10.5).
const (
	leastTTL  = 10 * time.Second
	untilOver = 2                // times of a session have passed when Consul ends it
	lockDelay = time.Millisecond // 0 is 15 s

	leastAnswer = time.Second // what an answer to a renewal may take at least, however short the lease

	// A transaction ends behind the record with which it has so much. Consul takes 64 operations, of 512 KiB in base64.
	inTxn   = 30
	sizeTxn = 256 << 10
	maxTxn  = 64
)

// above is what the keys of a service begin with.
func (s *Store) above(w *registry.Written) string { return s.root + "/" + w.Service + "/" }

func (s *Store) keyOf(w *registry.Written) string { return s.above(w) + nameOf(w.ID, w.Data) }

// keyKeeping keeps records as keys, which a session holds. It is used by one goroutine.
type keyKeeping struct {
	*Store

	records []registry.Written
	session string    // "": none
	good    time.Time // when all was last known to be as it should
	next    int       // of the records, the one to look at next
}

// keepKeys is Keep where records are keys.
func (s *Store) keepKeys(ctx context.Context, records []registry.Written, published func()) error {
	k := keyKeeping{Store: s, records: records}
	if err := k.put(ctx); err != nil {
		if ctx.Err() != nil && k.session != "" {
			return k.end(ctx) // some may have been written
		}
		return err
	}
	published()
	return s.hold(ctx, func() (time.Duration, error) { return k.renew(ctx) }, func() error { return k.end(ctx) })
}

// put writes the records by a new session, unless one is another server's.
func (k *keyKeeping) put(ctx context.Context) error {
	there, err := k.look(ctx)
	if err == nil {
		k.session, err = k.begin(ctx)
	}
	if err == nil {
		k.good = k.now()
		err = k.write(ctx, there)
	}
	return err
}

// ttl is the time of a session.
func (s *Store) ttl() time.Duration {
	return max((s.lease+time.Second)/2, leastTTL).Truncate(time.Second)
}

func (k *keyKeeping) begin(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	wanted := &api.SessionEntry{
		Name: "trunkcall", Behavior: api.SessionBehaviorDelete, LockDelay: lockDelay,
		TTL: k.ttl().String(),
	}
	// Not bound to the agent's own health, which others doubt sooner than the server.
	session, _, err := k.client.Session().CreateNoChecks(wanted, (&api.WriteOptions{}).WithContext(ctx))
	return session, err
}

// end withdraws what the session holds.
func (k *keyKeeping) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawsIn)
	defer cancel()
	_, err := k.client.Session().Destroy(k.session, (&api.WriteOptions{}).WithContext(ctx))
	return err
}

// standing has what there is of a record's id read, in the order of which watchers take the first. What others have put
// beside it is left out.
func (s *Store) standing(ctx context.Context, w *registry.Written, within time.Duration, each func(*pair) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	above := s.above(w)
	for one, err := range s.pairs(ctx, above+w.ID+"/") {
		if err != nil {
			return err
		}
		if id, ok := idIn(strings.TrimPrefix(one.Key, above)); ok && id == w.ID {
			if err := each(&one); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaces says why a record may not take the place of what stands at a key of its id.
func (s *Store) replaces(w *registry.Written, there *pair) error {
	if there.Key != s.above(w)+nameOf(w.ID, there.Value) {
		return nil // rubbish, whatever it is
	}
	return w.Replaces(there.Value)
}

// look is what stands where the records will, without its values, unless that is another server's.
func (k *keyKeeping) look(ctx context.Context) ([][]pair, error) {
	all := make([][]pair, len(k.records))
	for i := range k.records {
		w := &k.records[i]
		err := k.standing(ctx, w, answersWithin, func(there *pair) error {
			if len(all[i]) == mostKeys {
				return fmt.Errorf("more than %d keys of %s", mostKeys, w.Key())
			}
			all[i] = append(all[i], pair{Key: there.Key, ModifyIndex: there.ModifyIndex})
			return k.replaces(w, there)
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// write writes the records in place of what stands there.
func (k *keyKeeping) write(ctx context.Context, there [][]pair) error {
	var operations api.TxnOps
	size := 0
	commit := func() error {
		err := k.commit(ctx, operations)
		operations, size = nil, 0
		return err
	}
	for i := range k.records {
		w := &k.records[i]
		for _, one := range there[i] {
			operations = append(operations, k.operation(api.KVDeleteCAS, &api.KVTxnOp{Key: one.Key, Index: one.ModifyIndex}))
			if len(operations) == maxTxn-1 { // of rubbish that somebody has put there
				if err := commit(); err != nil {
					return err
				}
			}
		}
		operations = append(operations, k.operation(api.KVLock, &api.KVTxnOp{Key: k.keyOf(w), Value: w.Data, Session: k.session}))
		if size += len(w.Data); len(operations) >= inTxn || size >= sizeTxn || i == len(k.records)-1 {
			if err := commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// operation is one of a transaction, whose namespace that does not say.
func (s *Store) operation(verb api.KVOp, what *api.KVTxnOp) *api.TxnOp {
	what.Verb, what.Namespace, what.Partition = verb, s.config.Namespace, s.config.Partition
	return &api.TxnOp{KV: what}
}

func (s *Store) commit(ctx context.Context, operations api.TxnOps) error {
	q, cancel := query(ctx, answersWithin)
	defer cancel()
	ok, answer, _, err := s.client.Txn().Txn(operations, q)
	if err != nil || ok {
		return err
	}
	said := []string{"Consul refuses to write " + operations[len(operations)-1].KV.Key}
	for _, one := range answer.Errors {
		if one != nil {
			said = append(said, one.What)
		}
	}
	return errors.New(strings.Join(said, ": "))
}

// renew says that the server is alive, and looks whether its records are there. It returns how long behind its beginning
// it is to be done again, or why a record is lost, or what has kept it from knowing that for so long that the session is
// over. That may outlive what keeps Consul from answering: a leader that is elected, an agent that starts.
func (k *keyKeeping) renew(ctx context.Context) (time.Duration, error) {
	asked := k.now()
	lost, err := k.lost(ctx, asked)
	switch {
	case lost != nil:
		return 0, lost
	case err == nil:
		k.good = asked
		return k.third(), nil
	case k.now().Sub(k.good) >= untilOver*k.ttl():
		return 0, err
	}
	return max(k.lease/renewals/renewals, min(time.Second, k.third())), nil
}

// lost renews the session, and says why a record is lost, or why that is not known.
func (k *keyKeeping) lost(ctx context.Context, asked time.Time) (lost, failed error) {
	within := min(max(k.third(), leastAnswer), answersWithin)
	q, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	entry, _, err := k.client.Session().Renew(k.session, (&api.WriteOptions{}).WithContext(q))
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return k.over(ctx, within)
	}
	for n := 0; n < len(k.records) && (n == 0 || k.now().Sub(asked) < k.third()); n++ {
		w := &k.records[k.next]
		var first *pair // the one that counts
		err := k.standing(ctx, w, within, func(there *pair) error {
			if first == nil {
				first = there
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := k.check(w, first); err != nil {
			return err, nil
		}
		k.next = (k.next + 1) % len(k.records)
	}
	return nil, nil
}

// over looks for a session of which Consul says that it is not there, which may be of its past.
func (k *keyKeeping) over(ctx context.Context, within time.Duration) (lost, failed error) {
	q, cancel := query(ctx, within)
	defer cancel()
	q.RequireConsistent = true
	entry, _, err := k.client.Session().Info(k.session, q)
	switch {
	case err != nil:
		return nil, err
	case entry == nil:
		return errors.New("the session is over"), nil
	}
	return nil, errors.New("Consul does not renew a session that it has") //nolint:staticcheck // a name
}

// check reports that a record is not the one that counts of its id, which is nil if there is none.
func (s *Store) check(w *registry.Written, counts *pair) error {
	switch {
	case counts == nil:
		return fmt.Errorf("%s is gone", w.Key())
	case counts.Key != s.keyOf(w):
		if err := s.replaces(w, counts); err != nil {
			return err // who has written at the same time
		}
		return fmt.Errorf("%s is gone, or hidden by %s", w.Key(), counts.Key)
	case string(counts.Value) != string(w.Data):
		return fmt.Errorf("%s was written by somebody else", w.Key())
	}
	return nil
}
