package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/trunkcall/trunkcall/go/registry"
)

const askedAtOnce = 64 // nodes

// Watch is registry.Source.
func (s *Store) Watch(ctx context.Context, service string, w *registry.Watcher) error {
	n, err := s.open(ctx, min(s.options.Lease, defaultLease)) // nothing is bound to it, and silence is to be noticed
	if err != nil {
		return err
	}
	defer n.end()
	defer context.AfterFunc(ctx, n.giveUp)() // so that nobody waits for an answer
	l := looking{session: n, folder: s.root + "/" + service}
	if err := l.all(w); err != nil {
		return l.why(ctx, err)
	}
	for {
		select {
		case <-n.told:
		case <-ctx.Done():
			return ctx.Err()
		}
		nodes, away, err := n.changes()
		if err == nil && !away.IsZero() {
			err = errors.New("the connection to ZooKeeper has ended")
		}
		if err == nil {
			err = l.changed(nodes, w)
		}
		if err != nil {
			return l.why(ctx, err)
		}
	}
}

// looking is what a watcher knows of a service. Each node that it knows has a watch, and so has the one above them.
type looking struct {
	*session

	folder  string
	account registry.Account
}

// why is the error, or that ctx has ended, for which the session was given up.
func (l *looking) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (l *looking) all(w *registry.Watcher) error {
	ids, err := l.list()
	if err != nil {
		return err
	}
	came, _, err := l.read(ids)
	if err == nil {
		w.All(came)
	}
	return err
}

// changed tells w of what is otherwise at the nodes whose watches have fired.
func (l *looking) changed(nodes []string, w *registry.Watcher) error {
	var ids, went []string
	listed := false
	for _, node := range nodes {
		if id, below := strings.CutPrefix(node, l.folder+"/"); below {
			ids = append(ids, id)
		} else {
			listed = true
		}
	}
	if listed {
		there, err := l.list()
		if err != nil {
			return err
		}
		known := make(map[string]struct{}, len(there))
		for _, id := range there {
			known[id] = struct{}{}
			if !l.account.Has(id) {
				ids = append(ids, id)
			}
		}
		for _, id := range l.account.IDs() {
			if _, ok := known[id]; !ok {
				went = append(went, id)
			}
		}
	}
	came, gone, err := l.read(ids)
	if err != nil {
		return err
	}
	went = append(went, gone...)
	for _, id := range went {
		l.account.Remove(id)
	}
	if len(came)+len(went) > 0 {
		w.Change(came, went)
	}
	return nil
}

// list are the ids that there are. A service that nobody has published has none.
func (l *looking) list() ([]string, error) {
	for {
		ids, _, _, err := l.conn.ChildrenW(l.folder)
		if !errors.Is(err, zk.ErrNoNode) {
			return ids, l.at(err)
		}
		there, _, _, err := l.conn.ExistsW(l.folder)
		if err != nil || !there {
			return nil, l.at(err)
		}
	}
}

func (l *looking) at(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", l.folder, err)
	}
	return nil
}

// read asks for what nodes hold, and sets a watch on each. Those that are not there are gone.
func (l *looking) read(ids []string) (came []registry.Entry, gone []string, err error) {
	came = []registry.Entry{}
	var mu sync.Mutex
	var asking sync.WaitGroup
	next := make(chan string)
	for range min(askedAtOnce, len(ids)) {
		asking.Go(func() {
			for id := range next {
				data, _, _, failed := l.conn.GetW(l.folder + "/" + id)
				mu.Lock()
				switch {
				case errors.Is(failed, zk.ErrNoNode):
					gone = append(gone, id)
				case failed != nil:
					err = fmt.Errorf("%s/%s: %w", l.folder, id, failed)
				default:
					e, full := l.account.Put(id, data)
					if full != nil {
						err = full
					}
					came = append(came, e)
				}
				mu.Unlock()
			}
		})
	}
	for _, id := range ids {
		next <- id
	}
	close(next)
	asking.Wait()
	return came, gone, err
}
