package trunkcall_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// While no attempt runs, and the next may not start yet, nothing but the core's look can end a call.
func TestAHedgedCallEndsThatMayNotBeMadeAgain(t *testing.T) {
	for name, a := range map[string]struct {
		budget  string
		timeout string
		took    time.Duration
	}{
		"no budget":       {"budget:\n  percent: 0\n  least: 0\n", "1h", 20 * time.Millisecond},
		"no time is left": {"", "10ms", 0},
	} {
		t.Run(name, func(t *testing.T) {
			busy(t, a.budget+"defaults:\n  timeout: "+a.timeout+"\n  idempotent: true\n  hedging:\n    delay: 1ms\n", func(t *testing.T, c *trunkcall.Client) {
				began := time.Now()
				_, err := echo.Call(t.Context(), c, text("x"))
				wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
				if took := time.Since(began); took != a.took {
					t.Errorf("it took %v, want %v", took, a.took)
				}
			})
		})
	}
}

func TestAHedgedCallThatWaitsEndsWithItsCaller(t *testing.T) {
	busy(t, "defaults:\n  idempotent: true\n  hedging:\n    delay: 1ms\n", func(t *testing.T, c *trunkcall.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Millisecond, cancel)
		began := time.Now()
		_, err := echo.Call(ctx, c, text("x"))
		wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
		if took := time.Since(began); took != 5*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestABreakerThatRefusesAHedgeEndsTheCallAsItsAttemptDid(t *testing.T) {
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	governed(t, "defaults:\n  idempotent: true\n  hedging:\n    delay: 1s\n  breaker:\n    consecutive: 1\n", a, func(t *testing.T, c *trunkcall.Client, _ string) {
		_, err := echo.Call(t.Context(), c, text("x"))
		if s := wants(t, err, trunkcall.Unavailable, trunkcall.Executed); s.Message != "on purpose" {
			t.Errorf("%+v", s)
		}
		_, err = echo.Call(t.Context(), c, text("x"))
		if s := wants(t, err, trunkcall.Unavailable, trunkcall.NotSent); s.Message != "breaker of /test.Service/Echo is open" {
			t.Errorf("%+v", s)
		}
		if a.count() != 1 {
			t.Errorf("it ran %d times", a.count())
		}
	})
}

// Of attempts that wait for an endpoint until the call's time is over none was sent.
func TestAHedgedCallThatIsNotSentSaysSo(t *testing.T) {
	path := policyFile(t, "defaults:\n  idempotent: true\n  wait_for_ready: true\n  hedging:\n    delay: 1ms\n    attempts: 3\n")
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, "mem:"+t.Name(), trunkcall.WithPolicyFile(path))
		defer c.Close()
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err := echo.Call(ctx, c, text("x"))
			cancel()
			wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
		}
	})
}

// busy has a client under a policy file and a server that refuses all calls for 20 ms.
func busy(t *testing.T, rules string, test func(*testing.T, *trunkcall.Client)) {
	t.Helper()
	path := policyFile(t, rules)
	synctest.Test(t, func(t *testing.T) {
		where := "mem:" + t.Name()
		s := newServer(t, trunkcall.WithAdmission(func(context.Context, *trunkcall.Arrival) (trunkcall.Admission, error) {
			return trunkcall.Admission{}, trunkcall.Status{Code: trunkcall.ResourceExhausted, RetryAfter: 20 * time.Millisecond}.Err()
		}))
		defer s.Close()
		if err := s.Register((&repeatedly{}).handler()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Listen(where); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, where, trunkcall.WithPolicyFile(path))
		defer c.Close()
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, c)
	})
}
