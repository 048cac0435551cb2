package consul

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/trunkcall/trunkcall/go/registry"
)

// Consul's bounds of a session's time, behind whose end it waits as long again (spec/registry.md 10.5).
const (
	leastTTL  = 10 * time.Second
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
	published()
	return s.hold(ctx,
		func() error { return s.renewKeys(ctx, records, session) },
		func() error { return s.end(ctx, session) })
}

func (s *Store) begin(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	wanted := &api.SessionEntry{
		Name: "trunkcall", Behavior: api.SessionBehaviorDelete, LockDelay: lockDelay,
		TTL: max((s.lease+time.Second)/2, leastTTL).Truncate(time.Second).String(),
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

// standing is what there is of a record's id, in the order of which watchers take the first. What others have put beside
// it is left out.
func (s *Store) standing(ctx context.Context, w *registry.Written, within time.Duration) (api.KVPairs, error) {
	q, cancel := query(ctx, within)
	defer cancel()
	q.RequireConsistent = true
	found, _, err := s.client.KV().List(s.above(w)+w.ID+"/", q)
	return slices.DeleteFunc(found, func(one *api.KVPair) bool {
		return one == nil || !nameForm.MatchString(strings.TrimPrefix(one.Key, s.above(w)))
	}), err
}

// replaces says why a record may not take the place of what stands at a key of its id.
func (s *Store) replaces(w *registry.Written, pair *api.KVPair) error {
	if pair.Key != s.above(w)+nameOf(w.ID, pair.Value) {
		return nil // rubbish, whatever it is
	}
	return w.Replaces(pair.Value)
}

// look is what stands where the records will, unless that is another server's.
func (s *Store) look(ctx context.Context, records []registry.Written) ([]api.KVPairs, error) {
	all := make([]api.KVPairs, len(records))
	for i := range records {
		there, err := s.standing(ctx, &records[i], answersWithin)
		if err != nil {
			return nil, err
		}
		for _, pair := range there {
			if err := s.replaces(&records[i], pair); err != nil {
				return nil, err
			}
		}
		all[i] = there
	}
	return all, nil
}

// putKeys writes the records in place of what stands there.
func (s *Store) putKeys(ctx context.Context, records []registry.Written, there []api.KVPairs, session string) error {
	var operations api.TxnOps
	size := 0
	commit := func() error {
		err := s.commit(ctx, operations)
		operations, size = nil, 0
		return err
	}
	for i := range records {
		w := &records[i]
		for _, pair := range there[i] {
			operations = append(operations, operation(api.KVDeleteCAS, &api.KVTxnOp{Key: pair.Key, Index: pair.ModifyIndex}))
			if len(operations) == maxTxn-1 { // of rubbish that somebody has put there
				if err := commit(); err != nil {
					return err
				}
			}
		}
		operations = append(operations, operation(api.KVLock, &api.KVTxnOp{Key: s.keyOf(w), Value: w.Data, Session: session}))
		if size += len(w.Data); len(operations) >= inTxn || size >= sizeTxn || i == len(records)-1 {
			if err := commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

func operation(verb api.KVOp, what *api.KVTxnOp) *api.TxnOp {
	what.Verb = verb
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

// renewKeys says that the server is alive. It fails if the session is over, or a record is lost.
func (s *Store) renewKeys(ctx context.Context, records []registry.Written, session string) error {
	within := min(s.lease, answersWithin)
	q, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	entry, _, err := s.client.Session().Renew(session, (&api.WriteOptions{}).WithContext(q))
	if err != nil {
		return err
	}
	if entry == nil {
		return errors.New("the session is over")
	}
	for i := range records {
		w := &records[i]
		there, err := s.standing(ctx, w, within)
		if err != nil {
			return err
		}
		if err := s.check(w, there); err != nil {
			return err
		}
	}
	return nil
}

// check reports that a record is not the first that stands there of its id, which is the one that counts.
func (s *Store) check(w *registry.Written, there api.KVPairs) error {
	if len(there) == 0 || there[0].Key != s.keyOf(w) {
		for _, pair := range there {
			if err := s.replaces(w, pair); err != nil {
				return err // who has written at the same time
			}
		}
		return fmt.Errorf("%s is gone", w.Key())
	}
	if string(there[0].Value) != string(w.Data) {
		return fmt.Errorf("%s was written by somebody else", w.Key())
	}
	return nil
}
