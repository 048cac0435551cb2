package http2

import (
	"net/http"
	"runtime/debug"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
)

// A panic of this package's, or of what the layer above does besides running
// handlers, harms one connection or one request, never the process.

// contain makes a panic under the connection's lock the end of the connection; it is
// to be deferred. What the panic says is not for the peer.
func (c *Conn) contain(err *error) {
	if p := recover(); p != nil {
		c.panicked(p)
		*err = violate(h2.ErrCodeInternal, "this side failed and ends the connection")
	}
}

func (c *Conn) panicked(p any) {
	if c.config.Panicked != nil && p != http.ErrAbortHandler { //nolint:errorlint // as net/http compares it
		c.config.Panicked(p, debug.Stack())
	}
}

// dueLocked calls one of those that tick calls.
func (c *Conn) dueLocked(due func(now int64) int64, now int64) (next int64) {
	var err error
	defer func() {
		if err != nil {
			c.violateLocked(err)
		}
	}()
	defer c.contain(&err)
	return due(now)
}

// run runs a request's handler, without the lock. After a panic the stream is reset like one that
// was not answered.
func (s *Stream) run(w *roles.Worker) {
	defer func() {
		if p := recover(); p != nil { // nil where the handler ends its goroutine
			s.conn.panicked(p)
		}
	}()
	s.conn.config.Handler.Serve(w, s)
}
