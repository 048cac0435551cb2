package peer

import (
	"context"
	"encoding/json"
	"errors"
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
	instance  instanceFlag        // of a server
	registrar *registry.Registrar // of a server
}

// instanceFlag is --instance: what the record of a server says besides where it is.
type instanceFlag struct {
	text          string
	Weight        int
	Zone, Version string
	Attributes    map[string]string
}

func (f *instanceFlag) String() string { return f.text }

// Set reads it.
func (f *instanceFlag) Set(text string) error {
	f.text = text
	read := json.NewDecoder(strings.NewReader(text))
	read.DisallowUnknownFields()
	return read.Decode(f)
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
	f.registrar = registry.NewRegistrar(store, registry.Published{
		Weight: f.instance.Weight, Zone: f.instance.Zone, Version: f.instance.Version, Attributes: f.instance.Attributes,
		Logger: logger,
	})
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

// choosingFlags say which of several endpoints a client calls.
type choosingFlags struct {
	zone string
	only onlyFlag
}

func (f *choosingFlags) flags(fs *flag.FlagSet) {
	fs.StringVar(&f.zone, "zone", "", "`zone` in which the client runs, for the rules of --policy-file")
	fs.Var(&f.only, "only", "`KEY=VALUE`: call only endpoints that have this attribute, in turns")
}

func (f *choosingFlags) options() []trunkcall.ClientOption {
	var options []trunkcall.ClientOption
	if f.zone != "" {
		options = append(options, trunkcall.WithZone(f.zone))
	}
	if f.only.key != "" {
		options = append(options, trunkcall.WithBalancer(only{f.only, trunkcall.RoundRobin()}))
	}
	return options
}

// onlyFlag is an attribute.
type onlyFlag struct{ key, value string }

func (f *onlyFlag) String() string { return f.key + "=" + f.value }

// Set reads it.
func (f *onlyFlag) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found || key == "" {
		return errors.New("want KEY=VALUE")
	}
	f.key, f.value = key, value
	return nil
}

// only is a balancer as users write them: it leaves out endpoints without an attribute.
type only struct {
	attribute onlyFlag
	trunkcall.Balancer
}

// Balance leaves the choice among the others to another balancer.
func (o only) Balance(endpoints []*trunkcall.EndpointState) trunkcall.Picker {
	var found []*trunkcall.EndpointState
	for _, e := range endpoints {
		if value, there := e.Endpoint().Attributes[o.attribute.key]; there && value == o.attribute.value {
			found = append(found, e)
		}
	}
	return o.Balancer.Balance(found)
}
