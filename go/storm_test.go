package trunkcall_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Four tiers call each other, each with three attempts, and the last one fails. Without a budget each of its calls would be
// made 81 times.
func TestRetriesOfFourTiersMakeNoStorm(t *testing.T) {
	const tiers, rate, seconds = 4, 200, 15
	path := policyFile(t, "defaults:\n  idempotent: true\n  timeout: 5s\n  retries:\n    attempts: 3\n    backoff: 10ms\n    max_backoff: 20ms\n")
	var last *repeatedly
	synctest.Test(t, func(t *testing.T) {
		answer := func(context.Context, int) error { return trunkcall.Errorf(trunkcall.Unavailable, "down") }
		var top *trunkcall.Client
		for tier := tiers; tier > 0; tier-- {
			one := &repeatedly{answer: answer}
			if tier == tiers {
				last = one
			}
			server := newServer(t)
			if err := server.Register(one.handler()); err != nil {
				t.Fatal(err)
			}
			where := fmt.Sprintf("mem:%s/%d", t.Name(), tier)
			if _, err := server.Listen(where); err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			next := newClient(t, where, trunkcall.WithPolicyFile(path))
			defer next.Close()
			top = next
			answer = func(ctx context.Context, _ int) error {
				_, err := echo.Call(ctx, next, text("x"))
				return err
			}
		}
		var calls sync.WaitGroup
		for range rate * seconds {
			calls.Go(func() {
				if _, err := echo.Call(t.Context(), top, text("x")); trunkcall.StatusOf(err).Code != trunkcall.Unavailable {
					t.Error(err)
				}
			})
			time.Sleep(time.Second / rate)
		}
		calls.Wait()
	})
	const made = rate * seconds
	// A tenth more at each of the four clients, and what each allows at first, before it has counted calls.
	if n := last.count(); n <= made || n > made*14641/10000+made/10 {
		t.Errorf("%d calls came to the last tier as %d", made, n)
	}
}
