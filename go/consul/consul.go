// Package consul has servers published in Consul, and finds them there (spec/registry.md 3, 10.4, 10.5). A program that
// imports it may open registries named consul:HOST:PORT/ROOT?lease=SECONDS, the agent's address: without a root, servers
// are services of Consul's catalog; with one, keys under it, which is for services of more than a thousand instances.
//
//	import _ "github.com/trunkcall/trunkcall/go/consul"
//
//	store, err := registry.OpenStore("consul:127.0.0.1:8500")
package consul

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/trunkcall/trunkcall/go/registry"
)

const (
	defaultLease = 15 * time.Second
	renewals     = 3                // of a lease
	forgotten    = 60 * time.Second // after which an instance that is critical is removed: Consul's least

	answersWithin = 10 * time.Second
	withdrawsIn   = 5 * time.Second
)

func init() { registry.AddScheme("consul", open) }

func open(rest string) (registry.Source, error) {
	p, ok := registry.ParsePlace(rest)
	if !ok || len(p.Hosts) != 1 {
		return nil, errors.New("want consul:HOST:PORT/ROOT?lease=SECONDS")
	}
	config := api.DefaultConfig()
	config.Address = p.Hosts[0]
	return New(config, Options{Root: p.Root, Lease: p.Lease})
}

// Options are what a Store does unlike others.
type Options struct {
	// Root has servers published as keys under it, names with "/" between them, and not as services of the catalog.
	Root string
	// Lease is for how long a server counts that is not heard of, in whole seconds: 15 s unless given, and 20 s at least
	// with a root.
	Lease time.Duration
}

// Store is a registry in Consul, by one agent.
type Store struct {
	config api.Config
	client *api.Client
	root   string // "": the catalog
	lease  time.Duration
	own    bool // nobody else uses the HTTP client
	now    func() time.Time
}

var _ registry.Store = (*Store)(nil)

// New is a registry in Consul, by the agent that config leads to, with its TLS and its token. What config says of the
// environment counts.
func New(config *api.Config, o Options) (*Store, error) {
	place := registry.Place{Root: o.Root, Lease: o.Lease}
	if err := place.Check(); err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	s := &Store{config: *config, root: o.Root, lease: o.Lease, own: config.HttpClient == nil, now: time.Now}
	var err error
	s.client, err = api.NewClient(&s.config) // which completes it
	return s, err
}

// rest closes connections that are idle: an agent bounds how many one address may have.
func (s *Store) rest() {
	if s.own {
		s.config.HttpClient.CloseIdleConnections()
	}
}

// Keep is registry.Store.
func (s *Store) Keep(ctx context.Context, records []registry.Written, published func()) error {
	defer s.rest()
	if s.root != "" {
		return s.keepKeys(ctx, records, published)
	}
	if err := s.put(ctx, records); err != nil {
		if ctx.Err() != nil {
			return s.withdraw(ctx, records) // some may have been written
		}
		return err
	}
	published()
	return s.hold(ctx, func() (time.Duration, error) {
		for i := range records {
			if err := s.renew(ctx, &records[i]); err != nil {
				return 0, err
			}
		}
		return s.third(), nil
	}, func() error { return s.withdraw(ctx, records) })
}

// third is how long it is from one renewal to the next.
func (s *Store) third() time.Duration { return s.lease / renewals }

// hold renews what is published until ctx is over; then it withdraws it. To renew returns how long behind its beginning
// it is to be done again.
func (s *Store) hold(ctx context.Context, renew func() (time.Duration, error), withdraw func() error) error {
	next := time.NewTimer(s.third())
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return withdraw()
		}
		began := time.Now()
		pause, err := renew()
		if ctx.Err() != nil {
			return withdraw()
		}
		if err != nil {
			return err
		}
		next.Reset(pause - time.Since(began))
	}
}

// query is that of a request that is answered in time.
func query(ctx context.Context, within time.Duration) (*api.QueryOptions, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, within)
	return (&api.QueryOptions{}).WithContext(ctx), cancel
}

// put registers the records, unless one is another server's that is alive.
func (s *Store) put(ctx context.Context, records []registry.Written) error {
	for i := range records {
		q, cancel := query(ctx, answersWithin)
		state, there, err := s.client.Agent().AgentHealthServiceByIDOpts(records[i].Key(), q)
		cancel()
		if err != nil {
			return err
		}
		if there != nil && there.Service != nil && state != api.HealthCritical {
			if err := records[i].Replaces(joined(there.Service.Meta)); err != nil {
				return err
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	for i := range records {
		options := api.ServiceRegisterOpts{ReplaceExistingChecks: true}.WithContext(ctx)
		if err := s.client.Agent().ServiceRegisterOpts(s.registration(&records[i]), options); err != nil {
			return fmt.Errorf("%s: %w", records[i].Key(), err)
		}
	}
	return nil
}

func (s *Store) registration(w *registry.Written) *api.AgentServiceRegistration {
	host, port := addressOf(w)
	return &api.AgentServiceRegistration{
		ID: w.Key(), Name: w.Service, Meta: pieces(w.Data), Address: host, Port: port,
		Check: &api.AgentServiceCheck{
			CheckID: checkOf(w), Status: api.HealthPassing,
			TTL: s.lease.String(), DeregisterCriticalServiceAfter: forgotten.String(),
		},
	}
}

func checkOf(w *registry.Written) string { return "service:" + w.Key() }

// renew says that a record's server is alive. It fails if Consul no longer has what was registered.
func (s *Store) renew(ctx context.Context, w *registry.Written) error {
	q, cancel := query(ctx, min(s.lease, answersWithin))
	defer cancel()
	if err := s.client.Agent().UpdateTTLOpts(checkOf(w), "", api.HealthPassing, q); err != nil {
		return err
	}
	there, _, err := s.client.Agent().Service(w.Key(), q)
	if err == nil && string(joined(there.Meta)) != string(w.Data) {
		err = fmt.Errorf("%s was written by somebody else", w.Key())
	}
	return err
}

// withdraw deregisters what still is what was registered.
func (s *Store) withdraw(ctx context.Context, records []registry.Written) error {
	q, cancel := query(context.WithoutCancel(ctx), withdrawsIn)
	defer cancel()
	var failed error
	for i := range records {
		w := &records[i]
		there, _, err := s.client.Agent().Service(w.Key(), q)
		if err == nil && string(joined(there.Meta)) == string(w.Data) {
			err = s.client.Agent().ServiceDeregisterOpts(w.Key(), q)
		}
		if status := (api.StatusError{}); err != nil && (!errors.As(err, &status) || status.Code != 404) {
			failed = errors.Join(failed, fmt.Errorf("withdrawing %s: %w", w.Key(), err))
		}
	}
	return failed
}
