package trunkcall_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

// Each connection has a share of memory and a pool of its own. One who connects again and
// again for fresh ones gets no more than the connections of its address may hold at once.
func TestReconnectingForFreshSharesGainsNothing(t *testing.T) {
	const memory, connections, rounds, calls = 2 << 20, 8, 10, 4
	// Without keepalive nobody is given up, with all that is held for it, because the machine is busy.
	s, target := serve(t, serverOptions{
		trunkcall.WithMemory(memory), trunkcall.WithMaxConnectionsPerAddress(2*connections + 1), trunkcall.WithKeepalive(0, 0),
	}, standard()...)
	honest := dial(t, target)
	for range rounds {
		var all []*rawframe.Peer
		for range connections {
			p := raw(t, target)
			p.Send(rawframe.Define(1, "/test.Service/Collect"))
			for slot := range uint32(calls) { // as much as its window lets it send of messages that never end
				id := rawframe.ID(slot+1, 1)
				p.Send(rawframe.Bytes(rawframe.CallHeader(slot+1, 1, 1, 0)))
				total := wire.AppendVarint(nil, 60<<20)
				for range 3 {
					h := wire.Header{Type: wire.Data, Stream: id, Codec: 1, Flags: wire.FlagMsg | wire.FlagMore}
					p.Send(rawframe.Bytes(h, total, make([]byte, wire.MinPiece-len(total))))
					total = nil
				}
			}
			p.Send(rawframe.Ping(0, 1))
			p.Await(wire.Ping) // all of it was taken in
			all = append(all, p)
		}
		// The first 64 KiB of each are free.
		eventually(t, "what they hold is bounded, with all of them there", func() bool {
			g := s.Gauges()
			return g.Connections == connections+1 && g.HeldBytes <= memory+memory/4+(connections+1)*(64<<10)
		})
		servedBeside(t, honest)
		for _, p := range all {
			p.Reset()
		}
		eventually(t, "they are gone, with what they held", func() bool {
			g := s.Gauges()
			return g.Connections == 1 && g.HeldBytes == 0
		})
	}
	for range 2 * connections {
		raw(t, target)
	}
	if p := raw(t, target); p.Await(wire.GoAway).Word != wire.GoAwayNotServed {
		t.Fatal("one more than may be was served")
	}
	mustEcho(t, honest, "goes on")
}

// servedBeside calls beside those that hold all memory. They are asked to let go on goroutines of their own. Until they
// have, even the quarter that may be held meanwhile can be used up, and then a call is refused.
func servedBeside(t *testing.T, honest *trunkcall.Client) {
	t.Helper()
	const each, all = 20 * time.Second, time.Minute
	data := strings.Repeat("x", 100_000)
	for end := time.Now().Add(all); ; {
		ctx, cancel := context.WithTimeout(t.Context(), each)
		out, err := echo.Call(ctx, honest, text(data))
		cancel()
		switch {
		case err == nil && string(out.Data) == data:
			return
		case err == nil:
			t.Fatalf("echo: %d bytes, not those that were sent", len(out.Data))
		case trunkcall.StatusOf(err).Code != trunkcall.ResourceExhausted:
			t.Fatalf("a call of one who holds less is not served beside them: %v", err)
		case time.Now().After(end):
			t.Fatalf("a call of one who holds less is refused beside them for %v: %v", all, err)
		}
		time.Sleep(time.Millisecond) // it is asked again, not relied on
	}
}
