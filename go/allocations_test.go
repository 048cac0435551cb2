package trunkcall_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// A unary call allocates once beyond its messages, client and server together: what
// its handler's context is.
func TestUnaryCallsAllocateOnceBeyondTheirMessages(t *testing.T) {
	const messages = 4 // a payload with its bytes, at either end
	calls := 10_000
	// Nothing is told by a call that comes while pools are filled, or were emptied by
	// the collector; the detector of races has pools lose things on purpose.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	most := 1.5
	if underRace {
		most, calls = 15, 1000
	}
	_, target := serve(t, nil, standard()...)
	for name, callers := range map[string]int{"one caller": 1, "ten callers": 10, "two hundred callers": 200} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, target, trunkcall.WithConnections(min(callers, 10)))
			each := func(count int) {
				var running sync.WaitGroup
				for range callers {
					running.Go(func() {
						request := text("some bytes")
						for range count / callers {
							if _, err := echo.Call(context.Background(), c, request); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				running.Wait()
			}
			each(calls)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			each(calls)
			runtime.ReadMemStats(&after)
			got := float64(after.Mallocs-before.Mallocs)/float64(calls) - messages
			if t.Logf("%.3f allocations a call", got); got > most {
				t.Errorf("%.2f allocations a call beyond its messages, more than %v", got, most)
			}
		})
	}
}
