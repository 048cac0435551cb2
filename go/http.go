package trunkcall

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/http2"
	"github.com/trunkcall/trunkcall/go/internal/transport/web"
	"github.com/trunkcall/trunkcall/go/internal/transport/web/connect"
	"github.com/trunkcall/trunkcall/go/internal/transport/web/grpc"
	"github.com/trunkcall/trunkcall/go/internal/transport/web/grpcweb"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// How clients of HTTP protocols reach the methods of a server, on the same port (spec/http.md).

// WithNativeOnly has a server serve no other protocol than Trunkcall's own. The
// default is to serve clients of gRPC, Connect and plain HTTP besides.
func WithNativeOnly() ServerOption {
	return serverOption(func(s *serverOptions) { s.nativeOnly = true })
}

// WithOrigins allows web pages of other origins, such as "https://app.example.com",
// to call a server from browsers and to open WebSockets there; "*" stands for all. The default
// is that pages can do so only where they were loaded from the server's own host and port.
func WithOrigins(origins ...string) ServerOption {
	return serverOption(func(s *serverOptions) { s.origins = append(s.origins, origins...) })
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
func (s *Server) http2Config(other *web.HTTP) *http2.Config {
	local, keepalive := &s.options.local, s.options.keepaliveInterval
	if keepalive == 0 {
		keepalive = -1
	}
	return http2.Config{
		Handler: &web.HTTP2{
			GRPC: &grpc.Protocol{
				Server: httpMethods{&s.serving}, MaxMessage: local.Message, Limits: local, Compressions: s.options.compressions.set(),
			},
			Other: web.OverHTTP2(other), OnClosed: s.http2Closed,
		},
		Pool: s.pool, Budget: s.config.Budget, NoPollers: s.options.unpolled,
		Streams: local.Calls, Window: local.Window, ConnWindow: max(http2.DefaultConnWindow, local.Window),
		MostWindow:  max(min(s.config.MaxPool, mostHTTP2Window), local.Window),
		HeaderBytes: uint32(s.headerBytes()),
		Fields:      int(max(min(local.MetadataEntries, mostHeader)+fieldRoom, http2.DefaultFields)),

		KeepaliveInterval: keepalive, KeepaliveTimeout: s.options.keepaliveTimeout,
		Panicked: s.options.panicked,
	}.Complete()
}

// mostHTTP2Window is what a window of HTTP/2 grows to (spec/limits.md 5).
const mostHTTP2Window = 32 << 20

// headerBytes is the longest header of a request, whose binary values are a
// third longer than natively.
func (s *Server) headerBytes() int {
	local := &s.options.local
	header := 4*uint64(local.MetadataBytes)/3 + fieldCost*uint64(local.MetadataEntries) + headerRoom
	return int(min(max(header, http2.DefaultHeaderBytes), mostHeader))
}

// openHTTP prepares what serves other protocols.
func (s *Server) openHTTP() {
	local := &s.options.local
	handler := &web.HTTP{
		Dialects: []web.Dialect{connect.Stream{}, grpcweb.Text{}, grpcweb.Binary{}, connect.Unary{}},
		Server:   httpMethods{&s.serving}, Catalog: httpMethods{&s.serving}, MaxMessage: local.Message, Limits: local,
		Compressions: s.options.compressions.set(), Budget: s.config.Budget,
		Origins: s.options.origins, Panicked: s.options.panicked,
	}
	s.http2 = s.http2Config(handler)
	s.http1 = &web.HTTP1{
		Handler: handler, HeaderBytes: s.headerBytes(), Origins: s.options.origins, WebSocket: s.webSocketConnected, Refused: s.rejected,
		OnOpen:   func(conn *web.HTTP1Conn) { conn.Owner.(*Connection).connected() }, //nolint:forcetypeassert // http1Connected sets nothing else
		OnClosed: s.http1Closed,
	}
}

// httpProtocols are what carries the protocols of HTTP.
func (s *Server) httpProtocols() []transport.Protocol {
	if s.options.nativeOnly {
		return nil
	}
	return []transport.Protocol{{
		Name: transport.ALPNHTTP2, ALPN: transport.ALPNHTTP2,
		Recognize: transport.RecognizeHTTP2, Serve: s.http2Connected, Decline: web.DeclineHTTP2,
	}, {
		Name: transport.ALPNHTTP1, ALPN: transport.ALPNHTTP1, ClientFirst: true,
		Recognize: transport.RecognizeHTTP1, Serve: s.http1Connected,
		Decline: func(socket net.Conn, text string) { web.Decline(socket, http.StatusBadRequest, text) },
	}}
}

// http2Connected serves a connection whose peer speaks HTTP/2.
func (s *Server) http2Connected(socket net.Conn, prefix []byte, by time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		s.limits.Leave(socket.RemoteAddr())
		go http2.Decline(socket, "the server is stopping")
		return
	}
	c := s.foreign(transport.ALPNHTTP2)
	conn := http2.Prepare(socket, prefix, s.http2, c)
	c.link = conn
	s.addLocked(c)
	c.connected()
	conn.GreetBy(by)
	conn.Start()
}

// foreign makes a connection that speaks another protocol.
func (s *Server) foreign(protocol string) *Connection {
	c := &Connection{began: time.Now(), protocol: protocol}
	c.route = route{s.calling, c}
	return c
}

// webSocketConnected serves a connection that came as a WebSocket: it was counted as one of
// HTTP/1.1, which has ended.
func (s *Server) webSocketConnected(socket net.Conn, prefix []byte, by time.Time) {
	s.limits.Again(socket.RemoteAddr())
	s.connected(socket, prefix, by)
}

// http1Connected serves a connection whose peer speaks HTTP/1.1.
func (s *Server) http1Connected(socket net.Conn, prefix []byte, by time.Time) {
	conn := s.http1.Prepare(socket, prefix)
	conn.BeginBy(by)
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		s.limits.Leave(socket.RemoteAddr())
		go web.Decline(socket, http.StatusServiceUnavailable, "the server is stopping")
		return
	}
	c := s.foreign(transport.ALPNHTTP1)
	c.link, conn.Owner = conn, c
	s.addLocked(c)
	s.mu.Unlock()
	s.http1.Serve(conn)
}

func (s *Server) http1Closed(conn *web.HTTP1Conn, err error) {
	s.closed(conn.Owner.(*Connection), err, false) //nolint:forcetypeassert // http1Connected sets nothing else
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
	if c.retiring != nil {
		c.retiring.Stop()
	}
	s.limits.Leave(c.Remote())
	if violated {
		s.options.log(slog.LevelWarn, "connection ended", "remote", c.Remote(), "error", err)
	} else {
		s.options.log(slog.LevelDebug, "disconnected", "remote", c.Remote(), "cause", transport.Describe(err))
	}
	c.disconnected(err)
	s.done.Done()
}

// httpMethods is what is served, as the protocols of HTTP see it.
type httpMethods struct{ *serving }

// Accept decides about a call as acceptor.Accept does.
func (s httpMethods) Accept(call *web.Call) (web.Served, *wire.Refusal) {
	d, refusal := s.open(call)
	if refusal != nil {
		s.Refused(call, refusal)
		return nil, refusal
	}
	return d, nil
}

// Refused counts and logs a call that is not served.
func (s httpMethods) Refused(call *web.Call, why *wire.Refusal) {
	s.unserved(call.Peer.Remote(), call.Method, true, why.Code, why.Message)
}

// Lookup tells what is known of a method.
func (s httpMethods) Lookup(method string) (m web.Method, ok bool) {
	h := s.named(method)
	if h == nil {
		return m, false
	}
	return web.Method{Name: h.Method.Name, Streams: h.Unary == nil, Safe: h.NoSideEffects, Lacks: s.lacks(h)}, true
}

// lacks are the codecs that cannot carry the messages of a handler, as far as that is
// known beforehand, bit n standing for number n.
func (s httpMethods) lacks(h *Handler) (set uint16) {
	for n, codec := range s.options.codecs {
		switch {
		case codec == nil:
		case h.Carries != nil && !h.Carries(codec), h.messages != (messages{}) && n == int(messagePack{}.Number()):
			set |= 1 << n
		}
	}
	return set
}
