package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// The first bytes that a peer sends decide its protocol; inside TLS the negotiation does. Nothing
// is read beyond what decides.

// Recognition is what the first bytes of a connection say of one protocol.
type Recognition uint8

// What they may say.
const (
	NotRecognized Recognition = iota // they are not its
	NeedsMore                        // they may be, more of them will tell
	Recognized
)

// MostFirst is how many bytes are looked at, at most, until the protocol is known.
const MostFirst = 64

// Protocol is one that a listener recognises on its port.
type Protocol struct {
	Name string
	// ALPN is what the negotiation of TLS calls it; "": it is not negotiated.
	ALPN string
	// ClientFirst says that the client speaks first, so that its first bytes are checked even if
	// the protocol was negotiated.
	ClientFirst bool
	// Recognize judges the first bytes of a connection, MostFirst at most.
	Recognize func(first []byte) Recognition
	// Serve is given each connection, with the bytes that were read already, and the
	// time by which it must have begun.
	Serve func(socket net.Conn, prefix []byte, by time.Time)
	// Decline tells a peer why it is not served, and closes the socket; nil: it is just closed.
	Decline func(socket net.Conn, text string)
}

// Native is Trunkcall's own protocol.
func Native(serve func(socket net.Conn, prefix []byte, by time.Time)) Protocol {
	return Protocol{Name: ALPN, ALPN: ALPN, ClientFirst: true, Recognize: RecognizeNative, Serve: serve, Decline: Decline}
}

// open finds out what the peer speaks and passes it on.
func (l *Listener) open(socket net.Conn, by time.Time) {
	defer l.done.Done()
	serve, prefix, final, err := l.identifyContained(socket, by)
	if many := (*tooMany)(nil); errors.As(err, &many) {
		l.turnAway(socket, many)
		return
	}
	l.forget(socket)
	if err != nil {
		l.refuse(socket.RemoteAddr(), err)
		_ = socket.Close()
		return
	}
	serve(final, prefix, by)
}

// identifyContained is identify with panics turned into errors: a user's tls.Config or protocol
// must not end the process.
func (l *Listener) identifyContained(socket net.Conn, by time.Time) (serve serve, prefix []byte, final net.Conn, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return l.identify(socket, by)
}

// tooMany is why a connection is not served that is beyond the limits.
type tooMany struct {
	error
	socket net.Conn
	proxy  bool // the header of the PROXY protocol is still to come
}

// serve is Protocol.Serve.
type serve = func(socket net.Conn, prefix []byte, by time.Time)

func (l *Listener) refuse(remote net.Addr, err error) {
	if l.Refused != nil {
		l.Refused(remote, err)
	}
}

func (l *Listener) patience() time.Duration { return cmp.Or(l.Patience, HandshakeTimeout) }

// What the first bytes of a connection on TLS, HTTP/2 and HTTP/1.1 are.
const (
	tlsHandshakeRecord = 0x16
	http2Preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// What TLS's application-layer negotiation calls the others (RFC 7301).
const (
	ALPNHTTP2 = "h2"
	ALPNHTTP1 = "http/1.1"
)

// RecognizeNative is Protocol.Recognize of Trunkcall's own.
func RecognizeNative(first []byte) Recognition { return beginsWith(string(wire.Magic[:]), first) }

// RecognizeHTTP2 is Protocol.Recognize of HTTP/2.
func RecognizeHTTP2(first []byte) Recognition { return beginsWith(http2Preface, first) }

// RecognizeHTTP1 is Protocol.Recognize of HTTP/1.1, where HTTP/2 was asked before.
func RecognizeHTTP1(first []byte) Recognition {
	if 'A' <= first[0] && first[0] <= 'Z' {
		return Recognized
	}
	return NotRecognized
}

// recognizeTLS is asked before all protocols on a connection that is not encrypted.
func recognizeTLS(first []byte) Recognition {
	return beginsWith(string(rune(tlsHandshakeRecord)), first)
}

// beginsWith recognises what begins with want. A short beginning is no decision.
func beginsWith(want string, first []byte) Recognition {
	switch {
	case len(first) >= len(want) && string(first[:len(want)]) == want:
		return Recognized
	case len(first) < len(want) && want[:len(first)] == string(first):
		return NeedsMore
	}
	return NotRecognized
}

func (l *Listener) identify(socket net.Conn, by time.Time) (serve serve, prefix []byte, final net.Conn, err error) {
	accepted, remote := socket, socket.RemoteAddr()
	if l.Proxied {
		remote = nil // whose it is it has yet to say
	}
	if l.Limits != nil {
		if err := l.Limits.Enter(remote); err != nil {
			return nil, nil, nil, &tooMany{err, socket, l.Proxied}
		}
		defer func() {
			if serve == nil {
				l.Limits.Leave(remote)
			}
		}()
	}
	if l.Proxied {
		if socket, err = readProxy(socket); err != nil {
			return nil, nil, nil, err
		}
		if l.Limits != nil {
			if err := l.Limits.Name(socket.RemoteAddr()); err != nil {
				return nil, nil, nil, &tooMany{err, socket, false}
			}
		}
		remote = socket.RemoteAddr()
	}
	spoken, prefix, err := l.readStart(socket, true)
	if err != nil {
		return nil, nil, nil, err
	}
	final = socket
	if spoken == &overTLS {
		if l.TLS == nil {
			// What a TLS client makes of this is that there is no TLS here.
			l.farewell(accepted, func() { Decline(socket, "this port does not speak TLS") })
			return nil, nil, nil, errors.New("a TLS handshake on a port without TLS")
		}
		if spoken, prefix, final, err = l.secure(socket, prefix, by); err != nil {
			return nil, nil, nil, err
		}
	}
	switch {
	case spoken == nil:
		return nil, nil, nil, fmt.Errorf("the first bytes %q are no protocol served here", prefix)
	case final == socket && l.TLS != nil && !l.AllowClear:
		if spoken.Decline != nil {
			l.farewell(accepted, func() { spoken.Decline(socket, "cleartext is refused on this port: use TLS") })
		}
		return nil, nil, nil, errors.New("cleartext on a port with TLS")
	}
	if err := socket.SetDeadline(time.Time{}); err != nil {
		return nil, nil, nil, err
	}
	return spoken.Serve, prefix, final, nil
}

// farewell tells a peer why it is not served. Closing the listener does not wait for that.
func (l *Listener) farewell(accepted net.Conn, say func()) {
	if l.parts(accepted) {
		say()
	}
}

// secure does the handshake of TLS and finds out what is spoken inside.
func (l *Listener) secure(socket net.Conn, before []byte, by time.Time) (spoken *Protocol, prefix []byte, final net.Conn, err error) {
	secure := tls.Server(&tlsSocket{Conn: socket, in: before}, l.TLS)
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, nil, nil, fmt.Errorf("TLS handshake: %w", err)
	}
	negotiated := l.negotiated(secure.ConnectionState().NegotiatedProtocol)
	if negotiated != nil && !negotiated.ClientFirst {
		return negotiated, nil, secure, nil // whose server speaks first, if it likes
	}
	if spoken, prefix, err = l.readStart(secure, false); err != nil {
		return nil, nil, nil, err
	}
	if negotiated != nil && spoken != negotiated {
		spoken = nil
	}
	return spoken, prefix, secure, nil
}

// negotiated is the protocol that was negotiated in TLS, nil if none was.
func (l *Listener) negotiated(name string) *Protocol {
	for i := range l.Protocols {
		if p := &l.Protocols[i]; name != "" && p.ALPN == name {
			return p
		}
	}
	return nil
}

// overTLS stands for the protocol inside TLS, which is not known yet.
var overTLS = Protocol{Name: "TLS", Recognize: recognizeTLS}

// spoken is the protocol whose connections begin with prefix; more says that more bytes are needed
// to decide. The protocols are asked in order: one that needs more bytes is waited for before the
// next is asked.
func (l *Listener) spoken(prefix []byte, cleartext bool) (spoken *Protocol, more bool) {
	if cleartext && recognizeTLS(prefix) == Recognized {
		return &overTLS, false
	}
	for i := range l.Protocols {
		switch p := &l.Protocols[i]; p.Recognize(prefix) {
		case Recognized:
			return p, false
		case NeedsMore:
			return nil, true
		}
	}
	return nil, false
}

// readStart reads until the protocol is certain, and little beyond; nil: it is none that is
// served.
func (l *Listener) readStart(socket net.Conn, cleartext bool) (*Protocol, []byte, error) {
	return readFirst(socket, func(prefix []byte) (*Protocol, bool) { return l.spoken(prefix, cleartext) })
}

// readFirst is readStart with what judges the first bytes.
func readFirst(socket net.Conn, judge func(prefix []byte) (spoken *Protocol, more bool)) (*Protocol, []byte, error) {
	prefix := make([]byte, 0, MostFirst)
	for {
		limit := len(wire.Magic)
		if len(prefix) >= limit {
			limit = len(http2Preface)
		}
		if len(prefix) >= limit {
			limit = MostFirst
		}
		n, err := socket.Read(prefix[len(prefix):limit])
		prefix = prefix[:len(prefix)+n]
		if len(prefix) > 0 {
			if spoken, more := judge(prefix); !more || len(prefix) == MostFirst {
				return spoken, prefix, nil
			}
		}
		if err != nil && len(prefix) == 0 {
			return nil, nil, nothingSaid(err)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("no protocol after %d bytes: %w", len(prefix), err)
		}
	}
}

func nothingSaid(err error) error { return fmt.Errorf("%w: %w", ErrNothingSaid, err) }

// Decline tells a peer that speaks Trunkcall that none of its calls was or will
// be started, and closes the socket.
func Decline(socket net.Conn, text string) {
	sayGoodbye(socket, text)
	_ = socket.Close()
}

// sayGoodbye tells a peer that speaks Trunkcall why it is not served.
func sayGoodbye(socket net.Conn, text string) {
	b := wire.AppendPreface(nil, &wire.Preface{Version: wire.Version, Highest: wire.Version, Settings: wire.DefaultSettings()})
	b = wire.AppendGoAway(b, wire.GoAwayNotServed, text)
	_ = socket.SetDeadline(time.Now().Add(lingerTime))
	_, _ = socket.Write(b)
	linger(socket)
}
