// Package zookeeper has servers published in ZooKeeper, and finds them there (spec/registry.md 3, 10.3). A program that
// imports it may open registries named zookeeper:HOST:PORT,…/ROOT?lease=SECONDS.
//
//	import _ "github.com/trunkcall/trunkcall/go/zookeeper"
//
//	store, err := registry.OpenStore("zookeeper:127.0.0.1:2181")
package zookeeper

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/trunkcall/trunkcall/go/registry"
)

const (
	defaultRoot  = "trunkcall/v1"
	defaultLease = 15 * time.Second

	reachedWithin = 10 * time.Second
	withdrawsIn   = 5 * time.Second
	maxPacket     = 16 << 20 // what ZooKeeper may send at once, in bytes: the names of 100,000 nodes
)

func init() { registry.AddScheme("zookeeper", open) }

func open(rest string) (registry.Source, error) {
	p, ok := registry.ParsePlace(rest)
	if !ok {
		return nil, errors.New("want zookeeper:HOST:PORT,…/ROOT?lease=SECONDS")
	}
	return New(p.Hosts, Options{Root: p.Root, Lease: p.Lease})
}

// Options are what a Store does unlike others.
type Options struct {
	// Root is the node above all others, names with "/" between them: "trunkcall/v1" unless given.
	Root string
	// Lease is the time of a session, for which a server counts that is not heard of, in whole seconds: 15 s unless
	// given. ZooKeeper has bounds of its own.
	Lease time.Duration
	// ACL is what may be done with the nodes that are made, by default anything by anybody.
	ACL []zk.ACL
	// Scheme and Auth are what clients say of themselves, such as "digest" and "user:password".
	Scheme string
	Auth   []byte
	// Dial opens a connection, such as one of TLS. By default it is net.DialTimeout.
	Dial zk.Dialer
}

// Store is a registry in ZooKeeper.
type Store struct {
	hosts   []string
	root    string // with a slash before and none behind it
	options Options
}

var _ registry.Store = (*Store)(nil)

// New is a registry in the ZooKeeper of servers, each HOST:PORT. Each server that is published and each service that is
// watched has a session of its own.
func New(hosts []string, o Options) (*Store, error) {
	place := registry.Place{Root: o.Root, Lease: o.Lease}
	if err := place.Check(); err != nil {
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	if len(hosts) == 0 {
		return nil, errors.New("zookeeper: want at least one HOST:PORT")
	}
	if o.Root == "" {
		o.Root = defaultRoot
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if o.ACL == nil {
		o.ACL = zk.WorldACL(zk.PermAll)
	}
	if o.Dial == nil {
		o.Dial = net.DialTimeout
	}
	return &Store{hosts: hosts, root: "/" + o.Root, options: o}, nil
}
