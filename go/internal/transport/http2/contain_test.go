package http2

import (
	"strings"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// shaky is a layer above that panics where its request says.
type shaky struct{ *hello }

func (s shaky) Accept(c *Conn, r *Request) (*Stream, *Answer) {
	if r.Path == "/accept" {
		panic("a secret")
	}
	return s.hello.Accept(c, r)
}

func (s shaky) Serve(w *roles.Worker, stream *Stream) {
	if stream.Owner.(*helloCall).path == "/serve" {
		panic("a secret")
	}
	s.hello.Serve(w, stream)
}

func (s shaky) Stopped(stream *Stream, why *wire.Refusal) *Answer {
	if stream.Owner.(*helloCall).path == "/stopped" {
		stream.Owner.(*helloCall).path = "" // not again when the connection ends
		panic("a secret")
	}
	return s.hello.Stopped(stream, why)
}

func connectShaky(t *testing.T, config Config) (*peer, <-chan any) {
	told := make(chan any, 1)
	config.Panicked = func(value any, _ []byte) { told <- value }
	p := connect(t, config)
	p.server.mu.Lock()
	p.server.config.Handler = shaky{p.hello}
	p.server.mu.Unlock()
	return p.greet(), told
}

// A panic beside handlers ends its connection, or its request, and nothing else:
// the goroutines go on, and the peer is told, but not what the panic says.
func TestAPanicBesideHandlersHarmsItsConnectionOnly(t *testing.T) {
	for path, config := range map[string]Config{
		"/accept":  {},                             // while reading
		"/stopped": {Stall: 10 * time.Millisecond}, // by the timer
	} {
		t.Run(path, func(t *testing.T) {
			p, told := connectShaky(t, config)
			p.open(1, path == "/accept", path)
			p.until("GOAWAY", func(f h2.Frame) bool {
				g, ok := f.(*h2.GoAwayFrame)
				if ok && (g.ErrCode != h2.ErrCodeInternal || strings.Contains(string(g.DebugData()), "secret")) {
					t.Errorf("GOAWAY %v %q", g.ErrCode, g.DebugData())
				}
				return ok
			})
			if v := <-told; v != "a secret" {
				t.Error(v)
			}
		})
	}
}

func TestAPanicBesideAHandlerHarmsItsRequestOnly(t *testing.T) {
	p, told := connectShaky(t, Config{})
	p.open(1, true, "/serve")
	p.untilReset(1, h2.ErrCodeInternal)
	if v := <-told; v != "a secret" {
		t.Error(v)
	}
	p.open(3, true, "/hello")
	p.untilHello(3)
	if n := p.server.Running(); n != 0 {
		t.Error(n, "are left")
	}
}

func TestAHandlerThatEndsItsGoroutineHarmsItsRequestOnly(t *testing.T) {
	p := connect(t, Config{}).greet()
	p.open(1, true, "/exit")
	p.untilReset(1, h2.ErrCodeInternal)
	p.open(3, true, "/hello")
	p.untilHello(3)
}
