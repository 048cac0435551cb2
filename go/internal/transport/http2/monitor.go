package http2

import (
	"sync/atomic"

	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// A goroutine that runs a method which has been quick so far does so without
// anybody on the way to take over (serve.go). The monitor of package transport
// looks whether it is still at it; then its connection gets another.

// watched is what the monitor sees of a worker.
type watched struct {
	transport.Watched
	conn atomic.Pointer[Conn] // whose handler runs
}

func (w *Worker) watchOver(c *Conn) {
	w.watched.conn.Store(c)
	w.watched.Begin()
}

func (w *Worker) watchOff() {
	if w.watched.conn.Load() != nil {
		w.watched.conn.Store(nil)
	}
}

// sendHelp has another goroutine look after the connection.
func (seen *watched) sendHelp() {
	if c := seen.conn.Load(); c != nil && seen.conn.CompareAndSwap(c, nil) {
		go c.sendHelper()
	}
}
