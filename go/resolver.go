package trunkcall

import (
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// parseTarget says where a target's endpoints come from: a list in itself, or a resolver,
// which is told rest.
func parseTarget(target string, given map[string]Resolver) (static []Endpoint, scheme string, r Resolver, rest string, err error) {
	if scheme, rest, ok := strings.Cut(target, ":"); ok && given[scheme] != nil {
		return nil, scheme, given[scheme], rest, nil
	}
	for address := range strings.SplitSeq(target, ",") {
		address = strings.TrimSpace(address)
		if err := transport.CheckAddress(address); err != nil {
			return nil, "", nil, "", err
		}
		static = append(static, Endpoint{Addresses: []string{address}})
	}
	return static, "", nil, "", nil
}
