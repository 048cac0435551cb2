package consul

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/trunkcall/trunkcall/go/registry"
)

// Consul's bounds of a session's time, behind whose end it waits as long again (spec/registry.md 10.5).
const (
	leastTTL  = 10 * time.Second
	untilOver = 2
	lockDelay = time.Millisecond // 0 is 15 s

	// A transaction ends behind the record with which it has so much. Consul takes 64 operations, of 512 KiB in base64.
	inTxn   = 30
	sizeTxn = 256 << 10
	maxTxn  = 64
)

// above is what the keys of a service begin with.
func (s *Store) above(w *registry.Written) string { return s.root + "/" + w.Service + "/" }

func (s *Store) keyOf(w *registry.Written) string { return s.above(w) + nameOf(w.ID, w.Data) }

// keepKeys is Keep where records are keys, which a session holds.
func (s *Store) keepKeys(ctx context.Context, records []registry.Written, published func()) error {
	there, err := s.look(ctx, records)
	if err != nil {
		return err
	}
	session, err := s.begin(ctx)
	if err != nil {
		return err
	}
	if err := s.putKeys(ctx, records, there, session); err != nil {
		if ctx.Err() != nil {
			return s.end(ctx, session) // some may have been written
		}
		return err
	}
	good := s.now() // when all was last known to be as it should
	published()
	return s.hold(ctx, func() error {
		asked := s.now()
		lost, err := s.renewKeys(ctx, records, session)
		if lost == nil && err == nil {
			good = asked
		}
		// The session may have outlived what keeps Consul from answering: a leader that is elected, an agent that starts.
		if lost == nil && s.now().Sub(good) < untilOver*s.ttl() {
			return nil
		}
		return errors.Join(lost, err)
	}, func() error { return s.end(ctx, session) })
}

// ttl is the time of a session.
func (s *Store) ttl() time.Duration {
	return max((s.lease+time.Second)/2, leastTTL).Truncate(time.Second)
}

func (s *Store) begin(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	wanted := &api.SessionEntry{
		Name: "trunkcall", Behavior: api.SessionBehaviorDelete, LockDelay: lockDelay,
		TTL: s.ttl().String(),
	}
	// Not bound to the agent's own health, which others doubt sooner than the server.
	session, _, err := s.client.Session().CreateNoChecks(wanted, (&api.WriteOptions{}).WithContext(ctx))
	return session, err
}

// end withdraws what the session holds.
func (s *Store) end(ctx context.Context, session string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawsIn)
	defer cancel()
	_, err := s.client.Session().Destroy(session, (&api.WriteOptions{}).WithContext(ctx))
	return err
}

// standing has what there is of a record's id read, in the order of which watchers take the first. What others have put
// beside it is left out.
func (s *Store) standing(ctx context.Context, w *registry.Written, within time.Duration, each func(*pair) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	above := s.above(w)
	answer, err := s.request(ctx, "kv/"+above+w.ID+"/", url.Values{"recurse": {""}, "consistent": {""}})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	for one, err := range pairs(answer) {
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
func (s *Store) look(ctx context.Context, records []registry.Written) ([][]pair, error) {
	all := make([][]pair, len(records))
	for i := range records {
		err := s.standing(ctx, &records[i], answersWithin, func(there *pair) error {
			if len(all[i]) == mostKeys {
				return fmt.Errorf("more than %d keys of %s", mostKeys, records[i].Key())
			}
			all[i] = append(all[i], pair{Key: there.Key, ModifyIndex: there.ModifyIndex})
			return s.replaces(&records[i], there)
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// putKeys writes the records in place of what stands there.
func (s *Store) putKeys(ctx context.Context, records []registry.Written, there [][]pair, session string) error {
	var operations api.TxnOps
	size := 0
	commit := func() error {
		err := s.commit(ctx, operations)
		operations, size = nil, 0
		return err
	}
	for i := range records {
		w := &records[i]
		for _, one := range there[i] {
			operations = append(operations, s.operation(api.KVDeleteCAS, &api.KVTxnOp{Key: one.Key, Index: one.ModifyIndex}))
			if len(operations) == maxTxn-1 { // of rubbish that somebody has put there
				if err := commit(); err != nil {
					return err
				}
			}
		}
		operations = append(operations, s.operation(api.KVLock, &api.KVTxnOp{Key: s.keyOf(w), Value: w.Data, Session: session}))
		if size += len(w.Data); len(operations) >= inTxn || size >= sizeTxn || i == len(records)-1 {
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

// renewKeys says that the server is alive, and looks whether its records are there: why one is lost, or why that is not
// known.
func (s *Store) renewKeys(ctx context.Context, records []registry.Written, session string) (lost, failed error) {
	within := min(max(s.lease/renewals, leastAnswer), answersWithin)
	q, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	entry, _, err := s.client.Session().Renew(session, (&api.WriteOptions{}).WithContext(q))
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return s.over(ctx, session, within)
	}
	for i := range records {
		w := &records[i]
		var first *pair // the one that counts
		err := s.standing(ctx, w, within, func(there *pair) error {
			if first == nil {
				first = there
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := s.check(w, first); err != nil {
			return err, nil
		}
	}
	return nil, nil
}

// over looks for a session of which Consul says that it is not there, which may be of Consul's past.
func (s *Store) over(ctx context.Context, session string, within time.Duration) (lost, failed error) {
	q, cancel := query(ctx, within)
	defer cancel()
	q.RequireConsistent = true
	entry, _, err := s.client.Session().Info(session, q)
	if err == nil && entry == nil {
		lost = errors.New("the session is over")
	}
	return lost, err
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
