package transport

import (
	"net"
	"os"
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// Polling. A goroutine of its own for each connection, parked in package net, costs a stack that is cold when input
// comes and, for each input, a system call that finds nothing more. Where a process has many connections, those that
// have nothing to read are therefore left to a few pollers (poll_linux.go), which read whatever becomes readable and
// run the quick handlers of what they have read. Their sockets belong to us then, not to package net: only reads and
// writes that do not wait are possible. Before anything else is asked of one, such as a write that waits for the peer
// or an orderly end, it is given back, for good.

// pollFrom is how many connections make many.
const pollFrom = 64

// openConns is how many there are in the process.
var openConns atomic.Int64

func (c *Conn) shouldPollLocked() bool {
	from := int64(c.config.PollFrom)
	if from == 0 {
		from = pollFrom
	}
	return canPoll && c.raw != nil && !c.keepsSocket && !c.roles.Bubbled() && openConns.Load() > from
}

// polled is the socket of a connection that a poller waits for. Its counts change under the connection's lock.
type polled struct {
	fd     int
	poller *poller
	users  int // who reads or writes just now
	gone   bool
}

// awaitedLocked reports whether a poller waits for the next input. Input that TLS holds already is
// the reader's business, and only the reader may look at it.
func (c *Conn) awaitedLocked() bool { return c.polled != nil && (c.roles.Reading || !c.secure.holds()) }

// pollLocked leaves a connection that nobody reads or writes to a poller, if that is worth it.
func (c *Conn) pollLocked() bool {
	if c.polled != nil || !c.shouldPollLocked() || c.prefixed || c.secure.holds() || c.roles.Flushing || c.closing || c.closed {
		return false
	}
	var p *polled
	_ = c.raw.Control(func(fd uintptr) { p = poll(c, int(fd)) })
	if p == nil {
		c.keepsSocket = true
		return false
	}
	c.polled = p
	c.roles.EndUnread()
	_ = c.socket.Close() // the copy stays open; the addresses stay known
	return true
}

// servePolled serves a connection that has become readable, on a poller's goroutine.
func (c *Conn) servePolled(w *roles.Worker) {
	c.mu.Lock()
	if c.polled == nil || c.roles.Reading || c.closed || c.failing != nil {
		c.unlock()
		return
	}
	c.roles.ServePolledLocked(w)
}

// useLocked keeps the descriptor open until doneLocked; p may be nil.
func (p *polled) useLocked() {
	if p != nil {
		p.users++
	}
}

func (p *polled) doneLocked() {
	if p != nil {
		p.users--
		p.closeIfFreeLocked()
	}
}

func (p *polled) closeIfFreeLocked() {
	if p.gone && p.users == 0 {
		closeDescriptor(p.fd)
	}
}

// dropLocked closes the descriptor as soon as nobody uses it.
func (p *polled) dropLocked() {
	p.poller.remove(p.fd)
	p.gone = true
	p.closeIfFreeLocked()
}

// unpollLocked gives the socket back to package net, and sends a worker to read it. It fails, and
// changes nothing, when the process has no descriptor free.
func (c *Conn) unpollLocked() error {
	p := c.polled
	if p == nil {
		return nil
	}
	socket, err := ownSocket(p.fd)
	if err != nil {
		return err
	}
	c.polled = nil
	c.keepsSocket = true
	p.dropLocked()
	c.socket = socket
	c.takeRaw()
	if c.roles.WantHelperLocked() {
		c.roles.Help()
	}
	return nil
}

// ownSocket makes a connection of package net for the same socket. A file that held fd itself would have the scheduler
// wait for every input as well, which costs more than polling gains.
func ownSocket(fd int) (net.Conn, error) {
	copied, err := copyDescriptor(fd)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(copied), "socket")
	defer file.Close() //nolint:errcheck // it is another copy
	return net.FileConn(file)
}

// closeSocketLocked closes the socket at once; one that may have something to write for
// that, as TLS has, on a goroutine of its own.
func (c *Conn) closeSocketLocked() {
	p, s := c.polled, c.secure
	speaks := s != nil && !c.roles.Flushing && !c.lingering && c.shut == nil // not in the middle of a record
	if p != nil {
		c.polled = nil
		if speaks {
			p.useLocked()
			c.closeAfterLocked(func() {
				s.farewell(uintptr(p.fd))
				c.mu.Lock()
				p.doneLocked()
				c.mu.Unlock()
			})
		}
		p.dropLocked()
		return
	}
	switch {
	case speaks:
		raw, socket := c.raw, c.socket
		c.closeAfterLocked(func() {
			_ = raw.Write(func(fd uintptr) bool {
				s.farewell(fd)
				return true
			})
			_ = socket.Close()
		})
	case c.raw != nil:
		_ = c.socket.Close()
	case c.shut == nil:
		c.closeAfterLocked(func() { _ = c.socket.Close() })
	}
}

func (c *Conn) closeAfterLocked(closes func()) {
	c.shut = make(chan struct{})
	go func() {
		closes()
		close(c.shut)
	}()
}
