// Package etcd has servers published in etcd, and finds them there (spec/registry.md 3, 10.2). A program that imports it
// may open registries named etcd:HOST:PORT,…/ROOT?lease=SECONDS.
//
//	import _ "github.com/trunkcall/trunkcall/go/etcd"
//
//	store, err := registry.OpenStore("etcd:127.0.0.1:2379")
package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trunkcall/trunkcall/go/registry"
)

const (
	defaultRoot  = "trunkcall/v1"
	defaultLease = 15 * time.Second
	renewals     = 3 // of a lease

	// A server that says nothing is asked for a sign of life, and has so long to give one.
	asksAfter     = 10 * time.Second
	answersWithin = 10 * time.Second
	withdrawsIn   = 5 * time.Second

	page       = 256     // entries that are asked for at once
	maxMessage = 8 << 20 // what etcd may send at once, in bytes; a value of it is at most 1.5 MiB
	inTxn      = 60      // records of one transaction, of which etcd allows 128 operations
)

func init() { registry.AddScheme("etcd", open) }

func open(rest string) (registry.Source, error) {
	p, ok := registry.ParsePlace(rest)
	if !ok {
		return nil, errors.New("want etcd:HOST:PORT,…/ROOT?lease=SECONDS")
	}
	return New(clientv3.Config{Endpoints: p.Hosts}, Options{Root: p.Root, Lease: p.Lease})
}

// Options are what a Store does unlike others.
type Options struct {
	// Root is above all keys, names with "/" between them: "trunkcall/v1" unless given.
	Root string
	// Lease is for how long a server counts that is not heard of, in whole seconds: 15 s unless given.
	Lease time.Duration
}

// Store is a registry in etcd.
type Store struct {
	config clientv3.Config
	root   string // with a slash before and behind it
	lease  time.Duration
}

var _ registry.Store = (*Store)(nil)

// New is a registry in the etcd that config leads to, with its TLS and its user. Each server that is published and each
// service that is watched has a client of its own.
func New(config clientv3.Config, o Options) (*Store, error) {
	place := registry.Place{Root: o.Root, Lease: o.Lease}
	if err := place.Check(); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	if o.Root == "" {
		o.Root = defaultRoot
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	if config.DialKeepAliveTime == 0 {
		config.DialKeepAliveTime, config.DialKeepAliveTimeout = asksAfter, answersWithin
	}
	if config.MaxCallRecvMsgSize == 0 {
		config.MaxCallRecvMsgSize = maxMessage
	}
	if config.DialTimeout == 0 {
		config.DialTimeout = answersWithin // else a user's token is waited for without end
	}
	if config.MaxUnaryRetries == 0 {
		config.MaxUnaryRetries = uint(len(config.Endpoints)) + 1 // each is tried; the pauses after that are the registry's
	}
	if config.Logger == nil {
		config.Logger = zap.NewNop() // what fails is returned, and told by the registry
	}
	return &Store{config: config, root: "/" + o.Root + "/", lease: o.Lease}, nil
}

// open makes a client. It fails, and says why, if etcd cannot be reached: of all else the library would wait for that.
func (s *Store) open(ctx context.Context) (*clientv3.Client, error) {
	if s.config.Username != "" { // the library waits for a user's token, and does not say why there is none
		nobody := s.config
		nobody.Username, nobody.Password = "", ""
		client, err := s.reached(ctx, nobody)
		if err != nil {
			return nil, err
		}
		_ = client.Close()
	}
	return s.reached(ctx, s.config)
}

// reached makes a client of an etcd that can be reached.
func (s *Store) reached(ctx context.Context, config clientv3.Config) (*clientv3.Client, error) {
	client, err := newClient(ctx, config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	request := &pb.RangeRequest{Key: []byte(s.root), CountOnly: true}
	_, err = pb.NewKVClient(client.ActiveConnection()).Range(ctx, request, grpc.WaitForReady(false))
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		_ = client.Close()
		return nil, err
	}
	return client, nil // what else is wrong is said of what is wanted
}

// newClient makes one, and has a token of the user told, which the library waits for whatever becomes of ctx.
func newClient(ctx context.Context, config clientv3.Config) (*clientv3.Client, error) {
	type result struct {
		client *clientv3.Client
		err    error
	}
	made := make(chan result, 1)
	go func() {
		client, err := clientv3.New(config)
		made <- result{client, err}
	}()
	select {
	case one := <-made:
		return one.client, one.err
	case <-ctx.Done():
		go func() {
			if one := <-made; one.err == nil {
				_ = one.client.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// Watch is registry.Source.
func (s *Store) Watch(ctx context.Context, service string, w *registry.Watcher) error {
	return s.named(s.watch(ctx, service, w))
}

// named has the error of an etcd that is not reached say which.
func (s *Store) named(err error) error {
	said, ok := status.FromError(err)
	if err == nil || !ok || said.Code() != codes.Unavailable && said.Code() != codes.DeadlineExceeded {
		return err
	}
	return fmt.Errorf("etcd %s: %s", strings.Join(s.config.Endpoints, ","), said.Message())
}

func (s *Store) watch(ctx context.Context, service string, w *registry.Watcher) error {
	client, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	l := looking{client: client, prefix: s.root + service + "/"}
	entries, revision, err := l.all(ctx)
	if err != nil {
		return err
	}
	w.All(entries)
	// The stream itself, not the library's watcher on it, which hides that etcd cannot be reached.
	stream, err := pb.NewWatchClient(client.ActiveConnection()).Watch(ctx)
	if err != nil {
		return err
	}
	err = stream.Send(created(&pb.WatchCreateRequest{
		Key: []byte(l.prefix), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(l.prefix)), StartRevision: revision + 1, Fragment: true,
	}))
	if err != nil {
		return err
	}
	for {
		answer, err := receive(stream)
		if err != nil {
			return err
		}
		came, went, err := l.changed(answer)
		if err != nil {
			return err
		}
		if len(came)+len(went) > 0 {
			w.Change(came, went)
		}
	}
}

func created(r *pb.WatchCreateRequest) *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}
}

// receive takes the next answer. That a watch was ended by etcd is an error.
func receive(stream pb.Watch_WatchClient) (*pb.WatchResponse, error) {
	answer, err := stream.Recv()
	switch {
	case err != nil:
		return nil, err
	case answer.CompactRevision != 0:
		return nil, fmt.Errorf("etcd has forgotten what changed up to its revision %d", answer.CompactRevision)
	case answer.Canceled:
		return nil, fmt.Errorf("etcd ended the watch: %s", answer.CancelReason)
	}
	return answer, nil
}

// looking is what a watcher knows of a service.
type looking struct {
	client  *clientv3.Client
	prefix  string
	account registry.Account
}

// errForm is for what etcd does not say: a proxy or another program has answered.
var errForm = errors.New("etcd has answered in another form than it should")

// all are all entries, and the revision at which they stood there.
func (l *looking) all(ctx context.Context) (entries []registry.Entry, revision int64, err error) {
	entries = []registry.Entry{}
	from, limit := l.prefix, int64(page)
	for {
		part, err := l.part(ctx, from, limit, revision)
		if status.Code(err) == codes.ResourceExhausted && limit > 1 { // they are longer than records
			limit /= 2
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		for _, kv := range part.Kvs {
			if string(kv.Key) < from { // which might have no end
				return nil, 0, errors.New("etcd has answered with keys that do not ascend")
			}
			from = string(kv.Key) + "\x00"
			e, err := l.account.Put(strings.TrimPrefix(string(kv.Key), l.prefix), kv.Value)
			if err != nil {
				return nil, 0, err
			}
			entries = append(entries, e)
		}
		revision = part.Header.Revision
		if !part.More || len(part.Kvs) == 0 {
			return entries, revision, nil
		}
	}
}

func (l *looking) part(ctx context.Context, from string, limit, revision int64) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	part, err := l.client.Get(ctx, from, clientv3.WithRange(clientv3.GetPrefixRangeEnd(l.prefix)), clientv3.WithLimit(limit), clientv3.WithRev(revision))
	switch {
	case err != nil:
	case part.Header == nil:
		err = errForm
	case revision != 0:
		part.Header.Revision = revision // that of the first part, whatever etcd is at by now
	}
	return part, err
}

// changed is what came and went by the events of an answer, of each id by the last.
func (l *looking) changed(answer *pb.WatchResponse) (came []registry.Entry, went []string, err error) {
	last := make(map[string]*clientv3.Event, len(answer.Events))
	for _, event := range answer.Events {
		if event.Kv == nil {
			return nil, nil, errForm
		}
		last[strings.TrimPrefix(string(event.Kv.Key), l.prefix)] = event
	}
	for id, event := range last {
		if event.Type == clientv3.EventTypeDelete {
			l.account.Remove(id)
			went = append(went, id)
			continue
		}
		e, err := l.account.Put(id, event.Kv.Value)
		if err != nil {
			return nil, nil, err
		}
		came = append(came, e)
	}
	return came, went, nil
}
