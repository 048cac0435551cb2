package trunkcall

import "time"

// Options of clients alone.

// WithResolver makes r resolve targets SCHEME:REST; Watch.Target is REST. A resolver for "dns"
// replaces the built-in one. unix, mem, ws and wss are addresses, not schemes.
func WithResolver(scheme string, r Resolver) ClientOption {
	return clientOption(func(c *clientOptions) {
		switch {
		case r == nil:
			c.wrong("the resolver for %q is nil", scheme)
			return
		case scheme == "unix" || scheme == "mem" || scheme == "ws" || scheme == "wss":
			c.wrong("there is a resolver for %s, which begins an address", scheme)
		case !isScheme(scheme):
			c.wrong("there is a resolver for %q, which is no scheme: want a small letter, and small letters, digits, +, . and - after it", scheme)
		case c.resolvers[scheme] != nil:
			c.wrong("there are two resolvers for %s", scheme)
		}
		if c.resolvers == nil {
			c.resolvers = map[string]Resolver{}
		}
		c.resolvers[scheme] = r
	})
}

func isScheme(s string) bool {
	for i, b := range []byte(s) {
		letter := b >= 'a' && b <= 'z'
		if !letter && (i == 0 || (b < '0' || b > '9') && b != '+' && b != '.' && b != '-') {
			return false
		}
	}
	return s != ""
}

// WithBalancer makes b choose the endpoint of each call. The default is RoundRobin. A balancer that
// keeps state must not be shared by clients.
func WithBalancer(b Balancer) ClientOption {
	return clientOption(func(c *clientOptions) {
		switch {
		case b == nil:
			c.wrong("the balancer is nil")
		case c.balancer != nil:
			c.wrong("there are two balancers, %T and %T", c.balancer, b)
		}
		c.balancer = b
	})
}

// WithMostEndpoints makes a client use n endpoints of a larger set, each client others; 0: all. The
// default is 20. A Lazy balancer is given all.
func WithMostEndpoints(n int) ClientOption {
	return clientOption(func(c *clientOptions) {
		if c.most = n; n < 0 {
			c.wrong("most endpoints is %d, least 0", n)
		}
	})
}

// WithZone is the zone that the client runs in. Where a policy file says so, it prefers endpoints of that zone
// (Endpoint.Zone).
func WithZone(zone string) ClientOption {
	return clientOption(func(c *clientOptions) {
		if c.zone = zone; zone == "" {
			c.wrong("the zone is empty")
		}
	})
}

// WithIdleTimeout closes connections on which no call was open for d; 0, the default: never. With a
// Lazy balancer each connection is closed by itself, and opened again when its endpoint is picked.
// With any other, all are closed once the client had no call for d, and the next call opens all.
func WithIdleTimeout(d time.Duration) ClientOption {
	return clientOption(func(c *clientOptions) {
		if c.idle = d; d < 0 || d > 0 && d < leastIdle {
			c.wrong("idle timeout is %v, least %v, or 0 for none", d, leastIdle)
		}
	})
}

const leastIdle = 10 * time.Millisecond
