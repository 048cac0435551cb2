package trunkcall_test

import (
	"context"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/rawframe"
)

// produceLarge answers with 1 MiB.
var produceLarge = trunkcall.Unary[payload, payload]("/test.Service/Large")

func serveLarge(context.Context, *payload) (*payload, error) { return noise(1 << 20), nil }

// A client that does not read its answers uses up what a server may hold. Others
// are served nevertheless, natively and over HTTP/2, and the gauges tell what is held.
func TestAConnectionThatDoesNotReadHarmsNobodyElse(t *testing.T) {
	// What the bystanders hold fits into what may be overdrawn until the other has let go.
	const memory, calls = 32 << 20, 80
	for name, stall := range map[string]func(t *testing.T, target string){
		"native": func(t *testing.T, target string) {
			p := raw(t, target)
			p.Send(rawframe.Define(1, "/test.Service/Large"))
			for slot := uint32(1); slot <= calls; slot++ {
				p.Send(rawframe.Call(slot, 1, 1, nil))
			}
		},
		"HTTP/2": func(t *testing.T, target string) {
			r := (&attacked{t: t, target: target}).raid(true, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			for range calls {
				if _, err := r.calls("/test.Service/Large"); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var answered atomic.Int64
			served := produceLarge.Handler(func(ctx context.Context, in *payload) (*payload, error) {
				defer answered.Add(1)
				return serveLarge(ctx, in)
			})
			s, target := serve(t, serverOptions{trunkcall.WithMemory(memory)}, append(standard(), served)...)
			native, overHTTP2 := dial(t, target), stock(t, target)
			stall(t, target)
			eventually(t, "the memory is used up", func() bool {
				g := s.Gauges()
				return g.RunningHandlers == 0 && answered.Load() == calls && g.HeldBytes > memory/2
			})
			large := noise(1 << 20)
			for i := range among(20, 10) {
				if _, err := produceLarge.Call(soon(t), native, text("bystander")); err != nil {
					t.Fatalf("native call %d: %v", i, err)
				}
				if _, err := echo.Call(soon(t), native, large); err != nil {
					t.Fatalf("native call %d: %v", i, err)
				}
				if _, err := stockEcho(soon(t), overHTTP2, "/test.Service/Echo", large); err != nil {
					t.Fatalf("call %d of gRPC: %v", i, err)
				}
			}
			if held := s.Gauges().HeldBytes; held > memory+memory/4+1<<20 {
				t.Errorf("%d bytes are held, of %d", held, memory)
			}
		})
	}
}

// A peer that reads nothing at all is left, not kept for ever.
func TestMemoryComesBackWhenTheConnectionEnds(t *testing.T) {
	s, target := serve(t, serverOptions{trunkcall.WithMemory(16 << 20)}, append(standard(), produceLarge.Handler(serveLarge))...)
	p := raw(t, target)
	p.Send(rawframe.Define(1, "/test.Service/Large"))
	for slot := uint32(1); slot <= 8; slot++ {
		p.Send(rawframe.Call(slot, 1, 1, nil))
	}
	eventually(t, "answers are held", func() bool { return s.Gauges().HeldBytes > 7<<20 })
	_ = p.Close()
	eventually(t, "nothing is held", func() bool { return s.Gauges().HeldBytes == 0 })
}
