package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// session is one with ZooKeeper. Within its time the library connects again by itself, and sets the watches again. What
// it tells in its own goroutines is gathered here until it is taken.
type session struct {
	conn  *zk.Conn
	dial  zk.Dialer
	lease time.Duration
	hosts zk.DNSHostProvider // which knows all addresses of the hosts

	told chan struct{} // has a value when something changed

	mu       sync.Mutex
	changed  map[string]struct{} // the nodes whose watches have fired
	begun    bool                // there was a session
	away     time.Time           // since when it has no connection, zero if it has one
	expired  bool
	refused  int   // connections, before the session has begun
	failure  error // the last
	unread   error // why the connection was ended from here, nil once there is another
	conns    map[net.Conn]struct{}
	finished bool // nothing is to be dialled any more
}

// open begins a session of a time. It fails if no server takes it soon.
func (s *Store) open(ctx context.Context, lease time.Duration) (*session, error) {
	n := &session{
		dial: s.options.Dial, lease: lease,
		told: make(chan struct{}, 1), changed: map[string]struct{}{}, conns: map[net.Conn]struct{}{},
	}
	conn, _, err := zk.Connect(s.hosts, n.lease, zk.WithDialer(n.connect), zk.WithEventCallback(n.take),
		zk.WithHostProvider(&n.hosts), zk.WithLogger(silent{}), zk.WithLogInfo(false), zk.WithMaxBufferSize(maxPacket))
	if err != nil {
		return nil, err
	}
	n.conn = conn
	late := time.NewTimer(reachedWithin)
	defer late.Stop()
	for {
		switch begun, err := n.hasBegun(); {
		case err != nil:
			n.giveUp()
			return nil, err
		case begun:
			if s.options.Scheme != "" {
				err = conn.AddAuth(s.options.Scheme, s.options.Auth)
			}
			if err != nil {
				n.giveUp()
			}
			return n, err
		}
		select {
		case <-n.told:
		case <-late.C:
			n.giveUp()
			return nil, fmt.Errorf("ZooKeeper has not answered for %v", reachedWithin)
		case <-ctx.Done():
			n.giveUp()
			return nil, ctx.Err()
		}
	}
}

// silent logs nothing: what fails is returned, and told by the registry.
type silent struct{}

func (silent) Printf(string, ...any) {}

// hasBegun reports whether there was a session yet, or why there will be none.
func (n *session) hasBegun() (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.begun && n.refused >= n.hosts.Len() {
		return false, n.failure
	}
	return n.begun, nil
}

// connect is zk.Dialer.
func (n *session) connect(network, address string, timeout time.Duration) (net.Conn, error) {
	n.mu.Lock()
	finished := n.finished
	n.mu.Unlock()
	if finished {
		return nil, errGivenUp
	}
	conn, err := n.dial(network, address, timeout)
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err != nil:
		n.refused++
		n.failure = err
		n.tell()
		return nil, err
	case n.finished:
		_ = conn.Close()
		return nil, errGivenUp
	}
	clear(n.conns) // those before have ended
	n.conns[conn] = struct{}{}
	return newChecked(conn, n.cannotRead), nil
}

var errGivenUp = errors.New("the session was given up")

// cannotRead takes note of an answer that cannot be read.
func (n *session) cannotRead(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.failure, n.unread = err, err
}

// readable reports whether no answer has been of a form that ends the connection.
func (n *session) readable() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unread == nil
}

// because adds to an error why the connection was ended from here, if it was.
func (n *session) because(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil || n.unread == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, n.unread)
}

// take is zk.EventCallback.
func (n *session) take(e zk.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case e.Type != zk.EventSession:
		if e.Type != zk.EventNotWatching {
			n.changed[e.Path] = struct{}{}
		}
	case e.State == zk.StateHasSession:
		n.begun, n.away, n.unread = true, time.Time{}, nil
	case e.State == zk.StateExpired:
		n.expired = true
	case e.State == zk.StateDisconnected && n.begun && n.away.IsZero():
		n.away = time.Now()
	case e.State == zk.StateDisconnected && !n.begun:
		n.refused++ // it took the connection, and ended it
		n.failure = cmp.Or(n.failure, errors.New("ZooKeeper ended the connection"))
	}
	n.tell()
}

func (n *session) tell() {
	select {
	case n.told <- struct{}{}:
	default:
	}
}

// changes are the nodes whose watches have fired since the last time, and since when nobody was reached. The error says
// that the session is over.
func (n *session) changes() (nodes []string, away time.Time, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	nodes = slices.Collect(maps.Keys(n.changed))
	clear(n.changed)
	switch {
	case n.expired:
		err = errors.New("the session has expired")
	case !n.away.IsZero() && time.Since(n.away) >= n.lease:
		err = fmt.Errorf("ZooKeeper could not be reached for %v", n.lease)
	}
	return nodes, n.away, err
}

// again has nodes told of once more.
func (n *session) again(nodes []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, node := range nodes {
		n.changed[node] = struct{}{}
	}
}

// giveUp ends the connection, not the session: what is bound to that stays until it is over. Whoever waits for an
// answer gets an error. It may be called more than once.
func (n *session) giveUp() {
	n.mu.Lock()
	n.finished = true
	for conn := range n.conns {
		_ = conn.Close()
	}
	n.mu.Unlock()
	n.end()
}

// end ends the session, if ZooKeeper can be reached; the library waits for that in a goroutine of its own.
func (n *session) end() { go n.conn.Close() }
