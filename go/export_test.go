package trunkcall

import "runtime"

// WaitingCalls is the number of a client's calls that wait for a slot.
func WaitingCalls(c *Client) int { return int(c.waiting.Load()) }

// PollAlways has every connection left to the pollers that large numbers share.
func PollAlways() { pollFrom = -1 }

// CountAsSteady has a client's connections count as ones that lived for long.
func CountAsSteady(c *Client) {
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	for _, e := range c.endpoints.set {
		for _, l := range e.dialed {
			if conn := l.current.Load(); conn != nil {
				conn.began = conn.began.Add(-steady)
			}
		}
	}
}

// Switches is what the options of a client have its connections do.
func Switches(c *Client) (pollFrom int, noSpinning bool) {
	config := c.options.transport(nil, nil)
	return config.PollFrom, config.NoSpinning
}

// LoseOnceOpen has a client's first connection count as lost as soon as there is one.
func LoseOnceOpen(c *Client) {
	l := c.endpoints.current.Load().endpoints[0].dialed[0]
	for c.done.Err() == nil {
		if conn := l.current.Load(); conn != nil {
			l.retire(conn)
			return
		}
		runtime.Gosched()
	}
}

// ApplyAtOnce has a client take a set without the pause between two.
func ApplyAtOnce(c *Client, set []Endpoint) { c.endpoints.apply(c.resolving.choose(set)) }
