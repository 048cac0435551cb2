// Package websocket takes connections of HTTP/1.1 that become WebSockets which carry Trunkcall (spec/http.md 7).
package websocket

import (
	"net"
	"net/http"

	"github.com/coder/websocket"
	"golang.org/x/net/http/httpguts"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// Asks reports whether a request is to become a WebSocket.
func Asks(r *http.Request) bool {
	return r.Method == http.MethodGet && httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// Offers reports whether it may carry Trunkcall.
func Offers(r *http.Request) bool {
	return httpguts.HeaderValuesContainsToken(r.Header["Sec-Websocket-Protocol"], transport.ALPN)
}

// Accept makes the connection of a request a WebSocket, on this socket, whose input is counted. It
// fails for a malformed request; the sender has been told then.
func Accept(w http.ResponseWriter, r *http.Request, socket net.Conn, input *transport.WebSocketInput) (*transport.WebSocket, error) {
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols: []string{transport.ALPN}, CompressionMode: websocket.CompressionDisabled,
		InsecureSkipVerify: true, // the origin was looked at before
	})
	if err != nil {
		return nil, err
	}
	return transport.NewWebSocket(ws, socket, input), nil
}
