package transport

import (
	"errors"
	"strings"
	"testing"

	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// shaky is a layer above that panics, under the lock, when the peer goes away.
type shaky struct{ *upper }

func (s shaky) GoesAway(_ *Conn, reason uint32, _ string) {
	if reason == wire.GoAwayDraining {
		panic("a secret")
	}
}

// A panic on the goroutine that reads, beside handlers and callers, ends its
// connection and nothing else: its pool goes on, and the peer is told, but not
// what the panic says.
func TestAPanicBesideTheCallsEndsItsConnectionOnly(t *testing.T) {
	told := make(chan any, 2)
	panics := func(c *Config) { c.Panicked = func(value any, _ []byte) { told <- value } }
	for _, side := range []string{"callee", "caller"} {
		t.Run(side, func(t *testing.T) {
			p := newPair(t, echoBack, panics)
			ends, peer, above := p.callee, p.caller, p.above
			if side == "caller" {
				ends, peer, above = p.caller, p.callee, p.below
			}
			p.mustEcho(t, "before")
			ends.mu.Lock()
			ends.config.Handler = shaky{ends.config.Handler.(*upper)}
			ends.mu.Unlock()
			peer.Drain("bye")
			if v := receive(t, told, "panic"); v != "a secret" {
				t.Fatal(v)
			}
			err := receive(t, above.closed, "end at the peer")
			if err == nil || strings.Contains(err.Error(), "secret") {
				t.Fatal(err)
			}
			var internal *wire.Error
			if !errors.As(ends.Err(), &internal) || internal.Class != wire.ErrInternal {
				t.Fatal(ends.Err())
			}
			near, far := sockets(t) // with the pools of before
			p.callee = NewConn(p.below.config(p.callee.config.Pool), far, true, nil, nil)
			p.caller = NewConn(p.above.config(p.caller.config.Pool), near, false, nil, nil)
			p.mustEcho(t, "after")
		})
	}
}
