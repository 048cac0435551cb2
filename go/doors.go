package trunkcall

import (
	"log/slog"
	"net"
	"time"

	"github.com/trunkcall/trunkcall/go/transport"
	"github.com/trunkcall/trunkcall/go/transport/http2"
	"github.com/trunkcall/trunkcall/go/transport/web"
	"github.com/trunkcall/trunkcall/go/wire"
)

// The doors of a server: how clients of other protocols get at its methods, on
// the same port (spec/doors.md).

// WithNativeOnly has a server serve no other protocol than Trunkcall's own. The
// default is to serve clients of gRPC besides.
func WithNativeOnly() ServerOption {
	return serverOption(func(s *serverOptions) { s.nativeOnly = true })
}

// protocols is what a server offers in the negotiation of TLS.
func (o *serverOptions) protocols() []string {
	if o.nativeOnly {
		return []string{transport.ALPN}
	}
	return []string{transport.ALPN, transport.ALPNHTTP2}
}

// room is what header lists and their fields may come to beyond metadata: what
// belongs to HTTP and gRPC.
const (
	headerRoom = 4 << 10
	fieldRoom  = 64
	fieldCost  = 32 // of a field in a header list, beside its name and value (RFC 9113 6.5.2)
	mostHeader = 16 << 20
)

// http2Config is how HTTP/2 is served: with the limits that native connections
// have, as far as there are such.
func (s *Server) http2Config() *http2.Config {
	local, keepalive := &s.options.local, s.options.keepaliveInterval
	if keepalive == 0 {
		keepalive = -1
	}
	// Binary values are a third longer there.
	header := 4*uint64(local.MetadataBytes)/3 + fieldCost*uint64(local.MetadataEntries) + headerRoom
	return http2.Config{
		Handler: &web.HTTP2{
			GRPC: &web.GRPC{
				Server: doors{&s.serving}, MaxMessage: local.Message, Limits: local, Compressions: s.options.compressions.set(),
			},
			OnClosed: s.http2Closed,
		},
		Pool: s.http2Pool, Budget: s.config.Budget,
		Streams: local.Calls, Window: local.Window, ConnWindow: max(http2.DefaultConnWindow, local.Window),
		HeaderBytes: uint32(min(max(header, http2.DefaultHeaderBytes), mostHeader)),
		Fields:      int(max(min(local.MetadataEntries, mostHeader)+fieldRoom, http2.DefaultFields)),

		KeepaliveInterval: keepalive, KeepaliveTimeout: s.options.keepaliveTimeout,
	}.Complete()
}

// offerHTTP2 has a listener serve HTTP/2.
func (s *Server) offerHTTP2(l *transport.Listener) {
	if s.options.nativeOnly {
		return
	}
	l.HTTP2 = transport.Door{Serve: s.http2Connected, Decline: declineCleartext}
}

func declineCleartext(socket net.Conn, text string) {
	http2.Decline(socket, http2.InadequateSecurity, text)
}

// http2Connected serves a connection whose peer speaks HTTP/2.
func (s *Server) http2Connected(socket net.Conn, prefix []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		go http2.Decline(socket, http2.NoError, "the server is stopping")
		return
	}
	c := &Connection{began: time.Now()}
	c.route = route{s.calling, c}
	conn := http2.Prepare(socket, prefix, s.http2, c)
	c.link = conn
	s.connections[c] = struct{}{}
	s.done.Add(1)
	c.connected()
	conn.Start()
}

func (s *Server) http2Closed(conn *http2.Conn, err error) {
	c := conn.Owner.(*Connection) //nolint:forcetypeassert // http2Connected sets nothing else
	s.closed(c, err, http2.Violated(err))
}

// closed takes leave of a connection.
func (s *Server) closed(c *Connection, err error, violated bool) {
	s.mu.Lock()
	delete(s.connections, c)
	s.mu.Unlock()
	if violated {
		s.options.log(slog.LevelWarn, "connection ended", "remote", c.Remote(), "error", err)
	} else {
		s.options.log(slog.LevelDebug, "disconnected", "remote", c.Remote(), "cause", transport.Describe(err))
	}
	c.disconnected(err)
	s.done.Done()
}

// doors is what is served, as the doors see it.
type doors struct{ *serving }

// Accept decides about a call as acceptor.Accept does.
func (s doors) Accept(call *web.Call) (web.Served, *wire.Refusal) {
	d, refusal := s.open(call)
	if refusal != nil {
		s.Refused(call, refusal)
		return nil, refusal
	}
	return d, nil
}

// Refused counts and logs a call that is not served.
func (s doors) Refused(call *web.Call, why *wire.Refusal) {
	s.unserved(call.Peer.Remote(), "", true, why.Code, why.Message)
}
