package transport

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Handshakes are those of TLS that a client waits for. The zero value has none.
type Handshakes struct {
	mu    sync.Mutex
	began map[net.Conn]time.Time
}

// begin notes that the handshake on a socket begins. done is called at its end.
func (h *Handshakes) begin(socket net.Conn) (done func()) {
	if h == nil {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.began == nil {
		h.began = map[net.Conn]time.Time{}
	}
	h.began[socket] = time.Now()
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.began, socket)
	}
}

// Silent says of each handshake that has not ended where that is, and for how long it lasts.
func (h *Handshakes) Silent() (all []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for socket, began := range h.began {
		all = append(all, fmt.Errorf("%v: TLS: %s", socket.RemoteAddr(), Silence(time.Since(began))))
	}
	return all
}
