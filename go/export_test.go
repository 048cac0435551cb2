package trunkcall

import (
	"runtime"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

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
			l.retire(conn, transport.ErrDraining)
			return
		}
		runtime.Gosched()
	}
}

// ApplyAtOnce has a client take a set without the pause between two.
func ApplyAtOnce(c *Client, set []Endpoint) { c.endpoints.apply(c.resolving.choose(set)) }

// Failures is how many attempts in a row have failed of a client's first connection, also
// while it is ready.
func Failures(c *Client) int {
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	return c.endpoints.set[0].dialed[0].failures
}

// RefuseCall has a client's first connection refuse a call because of cause, before anything else
// says that it has ended. It returns how the client stands with the endpoint then.
func RefuseCall(c *Client, cause error) (state State, failures int) {
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	l := c.endpoints.set[0].dialed[0]
	l.endedLocked(l.current.Load(), cause, cause)
	return l.state, l.failures
}

// Waiting is the number of those that wait until something changes in the set of a client.
func Waiting(c *Client) int {
	c.endpoints.mu.Lock()
	defer c.endpoints.mu.Unlock()
	return c.endpoints.turns.Len()
}

// CloseIdle has a client close the connections that no call was made on since it was last called.
func CloseIdle(c *Client) { c.endpoints.closeIdle(1, 1) }

// Held is how much of its memory a server has given to what it holds for its peers.
func Held(s *Server) int64 { return s.config.Budget.Used() }
