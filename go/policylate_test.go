package trunkcall_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
	"github.com/trunkcall/trunkcall/go/internal/transport"
)

// What calls that run out of time say of a server: nothing, where most of their time had passed before they were
// sent (policy.md 10). On a clock of the test's own.

// late is a policy by which calls wait for so long before they are sent, and two that fail in a row eject a server.
func late(delay time.Duration) string {
	return fmt.Sprintf("defaults:\n  timeout: 1s\n  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 50\n"+
		"  faults:\n    held:\n      per_million: 1000000\n      delay: %dms\n", delay.Milliseconds())
}

func TestCallsThatWereSentLateDoNotEjectAServer(t *testing.T) {
	for delay, ejected := range map[time.Duration]bool{
		time.Millisecond: true, 500 * time.Millisecond: true, 501 * time.Millisecond: false, 999 * time.Millisecond: false,
	} {
		t.Run(delay.String(), func(t *testing.T) {
			servers := []*repeatedly{{answer: takes(time.Hour)}, {answer: takes(time.Hour)}}
			several(t, late(delay), servers, func(t *testing.T, c *trunkcall.Client) {
				for range 12 { // in turn, while both are there
					_, err := echo.Call(t.Context(), c, text("x"))
					if got := trunkcall.StatusOf(err).Code; got != trunkcall.DeadlineExceeded {
						t.Fatal(err)
					}
				}
			})
			if a, b := servers[0].count(), servers[1].count(); a+b != 12 || (a != b) != ejected {
				t.Errorf("%d and %d runs", a, b)
			}
		})
	}
}

// held is what keeps the second call of two, or its last attempt, from being sent for a time.
type held struct {
	policy  string
	first   func(context.Context, int) error // what the first run does; nil: it does not answer either
	connect time.Duration                    // what it takes to open a connection
	before  bool                             // there is another call, which takes the only slot
}

func TestABreakerDoesNotCountCallsThatWereSentLate(t *testing.T) {
	retries := "  idempotent: true\n  retries:\n    attempts: 2\n    jitter: 0\n    backoff: "
	const hedging = "  idempotent: true\n  hedging:\n    delay: 900ms\n"
	slowly := func(d time.Duration) func(context.Context, int) error {
		return func(context.Context, int) error {
			time.Sleep(d)
			return trunkcall.Errorf(trunkcall.Unavailable, "on purpose")
		}
	}
	for name, by := range map[string]func(d time.Duration) held{
		"a pause": func(d time.Duration) held {
			return held{policy: retries + fmt.Sprintf("%dms\n", d.Milliseconds()), first: failsWith(trunkcall.Unavailable)}
		},
		"an attempt":   func(d time.Duration) held { return held{policy: retries + "1ns\n", first: slowly(d)} },
		"a hedge":      func(d time.Duration) held { return held{policy: hedging, first: slowly(d)} },
		"a slot":       func(d time.Duration) held { return held{first: takes(d), before: true} },
		"a connection": func(d time.Duration) held { return held{connect: d} },
	} {
		for d, opens := range map[time.Duration]bool{400 * time.Millisecond: true, 600 * time.Millisecond: false} {
			t.Run(fmt.Sprintf("%s, %v", name, d), func(t *testing.T) { breaks(t, by(d), opens) })
		}
	}
}

// breaks has a call run out of time, and looks whether that opens a breaker.
func breaks(t *testing.T, h held, opens bool) {
	t.Helper()
	path := policyFile(t, "defaults:\n  timeout: 1s\n  breaker:\n    consecutive: 1\n    codes: [DEADLINE_EXCEEDED]\n"+h.policy)
	synctest.Test(t, func(t *testing.T) {
		a := &repeatedly{answer: func(ctx context.Context, run int) error {
			if run == 1 && h.first != nil {
				return h.first(ctx, run)
			}
			return takes(time.Hour)(ctx, run)
		}}
		s := newServer(t, trunkcall.WithLimits(trunkcall.Limits{Calls: 1}))
		if err := s.Register(a.handler()); err != nil {
			t.Fatal(err)
		}
		opened := pipes(make(chan net.Conn))
		if err := s.Start(opened); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		dialer := func(context.Context, trunkcall.Endpoint, string) (net.Conn, error) {
			time.Sleep(h.connect)
			near, far := transport.MemoryPair("pair")
			opened <- far
			return near, nil
		}
		c := newClient(t, "some:1", trunkcall.WithPolicyFile(path), trunkcall.WithDialer(dialer))
		defer c.Close()
		if h.connect == 0 {
			if err := c.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if h.before {
			go func() { _, _ = echo.Call(t.Context(), c, text("x")) }()
			synctest.Wait()
		}
		_, err := echo.Call(t.Context(), c, text("x"))
		if got := trunkcall.StatusOf(err).Code; got != trunkcall.DeadlineExceeded {
			t.Fatal(err)
		}
		_, err = echo.Call(t.Context(), c, text("x"))
		if open := trunkcall.StatusOf(err).Message == "breaker of /test.Service/Echo is open"; open != opens {
			t.Errorf("the next call ended with %v", err)
		}
	})
}

// pipes is a listener of connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn := <-p; conn != nil {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestAServerThatAnswersNothingIsEjectedAsSoonAsItsCallsRunOut(t *testing.T) {
	dead, good := &repeatedly{answer: takes(time.Hour)}, &repeatedly{answer: succeeds}
	const file = "defaults:\n  timeout: 1s\n  outliers:\n    consecutive: 5\n    eject: 30s\n    cap: 50\n"
	several(t, file, []*repeatedly{dead, good}, func(t *testing.T, c *trunkcall.Client) {
		ended := make(chan error, 20)
		for range 20 {
			go func() {
				_, err := echo.Call(t.Context(), c, text("x"))
				ended <- err
			}()
		}
		for range 20 {
			<-ended
		}
		for range 20 {
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				t.Error(err)
			}
		}
	})
	if dead.count() != 10 || good.count() != 30 {
		t.Errorf("%d and %d runs", dead.count(), good.count())
	}
}
