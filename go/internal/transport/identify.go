package transport

import (
	"bytes"
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

// What a peer speaks is found out by the first bytes that it sends, inside TLS
// by what was negotiated there. Nothing is read beyond what decides.

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

// identifyContained is identify, which a panic ends as an error: what a user's
// tls.Config calls must not take the process down.
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

// protocol is what a connection speaks.
type protocol int

const (
	undecided protocol = iota
	speaksNative
	speaksTLS
	speaksHTTP2
	speaksHTTP1
	speaksUnknown
)

const (
	tlsHandshakeRecord = 0x16
	http2Preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// What TLS's application-layer negotiation calls the others (RFC 7301).
const (
	ALPNHTTP2 = "h2"
	ALPNHTTP1 = "http/1.1"
)

// protocolOf judges the first bytes. A short beginning of several is no decision.
func protocolOf(prefix []byte) protocol {
	switch {
	case len(prefix) == 0:
		return undecided
	case bytes.Equal(prefix, wire.Magic[:]):
		return speaksNative
	case bytes.HasPrefix(wire.Magic[:], prefix):
		return undecided
	case prefix[0] == tlsHandshakeRecord:
		return speaksTLS
	case string(prefix) == http2Preface:
		return speaksHTTP2
	case len(prefix) < len(http2Preface) && http2Preface[:len(prefix)] == string(prefix):
		return undecided
	case 'A' <= prefix[0] && prefix[0] <= 'Z':
		return speaksHTTP1
	}
	return speaksUnknown
}

func (l *Listener) identify(socket net.Conn, by time.Time) (serve serve, prefix []byte, final net.Conn, err error) {
	remote := socket.RemoteAddr()
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
	spoken, prefix, err := readStart(socket)
	if err != nil {
		return nil, nil, nil, err
	}
	final = socket
	if spoken == speaksTLS {
		if l.TLS == nil {
			// What a TLS client makes of this is that there is no TLS here.
			sayGoodbye(socket, "this port does not speak TLS")
			return nil, nil, nil, errors.New("a TLS handshake on a port without TLS")
		}
		if spoken, prefix, final, err = l.secure(socket, prefix, by); err != nil {
			return nil, nil, nil, err
		}
	}
	server, native := l.serverOf(spoken)
	switch {
	case server.Serve == nil:
		return nil, nil, nil, fmt.Errorf("the first bytes %q are no protocol served here", prefix)
	case final == socket && l.TLS != nil && !l.AllowClear:
		const text = "cleartext is refused on this port: use TLS"
		if native {
			sayGoodbye(socket, text)
		} else if server.Decline != nil {
			server.Decline(socket, text)
		}
		return nil, nil, nil, errors.New("cleartext on a port with TLS")
	}
	if err := socket.SetDeadline(time.Time{}); err != nil {
		return nil, nil, nil, err
	}
	return server.Serve, prefix, final, nil
}

// serverOf is who serves a protocol.
func (l *Listener) serverOf(spoken protocol) (server Protocol, native bool) {
	switch spoken {
	case speaksNative:
		return Protocol{Serve: l.Native}, true
	case speaksHTTP2:
		return l.HTTP2, false
	case speaksHTTP1:
		return l.HTTP1, false
	default:
		return Protocol{}, false
	}
}

// secure does the handshake of TLS and finds out what is spoken inside.
func (l *Listener) secure(socket net.Conn, before []byte, by time.Time) (spoken protocol, prefix []byte, final net.Conn, err error) {
	secure := tls.Server(&tlsSocket{Conn: socket, in: before}, l.TLS)
	ctx, cancel := context.WithDeadline(context.Background(), by)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return undecided, nil, nil, fmt.Errorf("TLS handshake: %w", err)
	}
	negotiated := secure.ConnectionState().NegotiatedProtocol
	if negotiated == ALPNHTTP2 {
		return speaksHTTP2, nil, secure, nil // whose server speaks first, if it likes
	}
	if spoken, prefix, err = readStart(secure); err != nil {
		return undecided, nil, nil, err
	}
	if negotiated == ALPN && spoken != speaksNative || negotiated == ALPNHTTP1 && spoken != speaksHTTP1 {
		spoken = speaksUnknown
	}
	return spoken, prefix, secure, nil
}

// readStart reads until the protocol is certain, and nothing beyond.
func readStart(socket net.Conn) (protocol, []byte, error) {
	prefix := make([]byte, 0, len(http2Preface))
	for {
		limit := len(wire.Magic)
		if len(prefix) >= limit {
			limit = len(http2Preface)
		}
		n, err := socket.Read(prefix[len(prefix):limit])
		prefix = prefix[:len(prefix)+n]
		if spoken := protocolOf(prefix); spoken != undecided {
			return spoken, prefix, nil
		}
		if err != nil && len(prefix) == 0 {
			return undecided, nil, nothingSaid(err)
		}
		if err != nil {
			return undecided, nil, fmt.Errorf("no protocol after %d bytes: %w", len(prefix), err)
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
