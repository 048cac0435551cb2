// Package registry publishes servers in a registry, and finds them there (spec/registry.md).
//
//	Record     what a registry holds of one instance of a server for one service
//	Registrar  publishes a server: when it listens, until it is about to stop
//	Resolver   finds the endpoints of a service for a client
//	Source     where instances are found: Embedded, Folder, SRV, or one of your own
//	Store      a Source in which servers are published too
//	Open       makes one by its name: "trunkcall:127.0.0.1:4001", "file:/run/trunkcall"
//	Server     the embedded registry, which any process may serve: the default on one machine
//
// A server that is found, and a client that finds it:
//
//	store := registry.NewEmbedded("127.0.0.1:4001")
//	server, err := trunkcall.NewServer(trunkcall.WithRegistrar(registry.NewRegistrar(store, registry.Published{})))
//
//	client, err := trunkcall.NewClient("registry:example.Greeter",
//		trunkcall.WithResolver("registry", registry.Resolver(store, nil)))
package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Source is where the instances of services are found. It is safe for concurrent use.
type Source interface {
	// Watch tells w of the entries of a service, all of them at first and then each change, until ctx ends. After an
	// error it is called again, later each time, and tells of all entries again. What was found meanwhile stays.
	Watch(ctx context.Context, service string, w *Watcher) error
}

// Store is a Source in which servers are published. It is safe for concurrent use.
type Store interface {
	Source
	// Keep puts the bytes of records under their keys, calls published when they stand there, and keeps them alive
	// until ctx ends. Then it withdraws those that are still its own, for 5 seconds at most, and returns. After an
	// error, also where the records or their lease were lost, it is called again, later each time.
	Keep(ctx context.Context, records []Written, published func()) error
}

// Written is a record, and its bytes.
type Written struct {
	Record

	Data []byte
}

var (
	schemesMu sync.Mutex
	schemes   = map[string]func(rest string) (Source, error){"file": openFolder, "srv": openSRV, "trunkcall": openEmbedded}
	// The forms of spec/registry.md 4.
	schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)
	domainForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*$`)
)

// AddScheme has Open make registries of a scheme, given what follows it. Packages of registries call it when the program
// starts. It takes the place of what was there for that scheme.
func AddScheme(scheme string, open func(rest string) (Source, error)) {
	if !schemeForm.MatchString(scheme) {
		panic(fmt.Sprintf("registry: scheme %q: want small letters, and digits, +, . and - behind the first", scheme))
	}
	schemesMu.Lock()
	defer schemesMu.Unlock()
	schemes[scheme] = open
}

// Open makes a registry by its name, SCHEME:REST: trunkcall:ADDRESS, file:FOLDER with an absolute path, srv:DOMAIN, or of a scheme that
// another package has added. All but SRV are a Store. The error quotes the name and says what is wrong with it.
func Open(name string) (Source, error) {
	scheme, rest, found := strings.Cut(name, ":")
	if !found || !schemeForm.MatchString(scheme) {
		return nil, fmt.Errorf(`registry "%s": want SCHEME:REST`, name)
	}
	schemesMu.Lock()
	open := schemes[scheme]
	schemesMu.Unlock()
	if open == nil {
		return nil, fmt.Errorf(`registry "%s": no package for "%s" is in this program: %s`, name, scheme, advice(scheme))
	}
	s, err := open(rest)
	if err != nil {
		return nil, fmt.Errorf(`registry "%s": %w`, name, err)
	}
	return s, nil
}

// advice is what there is instead of a scheme, and what to import for one that a module of ours has.
func advice(scheme string) string {
	schemesMu.Lock()
	there := "there are " + strings.Join(slices.Sorted(maps.Keys(schemes)), ", ")
	schemesMu.Unlock()
	switch scheme {
	case "consul", "etcd", "zookeeper":
		return there + "; import github.com/trunkcall/trunkcall/go/" + scheme
	}
	return there
}

// OpenStore is Open for a registry in which servers are published.
func OpenStore(name string) (Store, error) {
	s, err := Open(name)
	if err != nil {
		return nil, err
	}
	store, ok := s.(Store)
	if !ok {
		return nil, fmt.Errorf(`registry "%s": servers are found there, but not published`, name)
	}
	return store, nil
}

func openFolder(rest string) (Source, error) {
	if !filepath.IsAbs(rest) {
		return nil, errors.New("want file:FOLDER with an absolute path")
	}
	return NewFolder(rest), nil
}

func openSRV(rest string) (Source, error) {
	if len(rest) > 253 || !domainForm.MatchString(rest) {
		return nil, errors.New("want srv:DOMAIN")
	}
	return NewSRV(rest, nil), nil
}
