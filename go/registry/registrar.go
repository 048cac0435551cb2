package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/trunkcall/trunkcall/go"
)

// Published is what is said of a server in a registry. Its fields are those of a Record, but:
type Published struct {
	// Names are the services under which the server is found, by default all that it serves but gRPC's own health and
	// reflection.
	Names []string
	// Addresses are where it is reached, by default where it listens. They are needed where it listens on all
	// addresses of a machine.
	Addresses []string
	// ID is which instance it is, by default made of its first address: a server that is started again there takes the
	// place of what it left.
	ID            string
	ServerName    string
	Weight        int // 0 says the same as 1
	Zone, Version string
	Attributes    map[string]string
	// Logger is told when the server is published, and why it is not; by default slog.Default().
	Logger *slog.Logger
}

// Registrar publishes one server: it is given to it by trunkcall.WithRegistrar. It is safe for concurrent use.
type Registrar struct {
	store  Store
	given  Published
	logger *slog.Logger

	mu        sync.Mutex
	server    *trunkcall.Server // that it publishes, nil: none yet
	listened  bool              // when it was published last
	kept      []*kept
	published chan struct{} // closed when the server was published for the first time
	withdrawn bool
}

// kept are records that are kept together.
type kept struct {
	records []Written
	stop    context.CancelFunc
	ends    bool          // it was told to stop
	stopped chan struct{} // closed when they are kept no more
}

// loggerKey is that of the registrar's logger in the context of Store.Keep, for what is no failure.
type loggerKey struct{}

func loggerOf(ctx context.Context) *slog.Logger {
	if l, ok := ctx.Value(loggerKey{}).(*slog.Logger); ok {
		return l
	}
	return slog.Default()
}

var _ trunkcall.Registrar = (*Registrar)(nil)

// NewRegistrar publishes a server in s. What is wrong with p is told when the server listens.
func NewRegistrar(s Store, p Published) *Registrar {
	r := &Registrar{store: s, given: p, logger: p.Logger, published: make(chan struct{})}
	if r.logger == nil {
		r.logger = slog.Default()
	}
	return r
}

// Publish is trunkcall.Registrar. It does not wait for the registry. What it published of a server that
// listens no more is withdrawn.
func (r *Registrar) Publish(s *trunkcall.Server) error {
	r.mu.Lock() // first, or what was seen before another call would count behind it
	defer r.mu.Unlock()
	var listening []string
	for _, address := range s.Addrs() {
		switch text := address.String(); address.Network() {
		case "tcp":
			listening = append(listening, text)
		default:
			listening = append(listening, address.Network()+":"+strings.TrimPrefix(text, address.Network()+":"))
		}
	}
	var records []Written
	if len(listening) > 0 || !r.listened { // it may be reached by protocols without listeners
		var err error
		if records, err = r.given.records(s.Services(), listening); err != nil {
			return fmt.Errorf("registry: %w", err)
		}
	}
	switch {
	case r.withdrawn:
		return errors.New("registry: a registrar publishes one server, and it was stopped")
	case r.server != nil && r.server != s:
		return errors.New("registry: a registrar publishes one server, and it has another")
	}
	r.server, r.listened = s, len(listening) > 0
	// What stays as it is stays published meanwhile, and is kept as before.
	var staying, before []*kept
	for _, k := range r.kept {
		if k.ends = k.ends || slices.ContainsFunc(k.records, func(one Written) bool { return !among(&one, records) }); k.ends {
			k.stop()
			before = append(before, k)
		} else {
			staying = append(staying, k)
		}
	}
	records = slices.DeleteFunc(records, func(one Written) bool {
		return slices.ContainsFunc(staying, func(k *kept) bool { return among(&one, k.records) })
	})
	if len(records) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(context.WithValue(context.Background(), loggerKey{}, r.logger))
	k := &kept{records: records, stop: stop, stopped: make(chan struct{})}
	r.kept = append(r.kept, k)
	go func() {
		defer r.keptNoMore(k)
		for _, one := range before {
			<-one.stopped // its records may have the same keys
		}
		r.keep(ctx, k.records)
	}()
	return nil
}

func among(one *Written, records []Written) bool {
	return slices.ContainsFunc(records, func(other Written) bool { return string(other.Data) == string(one.Data) })
}

func (r *Registrar) keptNoMore(k *kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = slices.DeleteFunc(r.kept, func(one *kept) bool { return one == k })
	close(k.stopped)
}

// keep has records kept until ctx ends.
func (r *Registrar) keep(ctx context.Context, records []Written) {
	var keys []string
	for i := range records {
		keys = append(keys, records[i].Key())
	}
	failures, told := 0, false
	for ctx.Err() == nil {
		there := false
		err := r.tryToKeep(ctx, records, func() {
			there = true
			r.logger.Info("published in a registry", "keys", keys)
			r.mu.Lock()
			defer r.mu.Unlock()
			select {
			case <-r.published:
			default:
				close(r.published)
			}
		})
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, ctx.Err()) {
				r.logger.Warn("not withdrawn from a registry in order", "keys", keys, "error", err)
			}
			return
		}
		if there {
			failures, told = 0, false
		}
		failures++
		if !told {
			told = true
			r.logger.Warn("not published in a registry", "keys", keys, "error", err)
		}
		pause(ctx, failures)
	}
}

// tryToKeep is the store's Keep. A store that panics has failed.
func (r *Registrar) tryToKeep(ctx context.Context, records []Written, published func()) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("it panicked: %v", value)
		}
	}()
	return r.store.Keep(ctx, records, published)
}

// Wait returns once the server was published for the first time.
func (r *Registrar) Wait(ctx context.Context) error {
	select {
	case <-r.published:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Withdraw is trunkcall.Registrar.
func (r *Registrar) Withdraw(ctx context.Context) error {
	r.mu.Lock()
	r.withdrawn = true
	all := slices.Clone(r.kept)
	for _, k := range all {
		k.stop()
	}
	r.mu.Unlock()
	for _, k := range all {
		select {
		case <-k.stopped:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// records are those of a server that serves services and listens (spec/registry.md 5).
func (p *Published) records(services, listening []string) ([]Written, error) {
	names := p.Names
	if len(names) == 0 {
		for _, one := range services {
			if !strings.HasPrefix(one, "grpc.health.") && !strings.HasPrefix(one, "grpc.reflection.") {
				names = append(names, one)
			}
		}
	}
	addresses := p.Addresses
	if len(addresses) == 0 {
		for _, one := range listening {
			if strings.HasPrefix(one, "0.0.0.0:") || strings.HasPrefix(one, "[::]:") {
				return nil, fmt.Errorf("%s is listened on, which is all addresses of this machine: say by which one it is reached", one)
			}
			if !strings.HasPrefix(one, "mem:") {
				addresses = append(addresses, one)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no service to publish: register services before listening, or name them")
	} else if len(addresses) == 0 {
		return nil, errAddresses
	}
	id := p.ID
	if id == "" {
		id = idOf(addresses[0])
	}
	all := make([]Written, 0, len(names))
	there := make(map[string]struct{}, len(names))
	for _, name := range names {
		if _, twice := there[name]; twice {
			continue // two records of one key would be at odds in a store
		}
		there[name] = struct{}{}
		one := Written{Record: Record{name, id, addresses, p.ServerName, p.Weight, p.Zone, p.Version, p.Attributes}}
		var err error
		if one.Data, err = one.Bytes(); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// idOf makes an id of an address (spec/registry.md 5.3).
func idOf(address string) string {
	id := make([]byte, 0, len(address)+1)
	for _, c := range address {
		if c >= utf8.RuneSelf || !inName(byte(c)) {
			c = '_'
		}
		id = append(id, byte(c))
	}
	id = id[max(len(id)-(maxID-1), 0):]
	if len(id) == 0 || id[0] == '.' || id[0] == '-' {
		return "_" + string(id)
	}
	return string(id)
}
