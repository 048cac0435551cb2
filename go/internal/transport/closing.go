package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// How a connection ends: at once, when it is lost or closed; after the peer had time to read why,
// when it broke the protocol or is turned away; or drained.

// failLocked ends the session and the socket. A write that is under way is stopped first, since
// only then is it known which calls may have left.
func (c *Conn) failLocked(cause error) {
	if c.closed || c.failing != nil {
		if c.lingering {
			c.closeSocketLocked()
		}
		return
	}
	c.closeSocketLocked()
	if c.roles.Flushing {
		c.failing = cause
		return
	}
	c.endLocked(cause, c.passed)
	shut := c.shut
	go func() {
		if shut != nil {
			<-shut
		}
		c.config.Handler.Closed(c, cause)
	}()
}

// endLocked ends the session, of which passed bytes may have left.
func (c *Conn) endLocked(cause error, passed uint64) {
	c.closed = true
	openConns.Add(-1)
	c.cause = cause
	if c.timer != nil {
		c.timer.Stop()
	}
	c.session.Close(passed, c.lostText(cause))
	c.roles.DropQueueLocked()
}

// shed frees memory, because this connection holds most of the budget. It ends the calls that were
// held for longest; if what is held is output that the peer does not read, it ends the connection.
func (c *Conn) shed() {
	c.mu.Lock()
	defer c.unlock()
	if c.closed {
		return
	}
	c.session.Advance(roles.Clock())
	if !c.session.Shed() {
		c.violateLocked(&wire.Error{Class: wire.ErrFlood, Text: "too much output is unread: " + c.config.Budget.Full()})
	} else {
		c.roles.FlushLocked()
	}
	c.session.Relieved()
}

func (c *Conn) lostText(cause error) string {
	return fmt.Sprintf("connection to %v lost: %s", c.Remote(), c.why(cause, c.greeted))
}

// Why puts into words why a connection is over, with what that says of a server that has not greeted.
func (c *Conn) Why(cause error) string { return c.why(cause, c.Greeted()) }

func (c *Conn) why(cause error, greeted bool) string {
	var violation *wire.Error
	switch {
	case greeted || c.acceptor:
		return Describe(cause)
	case errors.As(cause, &violation) && violation.Class == wire.ErrPreface:
		return "this is not a Trunkcall server: " + violation.Text
	case IsSilence(cause):
		return Silence(HandshakeTimeout)
	case errors.Is(cause, io.EOF) || errors.Is(cause, syscall.ECONNRESET) || errors.Is(cause, syscall.EPIPE):
		return "closed before a greeting: it may not be a Trunkcall server" + c.unagreed()
	}
	return Describe(cause)
}

// unagreed says that TLS has agreed on no protocol, if so: who answers may be none of Trunkcall's.
func (c *Conn) unagreed() string {
	if state := c.TLS(); state != nil && state.NegotiatedProtocol == "" {
		return "; TLS has negotiated no protocol: behind a proxy that ends TLS, use wss:"
	}
	return ""
}

// IsSilence reports whether a connection has ended because its peer said nothing.
func IsSilence(cause error) bool {
	violation := (*wire.Error)(nil)
	return errors.As(cause, &violation) && violation.Class == wire.ErrSilence
}

// Silence is what there is to know of a server that has not greeted for so long, and what to look at.
func Silence(since time.Duration) string {
	return fmt.Sprintf("it has accepted the connection and said nothing for %v: check that a Trunkcall server listens there, "+
		"that TLS is used at both ends or at neither, and that no proxy or firewall stands between", since.Round(time.Millisecond))
}

// Describe puts an error of the network into one line without the addresses,
// which the reader knows already.
func Describe(err error) string {
	var op *net.OpError
	switch {
	case errors.Is(err, io.EOF):
		return "closed by the peer"
	case errors.As(err, &op) && op.Op == "remote error":
		return "the peer says: " + op.Err.Error()
	case errors.As(err, &op) && op.Err != nil:
		return op.Err.Error()
	default:
		return err.Error()
	}
}

// violateLocked ends the connection because of what the peer sent: it is told,
// the output is half-closed, and a bounded amount of input is thrown away so
// that what was written before still arrives (section 11.6).
func (c *Conn) violateLocked(err *wire.Error) {
	if c.closed {
		return
	}
	if err.Class == wire.ErrPreface { // there is nobody to tell: what was not written never leaves
		c.failLocked(err)
		return
	}
	c.session.Abort(err)
	c.endLingeringLocked(err)
}

// contain is deferred. It turns a panic under the connection's lock into the end of this
// connection, instead of the process. The peer is not told what the panic says.
func (c *Conn) contain(err **wire.Error) {
	p := recover()
	if p == nil {
		return
	}
	*err = &wire.Error{Class: wire.ErrInternal, Text: "this side failed and ends the connection"}
	if c.config.Panicked != nil {
		c.config.Panicked(p, debug.Stack())
	}
}

// endLingeringLocked ends the session and leaves the socket to lingerAndClose.
func (c *Conn) endLingeringLocked(cause error) {
	if c.failing != nil {
		return
	}
	if err := c.unpollLocked(); err != nil {
		c.failLocked(err)
		return
	}
	// All that was appended counts as sent: it is written ahead of the farewell,
	// unless somebody has got stuck writing.
	c.endLocked(cause, math.MaxUint64)
	_ = c.socket.SetWriteDeadline(time.Now().Add(lingerTime))
	_ = c.socket.SetReadDeadline(time.Unix(1, 0)) // whoever reads is to stop
	c.lingering = true
	c.lingerIfFreeLocked()
}

// lingerIfFreeLocked has the socket closed once nobody else reads or writes. The peer still gets to
// read what was written.
func (c *Conn) lingerIfFreeLocked() {
	if c.lingering && !c.lingered && !c.roles.Flushing && !c.roles.Reading {
		c.lingered = true
		go c.lingerAndClose()
	}
}

// Bounds on what is read from a peer before the socket is closed.
const (
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// drainPatience is how long a peer may take to answer GOAWAY before it is left
// with no call open.
const drainPatience = 10 * time.Second

// flushedLocked gives the role of writing back.
func (c *Conn) flushedLocked() {
	c.roles.Flushing = false
	switch {
	case c.lingering:
		c.lingerIfFreeLocked()
	case c.failing != nil:
		cause := c.failing
		c.failing = nil
		c.failLocked(cause)
	}
}

// lingerAndClose tells the peer why the connection ends, half-closes, and reads for a
// while.
func (c *Conn) lingerAndClose() {
	c.mu.Lock()
	aligned := c.passed == c.session.Moved()
	rest := c.session.Take()
	socket := c.socket
	c.mu.Unlock()
	if c.secure != nil {
		socket = c.secure.await(socket)
	}
	if aligned { // else the peer would read it as the rest of a frame
		_, _ = socket.Write(rest)
	}
	if c.greeted {
		linger(socket)
	}
	_ = socket.Close()
	c.config.Handler.Closed(c, c.cause)
}

// linger half-closes a socket and throws away what still comes, for a bounded
// time and number of bytes: unread input at a close can make TCP throw away what
// was written last.
func linger(socket net.Conn) {
	if half, ok := socket.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = socket.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, socket, lingerBytes)
	}
}

// errDrained is the cause of an orderly end.
var errDrained = errors.New("drained")

// Drained reports whether err is the orderly end of a connection.
func Drained(err error) bool { return errors.Is(err, errDrained) }

// closeIfDrainedLocked closes once both sides said that they open no more
// calls and none is open: it half-closes and waits a while for the peer to do
// so too, since unread input at a close can make TCP throw away what was
// written (section 11.5).
func (c *Conn) closeIfDrainedLocked() {
	if c.closed || c.failing != nil || c.closing {
		return
	}
	if c.drainBy != 0 && c.session.Conclude() {
		c.roles.FlushLocked()
	}
	if c.closed || c.failing != nil || c.closing || c.roles.Flushing || c.hasOutputLocked() {
		return
	}
	if c.session.Spent() {
		c.failLocked(errDrained)
		return
	}
	if !c.session.Drained() {
		return
	}
	if err := c.unpollLocked(); err != nil {
		c.failLocked(err)
		return
	}
	c.closing = true
	half, ok := c.socket.(interface{ CloseWrite() error })
	switch {
	case c.secure != nil: // not under the lock: crypto/tls has locks of its own
		c.roles.Flushing = true // nobody writes beside
		go c.halfClose(c.secure.tls)
	case !ok, c.raw != nil && half.CloseWrite() != nil:
		c.failLocked(errDrained)
		return
	case c.raw == nil: // it writes, and may wait
		go func() {
			if half.CloseWrite() != nil {
				c.Close(errDrained)
			}
		}()
	}
	c.lingerBy = roles.Clock() + int64(lingerTime)
	c.armLocked(c.lingerBy)
}

// halfClose tells the peer by TLS that no more will come. It has the role of writing.
func (c *Conn) halfClose(secure *tls.Conn) {
	err := secure.CloseWrite()
	c.mu.Lock()
	if c.flushedLocked(); err != nil && !c.closed {
		c.failLocked(errDrained)
	}
	c.roles.FlushLocked()
	c.unlock()
}
