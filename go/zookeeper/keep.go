package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/trunkcall/trunkcall/go/registry"
)

const inMulti = 24 // records of one request, of which ZooKeeper takes less than a MiB

// Keep is registry.Store.
func (s *Store) Keep(ctx context.Context, records []registry.Written, published func()) error {
	n, err := s.open(ctx, s.options.Lease)
	if err != nil {
		return err
	}
	k := keeping{session: n, store: s, records: records}
	// Nobody waits for an answer longer than withdrawing may take.
	over := context.AfterFunc(ctx, func() { time.AfterFunc(withdrawsIn, n.giveUp) })
	defer over()
	err = k.put(ctx)
	if err == nil {
		published()
		err = k.watch(ctx)
	}
	if ctx.Err() != nil {
		err = k.withdraw()
		n.end()
		return err
	}
	err = n.because(err)
	n.giveUp() // the nodes stay until they are written again, or the session is over
	return err
}

// keeping is what Keep works with.
type keeping struct {
	*session

	store   *Store
	records []registry.Written
}

func (k *keeping) path(w *registry.Written) string { return k.store.root + "/" + w.Key() }

// put makes the nodes, unless what stands there is another server's.
func (k *keeping) put(ctx context.Context) error {
	var operations []any
	for i := range k.records {
		w := &k.records[i]
		data, stat, err := k.conn.Get(k.path(w))
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err := k.above(w); err != nil {
				return err
			}
		case err != nil:
			return fmt.Errorf("%s: %w", k.path(w), err)
		default:
			if err := w.Replaces(data); err != nil {
				return err
			}
			operations = append(operations, &zk.DeleteRequest{Path: k.path(w), Version: stat.Version})
		}
		operations = append(operations, &zk.CreateRequest{Path: k.path(w), Data: w.Data, Acl: k.store.options.ACL, Flags: zk.FlagEphemeral})
		if (i+1)%inMulti != 0 && i+1 < len(k.records) {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := k.multi(operations); err != nil {
			return err
		}
		operations = nil
	}
	return nil
}

// multi carries out operations, all or none.
func (k *keeping) multi(operations []any) error {
	done, err := k.conn.Multi(operations...)
	if err == nil {
		return nil
	}
	at := slices.IndexFunc(done, func(one zk.MultiResponse) bool { return one.Error != nil })
	if at < 0 || at >= len(operations) {
		return err
	}
	path := ""
	switch one := operations[at].(type) {
	case *zk.DeleteRequest:
		path = one.Path
	case *zk.CreateRequest:
		path = one.Path
	}
	return fmt.Errorf("%s: %w", path, done[at].Error)
}

// above makes the nodes above a record's, where they are not there. They stay.
func (k *keeping) above(w *registry.Written) error {
	path := ""
	for name := range strings.SplitSeq(strings.TrimPrefix(k.store.root+"/"+w.Service, "/"), "/") {
		path += "/" + name
		if _, err := k.conn.Create(path, nil, zk.FlagPersistent, k.store.options.ACL); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// watch returns when a node no longer holds what was written, or the session is over.
func (k *keeping) watch(ctx context.Context) error {
	own := map[string]*registry.Written{}
	for i := range k.records {
		own[k.path(&k.records[i])] = &k.records[i]
	}
	for path, w := range own {
		if err := k.look(path, w); err != nil {
			return err
		}
	}
	late := time.NewTimer(time.Hour)
	defer late.Stop()
	for {
		select {
		case <-k.told:
		case <-late.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		nodes, away, err := k.changes()
		if err != nil {
			return err
		}
		if !away.IsZero() {
			late.Reset(time.Until(away.Add(k.lease)))
			if len(nodes) > 0 { // looked at again when it is connected
				k.again(nodes)
			}
			continue
		}
		for _, path := range nodes {
			if w := own[path]; w != nil {
				if err := k.look(path, w); err != nil {
					return err
				}
			}
		}
	}
}

// look sets a watch on a node, whoever's it is by now. It fails if that does not hold what was written. Where the
// connection has ended meanwhile it is looked at again once there is another.
func (k *keeping) look(path string, w *registry.Written) error {
	data, _, _, err := k.conn.GetW(path)
	var network net.Error
	switch lost := errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) || errors.As(err, &network); {
	case lost && k.readable():
		k.again([]string{path})
		return nil
	case errors.Is(err, zk.ErrNoNode), err == nil && string(data) != string(w.Data):
		return fmt.Errorf("%s was removed, or written by somebody else", w.Key())
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// withdraw removes the nodes that are the session's own.
func (k *keeping) withdraw() error {
	var failed error
	for i := range k.records {
		path := k.path(&k.records[i])
		there, stat, err := k.conn.Exists(path)
		if err == nil && there && stat.EphemeralOwner == k.conn.SessionID() {
			err = k.conn.Delete(path, stat.Version)
		}
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			failed = errors.Join(failed, fmt.Errorf("withdrawing %s: %w", path, err))
		}
	}
	return failed
}
