package peer

import (
	"context"
	"flag"
	"log/slog"
	"strings"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/registry"
)

// registryScheme is that of targets in a registry.
const registryScheme = "registry"

// registryFlag is --registry: where a server is published, or found.
type registryFlag struct {
	name      string
	registrar *registry.Registrar // of a server
}

func (f *registryFlag) flags(fs *flag.FlagSet, purpose string) {
	fs.StringVar(&f.name, "registry", "", "`name` of the registry "+purpose+", such as file:/run/trunkcall")
}

// server is the option of a server that is to be published.
func (f *registryFlag) server(logger *slog.Logger) ([]trunkcall.ServerOption, error) {
	if f.name == "" {
		return nil, nil
	}
	store, err := registry.OpenStore(f.name)
	if err != nil {
		return nil, usagef("--registry: %v", err)
	}
	f.registrar = registry.NewRegistrar(store, registry.Published{Logger: logger})
	return []trunkcall.ServerOption{trunkcall.WithRegistrar(f.registrar)}, nil
}

// wait returns once the server is published.
func (f *registryFlag) wait(ctx context.Context) error {
	if f.registrar == nil {
		return nil
	}
	return f.registrar.Wait(ctx)
}

// client is the option of a client whose target may be registry:SERVICE.
func (f *registryFlag) client() ([]trunkcall.ClientOption, error) {
	if f.name == "" {
		return nil, nil
	}
	source, err := registry.Open(f.name)
	if err != nil {
		return nil, usagef("--registry: %v", err)
	}
	return []trunkcall.ClientOption{trunkcall.WithResolver(registryScheme, registry.Resolver(source, nil))}, nil
}

// finds reports whether a target is found in the registry.
func (f *registryFlag) finds(target string) bool {
	return f.name != "" && strings.HasPrefix(target, registryScheme+":")
}
