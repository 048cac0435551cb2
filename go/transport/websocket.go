package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/coder/websocket"
)

// WebSocket carries a native connection in the binary messages of a WebSocket
// (protocol.md 13). It cannot half-close.
type WebSocket struct {
	socket net.Conn // that the WebSocket is on
	ws     *websocket.Conn

	// What arrives is handed over by a goroutine: package websocket ends a
	// connection when a read is broken off.
	in, feed net.Conn
	closing  sync.Once
}

// NewWebSocket takes over a WebSocket that was opened on socket.
func NewWebSocket(ws *websocket.Conn, socket net.Conn) *WebSocket {
	c := &WebSocket{socket: socket, ws: ws}
	c.in, c.feed = net.Pipe()
	ws.SetReadLimit(-1) // messages are no units of anything
	go c.pump()
	return c
}

// Greeted waits until the peer has begun to speak Trunkcall, and returns what it has
// said by then. It closes the connection if that does not come in time.
func (c *WebSocket) Greeted(by time.Time) (prefix []byte, ok bool) {
	_ = c.SetReadDeadline(by)
	spoken, prefix, err := readStart(c)
	if err != nil || spoken != speaksNative {
		_ = c.Close()
		return nil, false
	}
	_ = c.SetReadDeadline(time.Time{})
	return prefix, true
}

// pump hands over what arrives until there is no more.
func (c *WebSocket) pump() {
	defer func() { _ = c.feed.Close() }()
	buffer := take(&readBuffers)
	defer readBuffers.Put(buffer)
	for {
		kind, message, err := c.ws.Reader(context.Background())
		if err != nil {
			return
		}
		if kind != websocket.MessageBinary {
			c.close(websocket.StatusUnsupportedData, "frames are carried by binary messages")
			return
		}
		if _, err := io.CopyBuffer(onlyWriter{c.feed}, message, buffer.B); err != nil {
			return
		}
	}
}

// onlyWriter keeps io.CopyBuffer to the buffer that it was given.
type onlyWriter struct{ io.Writer }

// Read implements net.Conn.
func (c *WebSocket) Read(b []byte) (int, error) { return c.in.Read(b) }

// webSocketFrame is the longest payload of a frame that is sent (limits.md 1):
// peers may have to keep a frame until it is whole.
const webSocketFrame = 256 << 10

// Write sends b, as one message unless it is long. When it fails, it is not known how
// much was sent.
func (c *WebSocket) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), webSocketFrame)
		if err := c.ws.Write(context.Background(), websocket.MessageBinary, rest[:n]); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// Close begins the closing handshake and does not wait for its end.
func (c *WebSocket) Close() error {
	_ = c.in.Close()
	go c.close(websocket.StatusNormalClosure, "")
	return nil
}

func (c *WebSocket) close(code websocket.StatusCode, reason string) {
	c.closing.Do(func() {
		impatience := time.AfterFunc(lingerTime, func() { _ = c.socket.Close() })
		defer impatience.Stop()
		_ = c.ws.Close(code, reason)
	})
}

// LocalAddr is the address of this end.
func (c *WebSocket) LocalAddr() net.Addr { return c.socket.LocalAddr() }

// RemoteAddr is the address of the other end.
func (c *WebSocket) RemoteAddr() net.Addr { return c.socket.RemoteAddr() }

// ConnectionState is the state of TLS, empty without.
func (c *WebSocket) ConnectionState() tls.ConnectionState {
	if s, ok := c.socket.(interface{ ConnectionState() tls.ConnectionState }); ok {
		return s.ConnectionState()
	}
	return tls.ConnectionState{}
}

// SetDeadline implements net.Conn.
func (c *WebSocket) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *WebSocket) SetReadDeadline(t time.Time) error { return c.in.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn. A write that misses it ends the
// connection.
func (c *WebSocket) SetWriteDeadline(t time.Time) error { return c.socket.SetWriteDeadline(t) }

// webSocketURL parses a target that is one, "ws://HOST:PORT/PATH" or "wss://…"; it
// returns nil for any other.
func webSocketURL(target string) (*url.URL, error) {
	if !strings.HasPrefix(target, "ws://") && !strings.HasPrefix(target, "wss://") {
		return nil, nil //nolint:nilnil // it is no such target, which is no fault
	}
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("target %q: want ws://HOST:PORT/PATH", target)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"ws": "80", "wss": "443"}[u.Scheme])
	}
	return u, nil
}

// upgrade opens a WebSocket on a socket that was connected to where u says.
func upgrade(ctx context.Context, socket net.Conn, u *url.URL) (net.Conn, error) {
	given := func(context.Context, string, string) (net.Conn, error) { return socket, nil }
	client := &http.Client{
		Transport:     &http.Transport{DialContext: given, DialTLSContext: given, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the socket leads nowhere else
	}
	ws, response, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{
		HTTPClient: client, Subprotocols: []string{ALPN}, CompressionMode: websocket.CompressionDisabled,
	})
	switch {
	case err != nil:
		_ = socket.Close()
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			text := fmt.Sprintf("the server answers %s where a WebSocket was asked for%s", response.Status, reason(response))
			if response.StatusCode == http.StatusServiceUnavailable {
				return nil, TurnedAway{text}
			}
			return nil, errors.New(text)
		}
		return nil, TurnedAway{"WebSocket: " + Describe(err)}
	case ws.Subprotocol() != ALPN:
		_ = ws.CloseNow()
		return nil, fmt.Errorf("the WebSocket at %s does not speak the sub-protocol %q", u.Redacted(), ALPN)
	}
	return NewWebSocket(ws, socket), nil
}

// reason is the line of text with which a server says why it refuses, if there is one,
// behind a colon.
func reason(response *http.Response) string {
	line := make([]byte, 200)
	n, _ := io.ReadFull(response.Body, line)
	text, _, _ := strings.Cut(string(line[:n]), "\n")
	text = strings.TrimSpace(text)
	odd := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if text == "" || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") || strings.ContainsFunc(text, odd) {
		return ""
	}
	return ": " + text
}
