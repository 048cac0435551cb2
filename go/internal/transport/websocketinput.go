package transport

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// WebSocketFault is why this side has closed a WebSocket: its peer broke RFC 6455 or a limit, or
// does not speak Trunkcall in it.
type WebSocketFault struct {
	Code   websocket.StatusCode
	Reason string
}

func (f *WebSocketFault) Error() string {
	return fmt.Sprintf("the WebSocket was closed with %d: %s", f.Code, f.Reason)
}

// How many bytes of no use a WebSocket may bring: headers of frames, PING, PONG, empty frames
// (spec/limits.md 1).
const (
	uselessAtOnce    = 32 << 10
	uselessPerSecond = 8 << 10
	uselessPerByte   = 16 // of content, which earns it
)

// WebSocketInput counts what comes over the socket of a WebSocket, and ends one that
// brings too much of no use: package websocket takes in frames without content, and
// answers PINGs, as long as there are any.
type WebSocketInput struct {
	mu      sync.Mutex
	left    int64
	since   int64  // when time was last credited
	flooded func() // nil until the WebSocket is there
}

func (i *WebSocketInput) begin(flooded func()) {
	i.mu.Lock()
	i.left, i.since, i.flooded = uselessAtOnce, roles.Clock(), flooded
	i.mu.Unlock()
}

// Read reads from the socket. After a flood it takes in what comes, until the socket is
// closed, and returns none of it.
func (i *WebSocketInput) Read(socket net.Conn, b []byte) (int, error) {
	if i.mayRead() {
		n, err := socket.Read(b)
		i.mu.Lock()
		i.left -= int64(n)
		i.mu.Unlock()
		return n, err
	}
	i.flooded()
	_, err := io.Copy(io.Discard, onlyReader{socket})
	if err == nil {
		err = io.EOF
	}
	return 0, err
}

// mayRead credits time, and reports whether there is an allowance left.
func (i *WebSocketInput) mayRead() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.left >= 0 || i.flooded == nil {
		return true
	}
	now := roles.Clock()
	earned := (now - i.since) * uselessPerSecond / int64(time.Second)
	i.since = now
	i.left += min(earned, uselessAtOnce)
	return i.left >= 0
}

// gave says that n bytes of content came with what was read.
func (i *WebSocketInput) gave(n int) {
	i.mu.Lock()
	i.left = min(i.left+int64(n)*(1+uselessPerByte), uselessAtOnce)
	i.mu.Unlock()
}

// countedSocket is the socket of a WebSocket that this side opened.
type countedSocket struct {
	net.Conn
	input *WebSocketInput
}

func (s *countedSocket) Read(b []byte) (int, error) { return s.input.Read(s.Conn, b) }
