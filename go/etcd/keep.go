package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/trunkcall/trunkcall/go/registry"
)

// Keep is registry.Store.
func (s *Store) Keep(ctx context.Context, records []registry.Written, published func()) error {
	return s.named(s.keep(ctx, records, published))
}

func (s *Store) keep(ctx context.Context, records []registry.Written, published func()) error {
	client, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx = clientv3.WithRequireLeader(ctx)
	own, cancel := context.WithCancel(context.WithoutCancel(ctx)) // what withdraws
	defer cancel()
	k := keeping{store: s, client: client, records: records}
	err = k.put(ctx)
	switch {
	case err != nil && ctx.Err() != nil && k.lease != 0: // they may have been written
		return k.withdraw(own)
	case err != nil:
		return err
	}
	published()
	var running sync.WaitGroup
	ended := make(chan error, 2)
	running.Go(func() { ended <- k.renew(own) })
	running.Go(func() { ended <- k.watch(own) })
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = k.withdraw(own)
	}
	cancel()
	running.Wait()
	return err
}

// keeping is what Keep works with.
type keeping struct {
	store   *Store
	client  *clientv3.Client
	records []registry.Written
	written []int64 // at which revision each was
	lease   clientv3.LeaseID
}

func (k *keeping) key(w *registry.Written) string { return k.store.root + w.Key() }

// put writes the records under a new lease, unless one is another server's.
func (k *keeping) put(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	seen := make([]int64, len(k.records)) // revisions of what stands there
	for i := range k.records {
		found, err := k.client.Get(ctx, k.key(&k.records[i]))
		if err != nil {
			return err
		}
		for _, kv := range found.Kvs {
			if err := k.records[i].Replaces(kv.Value); err != nil {
				return err
			}
			seen[i] = kv.ModRevision
		}
	}
	granted, err := k.client.Grant(ctx, int64(k.store.lease/time.Second))
	if err != nil {
		return err
	}
	k.lease = granted.ID
	at := 0
	for part := range slices.Chunk(k.records, inTxn) {
		var unchanged []clientv3.Cmp
		var puts []clientv3.Op
		for i := range part {
			key := k.key(&part[i])
			unchanged = append(unchanged, clientv3.Compare(clientv3.ModRevision(key), "=", seen[at]))
			puts = append(puts, clientv3.OpPut(key, string(part[i].Data), clientv3.WithLease(k.lease)))
			at++
		}
		done, err := k.client.Txn(ctx).If(unchanged...).Then(puts...).Commit()
		switch {
		case err != nil:
			return err
		case !done.Succeeded:
			return errors.New("another server has published there at the same time")
		}
		k.written = append(k.written, slices.Repeat([]int64{done.Header.Revision}, len(part))...)
	}
	return nil
}

// renew keeps the lease alive until it is lost.
func (k *keeping) renew(ctx context.Context) error {
	stream, err := pb.NewLeaseClient(k.client.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		return err
	}
	answers := make(chan error, 1)
	go func() {
		for {
			answer, err := stream.Recv()
			if err == nil && answer.TTL <= 0 {
				err = errors.New("the lease was lost")
			}
			select {
			case answers <- err:
			case <-ctx.Done():
			}
			if err != nil {
				return
			}
		}
	}()
	each := time.NewTicker(k.store.lease / renewals)
	defer each.Stop()
	silent := time.NewTimer(k.store.lease)
	defer silent.Stop()
	for {
		select {
		case <-each.C:
			if err := stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(k.lease)}); err != nil {
				_ = stream.CloseSend() // the receiver says why
			}
		case err := <-answers:
			if err != nil {
				return err
			}
			silent.Reset(k.store.lease)
		case <-silent.C:
			return fmt.Errorf("etcd has not answered for %v", k.store.lease)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch returns when a record is no longer what was written. It watches from the revision behind that at which it was:
// what begins at an earlier one etcd has to catch up with, and is slow where many do.
func (k *keeping) watch(ctx context.Context) error {
	stream, err := pb.NewWatchClient(k.client.ActiveConnection()).Watch(ctx)
	if err != nil {
		return err
	}
	byKey := map[string]*registry.Written{}
	for i := range k.records {
		w := &k.records[i]
		byKey[k.key(w)] = w
		if err := stream.Send(created(&pb.WatchCreateRequest{Key: []byte(k.key(w)), StartRevision: k.written[i] + 1})); err != nil {
			break // receiving says why
		}
	}
	for {
		answer, err := receive(stream)
		if err != nil {
			return err
		}
		for _, event := range answer.Events {
			w := byKey[string(event.Kv.Key)]
			if w != nil && (event.Type == clientv3.EventTypeDelete || string(event.Kv.Value) != string(w.Data)) {
				return fmt.Errorf("%s was removed, or written by somebody else", w.Key())
			}
		}
	}
}

// withdraw gives the lease back, and with it goes what still stands under it.
func (k *keeping) withdraw(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, withdrawsIn)
	defer cancel()
	if _, err := k.client.Revoke(ctx, k.lease); err != nil {
		return fmt.Errorf("withdrawing: %w", err)
	}
	return nil
}
