package trunkcall

import "runtime"

// WaitingCalls is the number of a client's calls that wait for a slot.
func WaitingCalls(c *Client) int { return int(c.waiting.Load()) }

// PollAlways has every connection left to the pollers that large numbers share.
func PollAlways() { pollFrom = -1 }

// CountAsSteady has a client's connections count as ones that lived for long.
func CountAsSteady(c *Client) {
	for _, l := range c.lines {
		l.mu.Lock()
		if conn := l.current.Load(); conn != nil {
			conn.began = conn.began.Add(-steady)
		}
		l.mu.Unlock()
	}
}

// Switches is what the options of a client have its connections do.
func Switches(c *Client) (pollFrom int, noSpinning bool) {
	config := c.options.transport(nil, nil)
	return config.PollFrom, config.NoSpinning
}

// LoseOnceOpen has a client's first connection count as lost as soon as there is one.
func LoseOnceOpen(c *Client) {
	l := c.lines[0]
	for c.done.Err() == nil {
		if conn := l.current.Load(); conn != nil {
			l.retire(conn)
			return
		}
		runtime.Gosched()
	}
}
