// Package web is what the HTTP protocols have in common. Each has a package of its own below this
// one: grpc, grpcweb, connect, websocket. They turn what a client sends into a Call and an
// Exchange, and how the call ended into the protocol's answer. spec/http.md states the mappings.
// Server is what serves the calls: it is the same for all protocols and knows nothing of HTTP.
package web

import (
	"crypto/tls"
	"net"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Call is the head of one call, whichever protocol it came by. It must not be
// changed.
type Call struct {
	// Method is the canonical name, /package.Service/Method.
	Method string
	// Codec is the number of the messages' codec (protocol.md 3.8). NamedCodec
	// stands for any other, known by CodecName alone.
	Codec     uint8
	CodecName string
	// Compression is the number of the one that request messages may be in (protocol.md
	// 3.8), 0 for none; Accepts those that the caller takes, bit n standing for number n.
	Compression uint8
	Accepts     uint16
	Metadata    wire.Metadata
	// Authority is the host, and perhaps port, that the caller asked for.
	Authority string
	// Deadline is when the call ends, as roles.Clock has it; 0: never.
	Deadline int64
	// Protocol names the protocol, for logs: "grpc".
	Protocol string
	// Peer is the connection, Owner what whoever serves it has to do with it.
	Peer  Peer
	Owner any
}

// NamedCodec is a codec that has no number at this protocol.
const NamedCodec = 0xff

// Peer is the connection that a call came over.
type Peer interface {
	Remote() net.Addr
	Local() net.Addr
	TLS() *tls.ConnectionState // nil without TLS
}

// Server is who serves the calls of all protocols. Its methods are called by many
// goroutines at once.
type Server interface {
	// Accept decides about a call. It runs on the goroutine that reads, under
	// the lock of its connection: it must not block or call the exchange. A
	// refused call has provably not run.
	Accept(call *Call) (Served, *wire.Refusal)
	// Refused tells of a call that the protocol itself refused, before Accept. It
	// runs as Accept does.
	Refused(call *Call, why *wire.Refusal)
}

// Served is an accepted call as its server sees it.
type Served interface {
	// Whole reports whether the method takes exactly one request message. Serve
	// is called only once that is there.
	Whole() bool
	// Pace is that of the method, nil if nothing is known of it.
	Pace() *roles.Pace
	// Compression is the number of the one that answers may be in, 0 for none. It
	// is one that the call accepts.
	Compression() uint8
	// Serve runs the handler and says in a how the call ended.
	Serve(x Exchange, a *Answer)
	// Stopped says that the call ended without its handler: it was cancelled, its deadline has
	// passed, a limit was crossed, the connection is lost. It runs under the lock of the
	// connection: it must not block or call the exchange.
	Stopped(how Stop)
	// Dropped says, under the lock as well, that the call ended before Serve.
	Dropped()
}

// Stop is how a call ended without its handler.
type Stop struct {
	Code    wire.Code
	Message string
	Refused bool // the handler was never started
	Lost    bool // with the connection: nobody is told
}

// Exchange is the messages of a call, and what goes ahead of the answer. One
// goroutine may send while another receives.
type Exchange interface {
	// Receive waits for the next message of the request; the caller frees it. compressed
	// says that it is in the call's compression. The error is io.EOF after the last, a *Fault
	// when the request is malformed, and ErrOver when the call is over.
	Receive() (message *transport.Buffer, compressed bool, err error)
	// SendHeader sends metadata ahead of the first message. Later calls do
	// nothing.
	SendHeader(m wire.Metadata) error
	// Send sends a message, which begins behind Headroom bytes, and is in Served.Compression
	// if it is compressed. It waits while earlier ones have no place. The buffer is the
	// exchange's from then on.
	Send(message *transport.Buffer, compressed bool) error
}

// Headroom is how many bytes are left free before a message that is sent, for
// what its protocol puts there.
const Headroom = 5

// Answer is how Served.Serve says that its call ended.
type Answer struct {
	// Ending has the status and the trailers. With HasMessage, the last message is
	// that in Scratch, in Served.Compression unless Compression is 0; Payload is not looked at.
	Ending wire.Ending
	// Header is sent ahead of the message, if no header was sent before.
	Header wire.Metadata
	// Scratch is memory to build a message in, behind Headroom bytes. It holds
	// whatever it held before.
	Scratch []byte
}

// Fault is what is wrong with a request.
type Fault struct {
	Code       wire.Code
	Text       string
	RetryAfter uint32 // milliseconds, if its handler has not begun; 0: it is not to come again
}

func (f *Fault) Error() string { return f.Code.String() + ": " + f.Text }

// Refusal is what the caller is told of it where the handler has not begun.
func (f *Fault) Refusal() *wire.Refusal {
	return &wire.Refusal{Code: f.Code, Message: f.Text, RetryAfter: f.RetryAfter}
}

// ErrOver is returned by the methods of an exchange whose call is over.
var ErrOver error = &Fault{Code: wire.Canceled, Text: "the call is over"}
