package trunkcall

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// Connection is one connection between a client and a server, at either end. It is a Caller:
// through it a server calls what its client serves (Client.Register), and a client this server and
// no other. Calls through a Connection that is over or draining fail, not sent: no other takes its
// place. A server has Connections of gRPC clients too, but cannot call those. Its methods are safe
// for concurrent use.
type Connection struct {
	route

	link         link
	conn         *transport.Conn // nil if it speaks another protocol
	protocol     string          // that one
	began        time.Time
	events       sequence // what observers are told
	wasConnected atomic.Bool
	retiring     *time.Timer // Retire, if a server's connections have a maximum age; else nil

	// At a client only.
	redialer *redialer
	ready    chan struct{} // closed when the server's preface has come, or the end
	once     sync.Once

	// At a client only, guarded by endpoints.mu.
	taken bool // it was the redialer's current one, so that its end is that one's affair
	away  bool // it is over or going away
}

// link is what the connections of all protocols have in common.
type link interface {
	Remote() net.Addr
	Local() net.Addr
	TLS() *tls.ConnectionState
	Err() error
	Faults() (read, write error)
	Gauges() transport.Gauges
	Drain(text string)
	Retire(text string) // Drain, of one connection while its server goes on
	CutOff(cause error)
	Close(cause error)
}

// newConnection makes conn known to what goes on there, before it starts.
func newConnection(c *calling, conn *transport.Conn) *Connection {
	made := &Connection{link: conn, conn: conn, began: time.Now()}
	made.route = route{c, made}
	conn.Owner = made
	return made
}

func connectionOf(c *transport.Conn) *Connection {
	return c.Owner.(*Connection) //nolint:forcetypeassert // newConnection sets nothing else
}

// Remote is the address of the other end.
func (c *Connection) Remote() net.Addr { return c.link.Remote() }

// Local is the address of this end.
func (c *Connection) Local() net.Addr { return c.link.Local() }

// TLS is the state of TLS, nil without.
func (c *Connection) TLS() *tls.ConnectionState { return c.link.TLS() }

// Target is the address of the other end, as text.
func (c *Connection) Target() string { return c.link.Remote().String() }

// Secure reports whether the connection uses TLS.
func (c *Connection) Secure() bool { return c.link.TLS() != nil }

// Protocol is what the other end speaks: "trunk", or at a server "h2" or "http/1.1" for clients of
// gRPC and HTTP. This side can call the other only if it is "trunk".
func (c *Connection) Protocol() string {
	if c.conn == nil {
		return c.protocol
	}
	return transport.ALPN
}

// foreign is the error of a call to a client that cannot be called.
func (c *Connection) foreign() error {
	return notSent(Errorf(Unimplemented, "the client at %v speaks %s, which has no calls from a server to its client", c.Remote(), c.Protocol()))
}

// Err is why the connection is over, or is ending; nil while it is not.
func (c *Connection) Err() error { return c.link.Err() }

// ErrDisconnected is why a connection ended that this side disconnected.
var ErrDisconnected = errors.New("disconnected by this side")

// Disconnect ends the connection at once: calls that are open on it fail, with
// UNAVAILABLE and an unknown delivery, those of the peer whose handlers have not
// started are refused, and contexts of handlers are cancelled. A client opens
// another with its next calls. It does not wait.
func (c *Connection) Disconnect() { c.link.CutOff(ErrDisconnected) }

// unusable is the error of a call that a connection does not take any more.
func (c *Connection) unusable(err error) error {
	return notSent(Status{
		Code: Unavailable, Message: fmt.Sprintf("connection to %v: %s", c.Remote(), transport.Describe(err)), cause: err,
	}.Err())
}
