package trunkcall

import "time"

// ConnectionGauges are the numbers of one connection at the moment. Fields of the names in Gauges
// mean the same.
type ConnectionGauges struct {
	Age time.Duration `json:"age_ns"`
	// RoundTrip is the shortest round trip that was measured lately. It is 0 if none was, since
	// little came or the connection speaks HTTP.
	RoundTrip      time.Duration `json:"round_trip_ns"`
	CallsMade      int           `json:"calls_made"`
	CallsServed    int           `json:"calls_served"`
	UnsentBytes    int64         `json:"unsent_bytes"`
	HeldBytes      int64         `json:"held_bytes"`
	WithheldCredit int64         `json:"withheld_credit"`
	PoolBytes      int64         `json:"pool_bytes"`
	PoolHeldBytes  int64         `json:"pool_held_bytes"`
	// PeerPoolBytes is what this side may still send beyond the windows of streams.
	PeerPoolBytes int64 `json:"peer_pool_bytes"`
}

// Gauges returns what the connection has at the moment.
func (c *Connection) Gauges() ConnectionGauges {
	of := c.link.Gauges()
	return ConnectionGauges{
		Age: time.Since(c.began), RoundTrip: of.RoundTrip, CallsMade: of.Opened, CallsServed: of.Served,
		UnsentBytes: int64(of.Unsent), HeldBytes: int64(of.Held), WithheldCredit: of.Withheld,
		PoolBytes: of.PoolKept, PoolHeldBytes: of.PoolHeld, PeerPoolBytes: of.PoolLeft,
	}
}

// EndpointGauges are how a client stands with one endpoint.
type EndpointGauges struct {
	Endpoint Endpoint
	State    State
	// Calls are open there, and Latency is a moving mean, as balancers see them: a client of one
	// endpoint keeps neither.
	Calls   int
	Latency time.Duration
	// Failures are the attempts to connect that have failed in a row; LastError is why the last
	// one did, and NextAttempt when the next one is made, both zero while it is ready.
	Failures    int
	LastError   error
	NextAttempt time.Time
	Connections []ConnectionGauges
	// Ejected are the scopes of the policy file whose rules leave it out at the moment, such as
	// defaults, in their order.
	Ejected []string
}

// Endpoints returns the state of the endpoints that the client uses, in the resolver's order.
func (c *Client) Endpoints() []EndpointGauges {
	s := c.endpoints
	s.mu.Lock()
	all := make([]EndpointGauges, len(s.set))
	conns := make([][]*Connection, len(s.set))
	for i, e := range s.set {
		all[i] = EndpointGauges{
			Endpoint: e.Endpoint(), State: e.State(), Calls: e.Calls(), Latency: e.Latency(), Failures: e.Failures(),
		}
		for _, l := range e.dialed {
			if conn := l.current.Load(); conn != nil {
				conns[i] = append(conns[i], conn)
			} else if l.last != nil && l.state != StateIdle && all[i].State != StateReady {
				all[i].LastError, all[i].NextAttempt = l.last, l.nextTry
			}
		}
	}
	s.mu.Unlock()
	if p := c.policies; p != nil && p.file != nil {
		scopes := p.file.current.Load().ejected(s.current.Load())
		for i := range all {
			all[i].Ejected = scopes[all[i].Endpoint.identity()]
		}
	}
	for i := range conns { // not under the lock: theirs come first
		for _, conn := range conns[i] {
			all[i].Connections = append(all[i].Connections, conn.Gauges())
		}
	}
	return all
}
