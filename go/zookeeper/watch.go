package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/trunkcall/trunkcall/go/registry"
)

const (
	askedAtOnce = 64                    // nodes
	atLeast     = 20 * time.Millisecond // between two lists: each is of all names
)

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
		if err == nil {
			err = l.rest(ctx)
		}
		if err != nil {
			return l.why(ctx, err)
		}
	}
}

// rest waits until the next list may be asked for. What changes until then is looked at together.
func (l *looking) rest(ctx context.Context) error {
	wait := time.Until(l.listed.Add(atLeast))
	if wait <= 0 {
		return nil
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// looking is what a watcher knows of a service. Each node that it knows has a watch, and so has the one above them.
type looking struct {
	*session

	folder  string
	account registry.Account
	names   map[string]int      // those that were listed, by the number of the list that they were in last
	unread  map[string]struct{} // those that may not be read: they are asked for again with each list
	lists   int
	listed  time.Time // when the last was asked for
}

// why is the error, or that ctx has ended, for which the session was given up.
func (l *looking) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return l.because(err)
}

func (l *looking) all(w *registry.Watcher) error {
	l.names, l.unread = map[string]int{}, map[string]struct{}{}
	ids, _, err := l.differences(nil)
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
	var fired, went []string
	listed := false
	for _, node := range nodes {
		if id, below := strings.CutPrefix(node, l.folder+"/"); below {
			fired = append(fired, id)
		} else {
			listed = true
		}
	}
	ids := fired
	if listed {
		var err error
		if ids, went, err = l.differences(fired); err != nil {
			return err
		}
	}
	came, gone, err := l.read(ids)
	if err != nil {
		return err
	}
	for _, one := range came {
		l.names[one.ID] = l.lists // one that had gone may be there again, of which no list has told
	}
	for _, id := range gone {
		delete(l.names, id)
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

// differences lists the nodes. Of those that there are it returns the ones to be read, which are new or have fired; went
// are those that there are no more.
func (l *looking) differences(fired []string) (ids, went []string, err error) {
	fired = slices.DeleteFunc(fired, func(id string) bool { _, ok := l.names[id]; return !ok }) // they are new, if they are there
	there, err := l.list()
	if err != nil {
		return nil, nil, err
	}
	l.lists++
	known := len(l.names)
	for _, id := range there {
		_, ok := l.names[id]
		if ok {
			known--
		}
		if _, unread := l.unread[id]; unread || !ok {
			ids = append(ids, id)
		}
		l.names[id] = l.lists
	}
	for _, id := range fired {
		if l.names[id] == l.lists {
			ids = append(ids, id)
		}
	}
	if known > 0 {
		for id, list := range l.names {
			if list != l.lists {
				went = append(went, id)
				delete(l.names, id)
				delete(l.unread, id)
			}
		}
	}
	return ids, went, nil
}

// list are the ids that there are. A service that nobody has published has none.
func (l *looking) list() ([]string, error) {
	l.listed = time.Now()
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
				delete(l.unread, id)
				switch {
				case errors.Is(failed, zk.ErrNoAuth):
					l.unread[id] = struct{}{}
					if _, full := l.account.Put(id, nil); full != nil {
						err = full
					}
					came = append(came, registry.Entry{ID: id, Err: errors.New("ZooKeeper does not let it be read")})
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
