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
	"os"
	"strings"
	"sync"
	"sync/atomic"
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
	input    *WebSocketInput
	pumped   chan struct{} // closed when nothing more arrives, and fault says why if it ever will
	fault    atomic.Pointer[WebSocketFault]
	closing  sync.Once
}

// NewWebSocket takes over a WebSocket that was opened on socket, all of which it reads
// comes through input.
func NewWebSocket(ws *websocket.Conn, socket net.Conn, input *WebSocketInput) *WebSocket {
	c := &WebSocket{socket: socket, ws: ws, input: input, pumped: make(chan struct{})}
	input.begin(func() { c.fail(websocket.StatusPolicyViolation, "too many frames without content") })
	c.in, c.feed = net.Pipe()
	ws.SetReadLimit(-1) // messages are no units of anything
	go c.pump()
	return c
}

// Greeted waits until the peer has begun to speak Trunkcall, and returns what it has
// said by then. If that does not come in time it closes the connection, and says why.
func (c *WebSocket) Greeted(by time.Time) (prefix []byte, err error) {
	_ = c.SetReadDeadline(by)
	native, prefix, err := readFirst(c, func(prefix []byte) (*Protocol, bool) {
		switch RecognizeNative(prefix) {
		case Recognized:
			return &Protocol{}, false
		case NeedsMore:
			return nil, true
		}
		return nil, false
	})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.fail(websocket.StatusPolicyViolation, "the peer took too long to begin")
	case err == nil && native == nil:
		c.fail(websocket.StatusProtocolError, "the first bytes are not those of Trunkcall")
	case err == nil:
		_ = c.SetReadDeadline(time.Time{})
		return prefix, nil
	}
	_ = c.Close()
	if fault := c.fault.Load(); fault != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		err = fault
	}
	return nil, err
}

// fail closes the WebSocket for what its peer did.
func (c *WebSocket) fail(code websocket.StatusCode, reason string) {
	c.fault.CompareAndSwap(nil, &WebSocketFault{code, reason})
	go c.close()
}

// pump hands over what arrives until there is no more.
func (c *WebSocket) pump() {
	defer func() {
		close(c.pumped)
		_ = c.feed.Close()
	}()
	buffer := take(&readBuffers)
	defer readBuffers.Put(buffer)
	for {
		kind, message, err := c.ws.Reader(context.Background())
		switch {
		case err != nil:
			c.unreadable(err)
			return
		case kind != websocket.MessageBinary:
			c.fail(websocket.StatusUnsupportedData, "frames are carried by binary messages")
			return
		}
		if _, err := io.CopyBuffer((*content)(c), onlyReader{message}, buffer.B); err != nil {
			c.unreadable(err)
			return
		}
	}
}

// unreadable notes why no more can be read, if that is for what the peer did: the ends of
// sockets and of WebSockets are no faults.
func (c *WebSocket) unreadable(err error) {
	if websocket.CloseStatus(err) == -1 && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.As(err, new(net.Error)) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
		c.fail(websocket.StatusProtocolError, closeReason(err))
	}
}

// closeReason is what a frame that closes can say of an error.
func closeReason(err error) string {
	const most = 123 // bytes (RFC 6455 5.5)
	text := err.Error()
	if i := strings.LastIndex(text, ": "); len(text) > most && i >= 0 {
		text = text[i+2:] // what is ahead says where it was noticed
	}
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// content takes what messages contain.
type content WebSocket

func (c *content) Write(b []byte) (int, error) {
	c.input.gave(len(b))
	return c.feed.Write(b)
}

// Read implements net.Conn.
func (c *WebSocket) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	if fault := c.fault.Load(); fault != nil && errors.Is(err, io.EOF) {
		err = fault
	}
	return n, err
}

// webSocketFrame is the longest payload of a frame that is sent (limits.md 1):
// peers may have to keep a frame until it is whole.
const webSocketFrame = 256 << 10

// Write sends b, as one message unless it is long. When it fails, it is not known how
// much was sent.
func (c *WebSocket) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), webSocketFrame)
		if err := c.ws.Write(context.Background(), websocket.MessageBinary, rest[:n]); err != nil {
			return 0, c.ended(err)
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// ended is why a write failed: where package websocket has closed the connection for what
// it read, the write only meets that end, and may do so before the reader has said why.
func (c *WebSocket) ended(err error) error {
	patience := time.NewTimer(lingerTime)
	defer patience.Stop()
	select {
	case <-c.pumped:
	case <-patience.C: // what has arrived is not taken: that is not why
	}
	if fault := c.fault.Load(); fault != nil {
		return fault
	}
	return err
}

// Close begins the closing handshake and does not wait for its end.
func (c *WebSocket) Close() error {
	_ = c.in.Close()
	go c.close()
	return nil
}

// close says why it closes, once.
func (c *WebSocket) close() {
	c.closing.Do(func() {
		code, reason := websocket.StatusNormalClosure, ""
		if fault := c.fault.Load(); fault != nil {
			code, reason = fault.Code, fault.Reason
		}
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
	if err != nil {
		return nil, fmt.Errorf("target %q: want ws://HOST:PORT/PATH", target)
	}
	if u.Hostname() == "" || u.User != nil || strings.Contains(target, "#") {
		return nil, fmt.Errorf("target %q: want ws://HOST:PORT/PATH", u.Redacted())
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"ws": "80", "wss": "443"}[u.Scheme])
	}
	return u, nil
}

// upgrade opens a WebSocket on a socket that was connected to where u says.
func upgrade(ctx context.Context, socket net.Conn, u *url.URL) (net.Conn, error) {
	input := &WebSocketInput{}
	given := func(context.Context, string, string) (net.Conn, error) { return &countedSocket{socket, input}, nil }
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
	return NewWebSocket(ws, socket, input), nil
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
