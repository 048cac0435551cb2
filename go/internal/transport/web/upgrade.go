package web

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport"
	"github.com/trunkcall/trunkcall/go/internal/transport/web/websocket"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// upgrade makes a connection a WebSocket that carries a native one.
func (h *HTTP1) upgrade(w http.ResponseWriter, r *http.Request, c *HTTP1Conn) {
	switch {
	case !websocket.Offers(r):
		refuseRequest(w, http.StatusBadRequest, wire.InvalidArgument, "WebSockets are served with the sub-protocol "+transport.ALPN+" only")
		return
	case !h.Origins.allow(r):
		refuseRequest(w, http.StatusForbidden, wire.PermissionDenied, "pages of "+strings.ToValidUTF8(r.Header.Get("Origin"), "\ufffd")+" may open no WebSockets here")
		return
	}
	c.upgraded.Store(true)
	socket, err := websocket.Accept(w, r, c.socket, &c.input)
	if err != nil {
		return // and the peer was told
	}
	by := c.beginBy
	if by.IsZero() {
		by = time.Now().Add(transport.HandshakeTimeout)
	}
	switch prefix, err := h.greeted(socket, by); {
	case err == nil:
		h.WebSocket(socket, prefix, by)
	case !errors.Is(err, io.ErrClosedPipe): // that it was closed at this end
		h.Refused(socket.RemoteAddr(), err)
	}
}

// greeted waits until the peer has begun to speak Trunkcall, or Close is called.
func (h *HTTP1) greeted(socket *transport.WebSocket, by time.Time) (prefix []byte, err error) {
	h.mu.Lock()
	if h.silent == nil {
		h.mu.Unlock()
		_ = socket.Close()
		return nil, io.ErrClosedPipe
	}
	h.silent[socket] = struct{}{}
	h.silences.Add(1)
	h.mu.Unlock()
	defer h.silences.Done()
	prefix, err = socket.Greeted(by)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.silent, socket)
	return prefix, err
}
