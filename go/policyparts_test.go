package trunkcall_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Each part of a policy file, by servers in memory on a clock of the test's own.

// several runs a test with servers, one for each handler, and a client of all of them with a policy file.
func several(t *testing.T, text string, servers []*repeatedly, test func(t *testing.T, c *trunkcall.Client), options ...trunkcall.ClientOption) {
	t.Helper()
	path := policyFile(t, text)
	synctest.Test(t, func(t *testing.T) {
		var set []trunkcall.Endpoint
		for i, a := range servers {
			where := fmt.Sprintf("mem:%s/%d", t.Name(), i)
			s := newServer(t)
			if err := s.Register(append(standard()[1:], a.handler())...); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Listen(where); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			set = append(set, trunkcall.Endpoint{ID: fmt.Sprint(i), Addresses: []string{where}, Zone: []string{"here", "there"}[i%2]})
		}
		resolver := sets(func(ctx context.Context, w *trunkcall.Watch) error {
			if err := w.Set(set); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		})
		c := newClient(t, "some:where", append([]trunkcall.ClientOption{trunkcall.WithPolicyFile(path), trunkcall.WithResolver("some", resolver)}, options...)...)
		defer c.Close()
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		test(t, c)
	})
}

// sets is a resolver.
type sets func(ctx context.Context, w *trunkcall.Watch) error

func (f sets) Resolve(ctx context.Context, w *trunkcall.Watch) error { return f(ctx, w) }

func succeeds(context.Context, int) error { return nil }

// takes is a handler that takes so long, or until its call has ended.
func takes(d time.Duration) func(context.Context, int) error {
	return func(ctx context.Context, _ int) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestASlowCallIsHedgedElsewhere(t *testing.T) {
	slow, quick := &repeatedly{answer: takes(time.Hour)}, &repeatedly{answer: succeeds}
	var told toldAttempts
	several(t, "defaults:\n  idempotent: true\n  hedging:\n    delay: 100ms\n", []*repeatedly{slow, quick}, func(t *testing.T, c *trunkcall.Client) {
		began := time.Now()
		for range 4 { // each of which may go to either first
			if out, err := echo.Call(t.Context(), c, text("x")); err != nil || string(out.Data) != "x" {
				t.Fatal(out, err)
			}
		}
		if took := time.Since(began); took != time.Duration(slow.count())*100*time.Millisecond || took == 0 {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
	}, told.observer())
	if quick.count() != 4 || len(told.ended) != 4+slow.count() {
		t.Errorf("%d and %d runs, %d attempts", slow.count(), quick.count(), len(told.ended))
	}
	cancelled := 0
	for _, a := range told.ended {
		if a.Status.Code == trunkcall.Canceled {
			cancelled++
		}
	}
	if cancelled != slow.count() {
		t.Errorf("%d of the slow attempts were cancelled", cancelled)
	}
}

func TestHedgesStopAndStayWithinBudgetAndTime(t *testing.T) {
	for name, a := range map[string]struct {
		file   string
		answer func(context.Context, int) error
		code   trunkcall.Code
		took   time.Duration
		runs   int
	}{
		"stopped by an answer": {"", failsWith(trunkcall.NotFound), trunkcall.NotFound, 0, 1},
		"all failed":           {"", failsWith(trunkcall.Unavailable), trunkcall.Unavailable, 0, 3},
		"the time is over":     {"", takes(time.Hour), trunkcall.DeadlineExceeded, time.Second, 3},
		"no budget":            {"budget:\n  percent: 0\n  least: 0\n", takes(time.Hour), trunkcall.DeadlineExceeded, time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &repeatedly{answer: a.answer}
			governed(t, a.file+"defaults:\n  timeout: 1s\n  idempotent: true\n  hedging:\n    delay: 100ms\n    attempts: 3\n", s, func(t *testing.T, c *trunkcall.Client, _ string) {
				began := time.Now()
				_, err := echo.Call(t.Context(), c, text("x"))
				if got := trunkcall.StatusOf(err).Code; got != a.code || time.Since(began) != a.took {
					t.Errorf("%v after %v", err, time.Since(began))
				}
			})
			if s.count() != a.runs {
				t.Errorf("it ran %d times, want %d", s.count(), a.runs)
			}
		})
	}
}

func TestABreakerOpensAndCloses(t *testing.T) {
	healthy := false
	a := &repeatedly{answer: func(context.Context, int) error {
		if healthy {
			return nil
		}
		return trunkcall.Errorf(trunkcall.Unavailable, "on purpose")
	}}
	governed(t, "defaults:\n  breaker:\n    consecutive: 3\n    open: 5s\n", a, func(t *testing.T, c *trunkcall.Client, _ string) {
		for range 3 {
			_, err := echo.Call(t.Context(), c, text("x"))
			wants(t, err, trunkcall.Unavailable, trunkcall.Executed)
		}
		for range 5 {
			_, err := echo.Call(t.Context(), c, text("x"))
			s := wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
			if s.Message != "breaker of /test.Service/Echo is open" || !s.Local {
				t.Errorf("%+v", s)
			}
		}
		if a.count() != 3 {
			t.Errorf("%d runs", a.count())
		}
		time.Sleep(6 * time.Second)
		healthy = true
		for range 3 {
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestABreakerCountsStreamsToo(t *testing.T) {
	a := &repeatedly{answer: succeeds}
	governed(t, "defaults:\n  breaker:\n    consecutive: 2\n    codes: [UNIMPLEMENTED]\n", a, func(t *testing.T, c *trunkcall.Client, _ string) {
		for i, want := range []string{"not served", "not served", "breaker of /test.Service/Chat is open"} {
			s, err := chat.Open(t.Context(), c)
			if err == nil {
				_, err = s.Receive()
			}
			if got := trunkcall.StatusOf(err).Message; !strings.Contains(got, want) && i == 2 {
				t.Errorf("stream %d: %q", i, got)
			}
			synctest.Wait()
		}
	})
}

func TestEndpointsThatFailAreLeftOut(t *testing.T) {
	bad, good := &repeatedly{answer: failsWith(trunkcall.Internal)}, &repeatedly{answer: succeeds}
	several(t, "defaults:\n  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 50\n", []*repeatedly{bad, good}, func(t *testing.T, c *trunkcall.Client) {
		failed := 0
		for range 100 {
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				failed++
			}
		}
		if failed != 2 || bad.count() != 2 {
			t.Errorf("%d of 100 failed", failed)
		}
		time.Sleep(37 * time.Second) // it is back
		for range 10 {
			_, _ = echo.Call(t.Context(), c, text("x"))
		}
		if n := bad.count(); n != 4 {
			t.Errorf("%d runs of it when it was back", n-2)
		}
	})
}

func TestZonesArePreferredAndOverflow(t *testing.T) {
	const file = "defaults:\n  zones:\n    overflow_calls: 3\n"
	servers := []*repeatedly{{answer: takes(time.Second)}, {answer: takes(time.Second)}, {answer: takes(time.Second)}}
	several(t, file, servers, func(t *testing.T, c *trunkcall.Client) { // the first and the last are here
		for range 6 {
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				t.Fatal(err)
			}
		}
		if a, b, c := servers[0].count(), servers[1].count(), servers[2].count(); a != 3 || b != 0 || c != 3 {
			t.Errorf("%d, %d and %d", a, b, c)
		}
		for range 10 {
			go func() { _, _ = echo.Call(t.Context(), c, text("x")) }()
			synctest.Wait()
		}
		time.Sleep(2 * time.Second)
		if there := servers[1].count(); there != 4 {
			t.Errorf("%d of 10 at once went elsewhere, want those beyond 6", there)
		}
	}, trunkcall.WithZone("here"))
}

func TestABalancerOfTheFileGoesByTheKey(t *testing.T) {
	servers := []*repeatedly{{answer: succeeds}, {answer: succeeds}, {answer: succeeds}}
	several(t, "services:\n  test.Service:\n    balancer:\n      name: hash\n      key: user\n", servers, func(t *testing.T, c *trunkcall.Client) {
		for range 30 {
			if _, err := echo.Call(trunkcall.WithMetadata(t.Context(), trunkcall.Metadata{{Key: "user", Value: "ada"}}), c, text("x")); err != nil {
				t.Fatal(err)
			}
		}
		most := 0
		for _, s := range servers {
			most = max(most, s.count())
		}
		if most != 30 {
			t.Errorf("at most %d of 30 went to one server", most)
		}
	})
}

func TestLimitsOfAClient(t *testing.T) {
	a := &repeatedly{answer: takes(time.Second)}
	governed(t, "defaults:\n  rate:\n    per_second: 10\n    burst: 4\n  concurrency:\n    limit: 2\n", a, func(t *testing.T, c *trunkcall.Client, _ string) {
		ended := make(chan error, 6)
		for range 6 {
			go func() {
				_, err := echo.Call(t.Context(), c, text("x"))
				ended <- err
			}()
			synctest.Wait()
		}
		told := map[string]int{}
		for range 6 {
			if err := <-ended; err == nil {
				told["ok"]++
			} else {
				told[wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent).Message]++
			}
		}
		if told["ok"] != 2 || told["concurrency of defaults is used up"] != 2 || told["rate of defaults is used up"] != 2 {
			t.Errorf("%v", told)
		}
		time.Sleep(time.Second)
		s, err := chat.Open(t.Context(), c) // of which there is no handler
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Receive(); err == nil || errors.Is(err, io.EOF) {
			t.Error(err)
		}
		synctest.Wait()
		for range 2 { // whatever was entered was left
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestLimitsOfAServerGoByPriority(t *testing.T) {
	path := policyFile(t, "defaults:\n  server_concurrency:\n    limit: 4\n  server_rate:\n    per_second: 1000\n")
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, trunkcall.WithPolicyFile(path))
		seen := make(chan trunkcall.Priority, 100)
		if err := s.Register(echo.Handler(func(ctx context.Context, in *payload) (*payload, error) {
			seen <- trunkcall.CallFromContext(ctx).Priority()
			return in, takes(time.Second)(ctx, 0)
		})); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Listen("mem:" + t.Name()); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := newClient(t, "mem:"+t.Name(), trunkcall.WithoutRepeating())
		defer c.Close()
		for range 2 {
			ended := map[trunkcall.Priority]chan error{trunkcall.PriorityLow: make(chan error, 3), trunkcall.PriorityNormal: make(chan error, 3)}
			for _, p := range []trunkcall.Priority{trunkcall.PriorityLow, trunkcall.PriorityNormal} {
				for range 3 {
					go func() {
						_, err := echo.Call(t.Context(), c, text("x"), trunkcall.CallPriority(p))
						ended[p] <- err
					}()
					synctest.Wait()
				}
			}
			for p, want := range map[trunkcall.Priority]int{trunkcall.PriorityLow: 2, trunkcall.PriorityNormal: 2} {
				ok := 0
				for range 3 {
					if err := <-ended[p]; err == nil {
						ok++
					} else if s := wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused); s.Message != "concurrency of defaults of the server is used up" || s.RetryAfter != time.Millisecond {
						t.Errorf("%+v", s)
					}
				}
				if ok != want {
					t.Errorf("%v: %d of 3, want %d", p, ok, want)
				}
			}
			low := 0
			for range 4 {
				if <-seen == trunkcall.PriorityLow {
					low++
				}
			}
			if low != 2 {
				t.Errorf("the server saw %d calls of low priority", low)
			}
		}
	})
}

func TestAPrioritySurvivesTheHop(t *testing.T) {
	file := policyFile(t, "services:\n  test.Service:\n    methods:\n      Echo:\n        priority: critical\n")
	synctest.Test(t, func(t *testing.T) {
		seen := make(chan trunkcall.Priority, 10)
		back, front := "mem:"+t.Name()+"/back", "mem:"+t.Name()+"/front"
		inner := newClient(t, back, trunkcall.WithPolicyFile(policyless(t, file)))
		defer inner.Close()
		for where, h := range map[string]trunkcall.Handler{
			back: block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
				seen <- trunkcall.CallFromContext(ctx).Priority()
				return in, nil
			}),
			front: echo.Handler(func(ctx context.Context, in *payload) (*payload, error) { return block.Call(ctx, inner, in) }),
		} {
			s := newServer(t)
			if err := s.Register(h); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Listen(where); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
		}
		outer := newClient(t, front, trunkcall.WithPolicyFile(file))
		defer outer.Close()
		for want, options := range map[trunkcall.Priority][]trunkcall.CallOption{
			trunkcall.PriorityCritical: nil, trunkcall.PriorityLow: {trunkcall.CallPriority(trunkcall.PriorityLow)},
		} {
			if _, err := echo.Call(t.Context(), outer, text("x"), options...); err != nil {
				t.Fatal(err)
			}
			if got := <-seen; got != want {
				t.Errorf("%v came, want %v", got, want)
			}
		}
	})
}

func TestAPriorityReplacesOneInMetadataThatIsPassedOn(t *testing.T) {
	seen := make(chan trunkcall.Priority, 1)
	s := newServer(t)
	defer s.Close()
	if err := s.Register(echo.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		seen <- trunkcall.CallFromContext(ctx).Priority()
		return in, nil
	})); err != nil {
		t.Fatal(err)
	}
	where := "mem:" + t.Name()
	if _, err := s.Listen(where); err != nil {
		t.Fatal(err)
	}
	plain := newClient(t, where)
	defer plain.Close()
	ruled := newClient(t, where, trunkcall.WithPolicyFile(policyFile(t, "")))
	defer ruled.Close()
	passedOn := trunkcall.WithMetadata(t.Context(), trunkcall.Metadata{{Key: "trunk-priority", Value: "high"}})
	for name, a := range map[string]struct {
		client  *trunkcall.Client
		options []trunkcall.CallOption
		want    trunkcall.Priority
	}{
		"nothing said": {plain, nil, trunkcall.PriorityHigh},
		"an option":    {plain, []trunkcall.CallOption{trunkcall.CallPriority(trunkcall.PriorityNormal)}, trunkcall.PriorityNormal},
		"a file":       {ruled, nil, trunkcall.PriorityNormal},
	} {
		if _, err := echo.Call(passedOn, a.client, text("x"), a.options...); err != nil {
			t.Fatal(name, err)
		}
		if got := <-seen; got != a.want {
			t.Errorf("%s: %v came, want %v", name, got, a.want)
		}
	}
}

// policyless is a policy file beside another that says nothing.
func policyless(t *testing.T, beside string) string {
	t.Helper()
	exchangeFile(t, beside+".none", "")
	return beside + ".none"
}

func TestFaultsForDrills(t *testing.T) {
	a := &repeatedly{answer: succeeds}
	governed(t, "defaults:\n  timeout: 1m\n  faults:\n    late:\n      per_million: 1000000\n      delay: 2s\n    lost:\n      per_million: 500000\n      code: ABORTED\n", a, func(t *testing.T, c *trunkcall.Client, _ string) {
		began, failed := time.Now(), 0
		for range 100 {
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				if s := wants(t, err, trunkcall.Aborted, trunkcall.NotSent); s.Message != "fault lost of the policy" || !s.Local {
					t.Errorf("%+v", s)
				}
				failed++
			}
		}
		if took := time.Since(began); took != 200*time.Second || failed < 10 || failed > 90 || a.count() != 100-failed {
			t.Errorf("%d failed, it took %v", failed, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := echo.Call(ctx, c, text("x"))
		s := wants(t, err, trunkcall.DeadlineExceeded, trunkcall.NotSent)
		wantsText(t, s.Message, "the deadline passed while a fault of the policy held the call up: /test.Service/Echo")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not context.DeadlineExceeded", err)
		}
	})
}

// Of three servers one is slow, one fails, and one dies and comes back. Whatever a client's rules are, attempts stay within
// the budget, and nothing runs twice unless it may.
func TestThreeServersThatMisbehave(t *testing.T) {
	for _, idempotent := range []bool{true, false} {
		t.Run(fmt.Sprint(idempotent), func(t *testing.T) {
			runs := map[string]int{}
			slow, bad := &repeatedly{answer: takes(300 * time.Millisecond)}, &repeatedly{answer: failsWith(trunkcall.Unavailable)}
			dying := &repeatedly{answer: func(_ context.Context, run int) error {
				if run%3 == 0 {
					return trunkcall.Errorf(trunkcall.Unavailable, "dead for now")
				}
				return nil
			}}
			file := fmt.Sprintf("budget:\n  percent: 50\n  least: 1\ndefaults:\n  timeout: 2s\n  idempotent: %v\n  retries:\n    attempts: 3\n    backoff: 10ms\n  outliers:\n    percent: 50\n    calls: 5\n", idempotent)
			var told toldAttempts
			const calls = 200
			ok := 0
			several(t, file, []*repeatedly{slow, bad, dying}, func(t *testing.T, c *trunkcall.Client) {
				for i := range calls {
					if _, err := echo.Call(t.Context(), c, text(fmt.Sprint(i))); err == nil {
						ok++
					}
				}
				synctest.Wait()
			}, told.observer(), trunkcall.WithAttemptObserver(trunkcall.AttemptObserver{Began: func(a *trunkcall.Attempt) { runs[a.Method.Name]++ }}))
			ran := slow.count() + bad.count() + dying.count()
			switch {
			case ran != len(told.ended):
				t.Errorf("%d attempts, %d runs", len(told.ended), ran)
			case !idempotent && ran != calls:
				t.Errorf("%d runs of %d calls that must run once", ran, calls)
			case idempotent && (ran == calls || ran > calls+max(10, calls/2)):
				t.Errorf("%d runs of %d calls", ran, calls)
			case ok < calls/2 || idempotent && ok < calls*9/10:
				t.Errorf("%d of %d were answered", ok, calls)
			}
		})
	}
}

func TestAStreamGivesItsPlaceBackAtItsEnd(t *testing.T) {
	a := &repeatedly{answer: succeeds}
	several(t, "defaults:\n  concurrency:\n    limit: 1\n", []*repeatedly{a}, func(t *testing.T, c *trunkcall.Client) {
		for range 3 {
			s, err := chat.Open(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			_, err = echo.Call(t.Context(), c, text("x"))
			wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent)
			if err := s.CloseSend(); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Receive(); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			synctest.Wait()
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				t.Errorf("after its end: %v", err)
			}
		}
	})
}

func TestAHedgeGoesWhereNoAttemptOfItsCallIs(t *testing.T) {
	for name, rules := range map[string]string{
		"by a balancer of the file":  "  balancer:\n    name: hash\n    key: user\n",
		"by the client's":            "",
		"in another zone if need be": "  zones: {}\n",
	} {
		t.Run(name, func(t *testing.T) { testHedgesGoElsewhere(t, rules) })
	}
}

func testHedgesGoElsewhere(t *testing.T, rules string) {
	t.Helper()
	servers := []*repeatedly{{answer: takes(time.Hour)}, {answer: takes(time.Hour)}, {answer: takes(time.Hour)}}
	const calls = 20
	several(t, "budget:\n  least: 1000\ndefaults:\n  timeout: 1s\n  idempotent: true\n  hedging:\n    delay: 100ms\n    attempts: 3\n"+rules, servers, func(t *testing.T, c *trunkcall.Client) {
		ada := trunkcall.WithMetadata(t.Context(), trunkcall.Metadata{{Key: "user", Value: "ada"}}) // whose endpoint is always the same
		for range calls {
			_, _ = echo.Call(ada, c, text("x"))
			synctest.Wait()
		}
	}, trunkcall.WithZone("here"))
	for i, s := range servers {
		if n := s.count(); n != calls {
			t.Errorf("server %d: %d runs, want %d", i, n, calls)
		}
	}
}
