package trunkcall

import (
	"log/slog"
	"net"
)

// Observer is told what happens to listeners and connections. Fields that are nil are left out. The
// functions are called without locks held, on goroutines that do nothing else: in order for one
// connection, at once for different ones. A function that blocks delays only the events of its own
// connection; when 10,000 wait behind it, further ones are left out, logged and counted (Gauges). A
// panic is logged, without a logger to slog.Default. The functions may call everything, also Close
// and Stop, which do not wait for them. Errors are never nil.
type Observer struct {
	// Listening tells of a server's new listener, ListenFailed of an address that
	// could not be listened on, with the error that Listen returns.
	Listening    func(address net.Addr)
	ListenFailed func(address string, err error)
	// Connected tells of a connection whose other end has greeted, so that it can be called, or, at
	// a server, of one that speaks another protocol (Connection.Protocol). ConnectFailed tells of a
	// client's attempt that failed before that; err names each address of the target and why it
	// failed.
	Connected     func(c *Connection)
	ConnectFailed func(target string, err error)
	// ReadFailed and WriteFailed tell that the socket of a connected connection failed; the end of
	// the stream is no failure. err is the error of the socket or of TLS: errors.Is finds what the
	// system said, such as syscall.ECONNRESET.
	ReadFailed  func(c *Connection, err error)
	WriteFailed func(c *Connection, err error)
	// Disconnected tells of the end of each connected connection, once and last. errors.Is finds in
	// err: ErrDisconnected, ErrClientClosed or ErrServerStopped if this side ended it; io.EOF if
	// the other end closed it without a reason; the error of ReadFailed or WriteFailed. Any other
	// error is a text for people: the reason that the other end gave, how it broke the protocol,
	// that it was silent, or that the connection was drained.
	Disconnected func(c *Connection, err error)
	// PolicyTaken tells that a policy file was exchanged while the client or server was there, and
	// holds from now on. PolicyRefused tells that it is at fault, or cannot be read: err has each
	// fault with its line, and what held before holds on.
	PolicyTaken   func(file string)
	PolicyRefused func(file string, err error)
}

// WithObserver has connection events told to o, in addition to those given before.
func WithObserver(o Observer) Option {
	return option(func(c *common) { c.observers = append(c.observers, &o) })
}

// tell has every observer that wants to know called, in the order of q.
func (c *common) tell(q *sequence, event func(*Observer) func()) {
	for _, o := range c.observers {
		if f := event(o); f != nil {
			if !q.add(func() {
				defer func() {
					if p := recover(); p != nil {
						c.journal.panicked("observer panicked", p)
					}
				}()
				f()
			}) {
				c.log(slog.LevelWarn, "observer events dropped", "so_far", c.droppedEvents.Add(1))
			}
		}
	}
}

func (c *common) listening(q *sequence, address net.Addr) {
	c.log(slog.LevelInfo, "listening", "address", address)
	c.tell(q, func(o *Observer) func() {
		if o.Listening == nil {
			return nil
		}
		return func() { o.Listening(address) }
	})
}

func (c *common) listenFailed(q *sequence, address string, err error) {
	c.log(slog.LevelError, "listen failed", "address", address, "error", err)
	c.tell(q, func(o *Observer) func() {
		if o.ListenFailed == nil {
			return nil
		}
		return func() { o.ListenFailed(address, err) }
	})
}

func (c *common) connectFailed(q *sequence, target string, err error) {
	c.tell(q, func(o *Observer) func() {
		if o.ConnectFailed == nil {
			return nil
		}
		return func() { o.ConnectFailed(target, err) }
	})
}

func (c *common) policyTaken(q *sequence, file string) {
	c.log(slog.LevelInfo, "policy file taken", "file", file)
	c.tell(q, func(o *Observer) func() {
		if o.PolicyTaken == nil {
			return nil
		}
		return func() { o.PolicyTaken(file) }
	})
}

func (c *common) policyRefused(q *sequence, file string, err error) {
	c.journal.warn("policy file not taken", "file", file, "error", faults(err)) // without a logger too: what was meant to hold does not
	c.tell(q, func(o *Observer) func() {
		if o.PolicyRefused == nil {
			return nil
		}
		return func() { o.PolicyRefused(file, err) }
	})
}

// tell has an event of the connection told.
func (c *Connection) tell(event func(*Observer) func(*Connection, error), err error) {
	c.options.tell(&c.events, func(o *Observer) func() {
		f := event(o)
		if f == nil {
			return nil
		}
		return func() { f(c, err) }
	})
}

// connected is called once, when the other end's preface has come.
func (c *Connection) connected() {
	c.wasConnected.Store(true)
	c.options.log(slog.LevelDebug, "connected", "remote", c.Remote())
	c.tell(func(o *Observer) func(*Connection, error) {
		if o.Connected == nil {
			return nil
		}
		return func(c *Connection, _ error) { o.Connected(c) }
	}, nil)
}

// disconnected is called once, when the connection is over.
func (c *Connection) disconnected(err error) {
	if !c.wasConnected.Load() {
		return
	}
	if read, write := c.link.Faults(); read != nil {
		c.tell(func(o *Observer) func(*Connection, error) { return o.ReadFailed }, read)
	} else if write != nil {
		c.tell(func(o *Observer) func(*Connection, error) { return o.WriteFailed }, write)
	}
	c.tell(func(o *Observer) func(*Connection, error) { return o.Disconnected }, err)
}
