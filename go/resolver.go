package trunkcall

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// parseTarget says where a target's endpoints come from: the target itself, or a resolver, which is
// given rest (client.md 6).
func parseTarget(target string, given map[string]Resolver) (static []Endpoint, scheme string, r Resolver, rest string, err error) {
	scheme, rest, found := strings.Cut(target, ":")
	if r := given[scheme]; found && r != nil {
		return nil, scheme, r, rest, nil
	}
	if found && scheme == "dns" {
		if _, _, err := hostAndPort(rest); err != nil {
			why := ""
			if host := strings.TrimLeft(rest, "/"); transport.CheckAddress(host) == nil && !strings.HasPrefix(host, ":") {
				why = "there are slashes in it, without which it is dns:" + host + ": "
			}
			return nil, "", nil, "", fmt.Errorf("target %q: %swant dns:HOST:PORT", target, why)
		}
		return nil, scheme, DNS(net.DefaultResolver), rest, nil
	}
	for part := range strings.SplitSeq(target, ",") {
		address := strings.TrimSpace(part)
		if address == "" && target != part {
			return nil, "", nil, "", fmt.Errorf("target %q: a part of it is empty", target)
		}
		if err := transport.CheckAddress(address); err != nil {
			return nil, "", nil, "", unknownScheme(address, err)
		}
		static = append(static, Endpoint{Addresses: []string{address}})
	}
	return static, "static", nil, target, nil
}

var schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]*$`)

// placeForm is what follows the colon of what is meant as an address, or as a URL.
var placeForm = regexp.MustCompile(`^(//|[0-9]+(/|$))`)

// unknownScheme adds to err what else may be wrong with what is no address, and puts first what is more likely meant.
func unknownScheme(part string, err error) error {
	scheme, rest, _ := strings.Cut(part, ":")
	switch {
	case rest == "" || !schemeForm.MatchString(scheme) || ownScheme(scheme):
		return err
	case scheme == "dns":
		return fmt.Errorf("%w; dns: is for a whole target, with one HOST:PORT", err)
	}
	none := fmt.Sprintf("no resolver was given for the scheme %q", scheme)
	if placeForm.MatchString(rest) {
		return fmt.Errorf("%w; %s either", err, none)
	}
	whole := fmt.Sprintf("target %q: ", part)
	return fmt.Errorf("%s%s; as an address: %s", whole, none, strings.TrimPrefix(err.Error(), whole))
}

// ownScheme reports whether addresses begin so.
func ownScheme(scheme string) bool {
	return scheme == "unix" || scheme == "mem" || scheme == "ws" || scheme == "wss"
}

// DNS is the resolver of targets dns:HOST:PORT: each address of the host is an endpoint. It is
// built in; WithResolver("dns", DNS(r)) asks another resolver of package net.
func DNS(r *net.Resolver) Resolver { return lookup(r.LookupHost) }

// When names are asked for again (spec/limits.md).
const (
	askAgain = 30 * time.Second // less or more by a random part of up to a fifth
	askFirst = 5 * time.Second  // after an endpoint could not be reached
)

// lookup finds the addresses of a host.
type lookup func(ctx context.Context, host string) ([]string, error)

func (l lookup) Resolve(ctx context.Context, w *Watch) error {
	return l.resolve(ctx, w.Target(), w.Set, w.Failed())
}

// resolve is client.md 8.4.
func (l lookup) resolve(ctx context.Context, target string, set func([]Endpoint) error, failed <-chan struct{}) error {
	host, port, err := hostAndPort(target)
	if err != nil {
		return err
	}
	for {
		addresses, err := l(ctx, host)
		if err == nil && len(addresses) == 0 {
			err = fmt.Errorf("%s has no address", host)
		}
		if err != nil {
			return err
		}
		endpoints := make([]Endpoint, len(addresses))
		for i, address := range addresses {
			endpoints[i] = Endpoint{Addresses: []string{net.JoinHostPort(address, port)}, ServerName: host}
		}
		if err := set(endpoints); err != nil {
			return err
		}
		if err := untilAskedAgain(ctx, failed); err != nil {
			return err
		}
	}
}

// untilAskedAgain waits until it is time for the next look-up.
func untilAskedAgain(ctx context.Context, failed <-chan struct{}) error {
	first := time.NewTimer(askFirst)
	defer first.Stop()
	again := time.NewTimer(askAgain - askAgain/5 + rand.N(2*askAgain/5)) //nolint:gosec // jitter, not a secret
	defer again.Stop()
	select {
	case <-again.C:
		return nil
	case <-failed:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-first.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hostAndPort reads one HOST:PORT.
func hostAndPort(text string) (host, port string, err error) {
	if err := transport.CheckAddress(text); err != nil {
		return "", "", err
	}
	host, port, err = net.SplitHostPort(text)
	if err == nil && host == "" {
		err = errors.New("want a host")
	}
	return host, port, err
}
