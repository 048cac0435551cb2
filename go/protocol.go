package trunkcall

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Protocol is another way by which calls come to a server, beside Trunkcall's own, gRPC, gRPC-Web,
// Connect and WebSocket. This interface is enough for a protocol without a listener, such as a
// message broker's: it hands the calls that it takes from there to Calls. A PortProtocol is one
// that clients speak on the server's port.
//
// Calls of all protocols are served alike: the server's methods, codecs, compressions,
// interceptors, admission, deadlines, statuses and limits hold. Messages that Exchange.Receive has
// returned count against WithMemory; what a protocol holds before that does not.
type Protocol interface {
	// Name is for logs, Arrival.Protocol and Connection.Protocol.
	Name() string
	// Start is called once, before the server serves anything. Listen, Start and Serve return its
	// error.
	Start(calls *Calls) error
	// Stop is called once, when the server takes no more calls; calls handed over from then on are
	// refused. The server waits for it: it returns when the calls that were taken are answered, at
	// the latest when ctx ends, since what still runs then is cut off.
	Stop(ctx context.Context) error
}

// PortProtocol is a Protocol that clients speak on the server's port.
type PortProtocol interface {
	Protocol
	// ALPN are its names in the negotiation of TLS, none if it is not negotiated. A connection that
	// negotiated one is served at once: its first bytes are not looked at, so that its server may speak first.
	ALPN() []string
	// Recognize judges the first bytes of a connection, 1 to 64 of them. The built-in protocols are
	// asked first, of which HTTP/1.1 takes everything that begins with an upper-case letter (unless
	// there is WithNativeOnly), then those of WithProtocol in order. It must not keep the bytes.
	Recognize(first []byte) Recognition
	// ServeConn serves a connection. When it returns, the connection is closed, and calls of it
	// that still run are cancelled. When ctx ends, it should take no more calls, answer those that
	// it has begun, and return. At the end of the grace the connection is closed even if ServeConn
	// still runs.
	ServeConn(ctx context.Context, conn *PortConn)
}

// Recognition is what the first bytes of a connection say of one protocol.
type Recognition uint8

// What they may say.
const (
	NotRecognized Recognition = iota // they are not its
	NeedsMore                        // they may be: more of them will tell
	Recognized
)

// WithProtocol adds protocols of the user's to those of a server.
func WithProtocol(protocols ...Protocol) ServerOption {
	return serverOption(func(s *serverOptions) { s.userProtocols = append(s.userProtocols, protocols...) })
}

// beginnings are what the protocols of a server begin with, which nobody else may take for theirs.
var beginnings = []struct{ who, first string }{
	{"Trunkcall's own protocol", string(wire.Magic[:])},
	{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"},
	{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{"HTTP/1.1", "POST /test.Service/Echo HTTP/1.1\r\nHost: localhost\r\n\r\n"},
	{"HTTP/1.1", "GET /test.Service/Echo?message=x&encoding=json HTTP/1.1\r\n"},
}

// checkProtocols names what would keep protocols of the user's from being reached, or keep others from that.
func (s *serverOptions) checkProtocols() {
	names, negotiated := map[string]bool{}, s.alpn()
	for i, p := range s.userProtocols {
		if p == nil {
			s.wrong("protocol %d of WithProtocol is nil", i+1)
			continue
		}
		name := p.Name()
		if name == "" || names[name] || slices.Contains([]string{transport.ALPN, "grpc", "grpc-web", "connect", transport.ALPNHTTP2, transport.ALPNHTTP1}, name) {
			s.wrong("the protocol name %q of WithProtocol is empty or taken", name)
		}
		names[name] = true
		port, ok := p.(PortProtocol)
		if !ok {
			continue
		}
		for _, alpn := range port.ALPN() {
			if alpn == "" || len(alpn) > 255 || slices.Contains(negotiated, alpn) {
				s.wrong("the ALPN name %q of protocol %s is empty, too long or taken", alpn, name)
			}
			negotiated = append(negotiated, alpn)
		}
		for _, ours := range beginnings {
			if s.nativeOnly && strings.HasPrefix(ours.who, "HTTP") {
				continue
			}
			first := []byte(ours.first)[:min(len(ours.first), transport.MostFirst)]
			err := contained("Recognize", func() error {
				if port.Recognize(first) == Recognized {
					return errors.New("that is taken for its own")
				}
				return nil
			})
			if err != nil {
				s.wrong("protocol %s, of what %s begins with: %v", name, ours.who, err)
				break
			}
		}
	}
}

// alpn is what a server offers in the negotiation of TLS, those of the user's protocols left out.
func (s *serverOptions) alpn() []string {
	if s.nativeOnly {
		return []string{transport.ALPN}
	}
	return []string{transport.ALPN, transport.ALPNHTTP2, transport.ALPNHTTP1}
}

// allALPN is alpn with those.
func (s *serverOptions) allALPN() []string {
	all := s.alpn()
	for _, p := range s.userProtocols {
		if port, ok := p.(PortProtocol); ok {
			all = append(all, port.ALPN()...)
		}
	}
	return all
}

// Exchange is the messages of one call as its protocol carries them. The server has at most one call of
// Receive and one of the others under way at a time, and none any more when AcceptedCall.Serve has
// returned, which waits for them: so they must return soon when ctx ends.
type Exchange interface {
	// Receive returns the next message of the request, as it came, and whether it is in the call's
	// compression; io.EOF after the last. A StatusError is how the call then ends, any other error that the request is cut
	// off. The message need not last longer than until Receive is called again or the call is over: the server has a
	// copy, which counts against WithMemory for as long, beside the one before it where that is still held.
	Receive(ctx context.Context) (message []byte, compressed bool, err error)
	// SendHeader sends metadata ahead of the first message, once at most, if there is any.
	SendHeader(ctx context.Context, header Metadata) error
	// Send sends a message of the answer, waiting while earlier ones have no place. compressed says that it is in
	// the compression that IncomingCall.Compression or Accepts has named (AcceptedCall.Compression). The message is not to be
	// kept.
	Send(ctx context.Context, message []byte, compressed bool) error
}

// PortConn is a connection that a PortProtocol serves, with TLS decrypted. Bytes that were read to
// recognise the protocol are read again. Its Close need not be called.
type PortConn struct {
	net.Conn
	prefix []byte

	connection *Connection
	link       *portLink
}

// Read reads what comes.
func (c *PortConn) Read(b []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(b, c.prefix)
		c.prefix = c.prefix[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

// Connection is what handlers find as ServerCall.Connection.
func (c *PortConn) Connection() *Connection { return c.connection }
