package trunkcall

import "github.com/trunkcall/trunkcall/go/internal/policy"

// serverLacks are the parts of a policy file that a server cannot do.
func serverLacks(p *policy.Policy) (parts []string) {
	if p.ServerRate.Rules != nil {
		parts = append(parts, "server_rate")
	}
	if p.ServerConcurrency.Rules != nil {
		parts = append(parts, "server_concurrency")
	}
	return parts
}
