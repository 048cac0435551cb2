package transport

import (
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/transport/roles"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// distant returns the two ends of a connection whose bytes take their time from near to
// far, and the greatest number of bytes that were on their way at once.
func distant(t *testing.T, takes time.Duration) (near, far net.Conn, most *atomic.Int64) {
	near, in := sockets(t)
	out, far := sockets(t)
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	way := make(chan chunk, 1<<16)
	var under atomic.Int64
	most = &atomic.Int64{}
	done := make(chan struct{}, 3)
	go func() {
		defer func() { close(way); done <- struct{}{} }()
		for {
			b := make([]byte, 32<<10)
			n, err := in.Read(b)
			if err != nil {
				return
			}
			if now := under.Add(int64(n)); now > most.Load() {
				most.Store(now)
			}
			way <- chunk{b[:n], time.Now().Add(takes)}
		}
	}()
	go func() {
		defer func() { _ = out.Close(); done <- struct{}{} }()
		for c := range way {
			time.Sleep(time.Until(c.due))
			under.Add(int64(-len(c.bytes)))
			_, _ = out.Write(c.bytes)
		}
	}()
	go func() {
		_, _ = io.Copy(in, out)
		_ = in.Close()
		done <- struct{}{}
	}()
	t.Cleanup(func() {
		for range cap(done) {
			receive(t, done, "end of the way")
		}
	})
	return near, far, most
}

// Over a long path more than a stream's window is on its way, as the pool grows.
func TestOverADistanceMoreThanAWindowIsOnItsWay(t *testing.T) {
	const wanted = 4 << 20 // the pool begins with 1 MiB
	for name, pool := range map[string]uint32{"without a pool": 0, "with a pool": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			near, far, most := distant(t, 20*time.Millisecond)
			p := join(t, near, far, func(w *roles.Worker, st *Stream) {
				m, _ := st.TakeFirst()
				m.Free()
				w.Ending.HasMessage = true
			}, func(c *Config) { c.Local.Pool = pool })
			message := strings.Repeat("x", 8<<20)
			if pool > 0 {
				eventually(t, "4 MiB are on their way", func() bool {
					p.mustTake(t, message)
					return most.Load() > wanted
				})
				return
			}
			p.mustTake(t, message[:2<<20])
			if n := most.Load(); n > wire.DefaultWindow+wire.MinPiece {
				t.Errorf("%d bytes were on their way", n)
			}
		})
	}
}

// mustTake makes a call whose answer says nothing.
func (p *pair) mustTake(t *testing.T, request string) {
	t.Helper()
	if e, _ := p.call(t, soon(t), request); e.Code != wire.OK {
		t.Fatal(e)
	}
}
