package http2

import "github.com/trunkcall/trunkcall/go/internal/transport"

// A connection that has been quiet for longer than the keepalive interval, whose
// peer has just answered a PING perhaps, is likely to stay so. It is left to a poller
// of package transport then, and needs neither a goroutine nor a buffer.

// parkLocked leaves a connection that nobody reads to a poller, if that is worth it.
func (c *Conn) parkLocked() bool {
	interval := int64(c.config.KeepaliveInterval)
	if c.config.NoPollers || c.raw == nil || c.roles.Bubbled() || !c.greeted || c.untaken || c.start != c.end || len(c.streams) > 0 || c.orphans > 0 ||
		interval < 0 || c.lastRead-c.quietSince < interval || c.lastRead == c.parkedRead {
		return false
	}
	c.parkedRead = c.lastRead // what ends this has to be read before the next
	c.parked = transport.Park(c.raw, c.unpark)
	return c.parked != nil
}

// unpark has somebody read what has come.
func (c *Conn) unpark() {
	c.mu.Lock()
	c.unparkLocked()
	help := !c.closed && c.roles.WantHelperLocked()
	c.mu.Unlock()
	if help {
		c.roles.Help()
	}
}

func (c *Conn) unparkLocked() {
	if c.parked != nil {
		c.parked.Unpark()
		c.parked = nil
	}
}
