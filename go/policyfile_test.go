package trunkcall_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// policyFile writes a policy file in YAML, without its last line, and returns its path.
func policyFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	exchangeFile(t, path, text)
	return path
}

// exchangeFile replaces a policy file as programs do that manage files: by another one.
func exchangeFile(t *testing.T, path, text string) {
	t.Helper()
	next := path + ".new"
	if err := os.WriteFile(next, []byte("policy: 1\n"+text+"...\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
}

// repeatedly is a handler of echo that counts its runs and answers what it is told to.
type repeatedly struct {
	mu     sync.Mutex
	runs   int
	answer func(ctx context.Context, run int) error
}

func (a *repeatedly) handler() trunkcall.Handler {
	return echo.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		a.mu.Lock()
		a.runs++
		run := a.runs
		a.mu.Unlock()
		if err := a.answer(ctx, run); err != nil {
			return nil, err
		}
		return in, nil
	})
}

func (a *repeatedly) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.runs
}

func failsWith(code trunkcall.Code) func(context.Context, int) error {
	return func(context.Context, int) error { return trunkcall.Errorf(code, "on purpose") }
}

// governed runs a test on a clock of its own, with a server in memory and a client with a policy file.
func governed(t *testing.T, text string, a *repeatedly, test func(t *testing.T, c *trunkcall.Client, path string), options ...trunkcall.ClientOption) {
	t.Helper()
	path := policyFile(t, text)
	synctest.Test(t, func(t *testing.T) {
		where := "mem:" + t.Name()
		s := newServer(t)
		if err := s.Register(a.handler()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Listen(where); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := newClient(t, where, append([]trunkcall.ClientOption{trunkcall.WithPolicyFile(path)}, options...)...)
		defer c.Close()
		test(t, c, path)
	})
}

const retrying = `defaults:
  timeout: 10s
  retries:
    attempts: 4
    backoff: 100ms
    jitter: 0
services:
  test.Service:
    methods:
      Echo:
        idempotent: %v
`

func TestIdempotentCallsAreRetriedAndOthersAreNot(t *testing.T) {
	for idempotent, want := range map[bool]int{true: 4, false: 1} {
		t.Run(fmt.Sprint(idempotent), func(t *testing.T) {
			a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
			var told toldAttempts
			governed(t, fmt.Sprintf(retrying, idempotent), a, func(t *testing.T, c *trunkcall.Client, _ string) {
				began := time.Now()
				_, err := echo.Call(t.Context(), c, text("x"))
				wants(t, err, trunkcall.Unavailable, trunkcall.Executed)
				if pauses := map[int]time.Duration{1: 0, 4: 700 * time.Millisecond}[want]; time.Since(began) != pauses {
					t.Errorf("it took %v, want %v", time.Since(began), pauses)
				}
			}, told.observer())
			if a.count() != want || len(told.ended) != want {
				t.Errorf("it ran %d times in %d attempts, want %d", a.count(), len(told.ended), want)
			}
			for i, at := range told.ended {
				if at.Number != i+1 {
					t.Errorf("attempt %d is number %d", i+1, at.Number)
				}
			}
		})
	}
}

func TestARetriedCallSucceeds(t *testing.T) {
	a := &repeatedly{answer: func(_ context.Context, run int) error {
		if run < 3 {
			return trunkcall.Errorf(trunkcall.Unavailable, "not yet")
		}
		return nil
	}}
	governed(t, fmt.Sprintf(retrying, true), a, func(t *testing.T, c *trunkcall.Client, _ string) {
		if _, err := echo.Call(t.Context(), c, text("x")); err != nil || a.count() != 3 {
			t.Error(err, a.count())
		}
		done := make(chan error, 1)
		a.runs = 1
		echo.CallFunc(t.Context(), c, text("x"), func(_ *payload, err error) { done <- err })
		if err := <-done; err != nil || a.count() != 3 {
			t.Error("asynchronously:", err, a.count())
		}
	})
}

func TestTheTimeoutHoldsOverAllAttempts(t *testing.T) {
	const file = "defaults:\n  timeout: 1s\n  idempotent: true\n  retries:\n    attempts: 10\n    backoff: 300ms\n    jitter: 0\n    multiplier: 100\n    codes: [UNAVAILABLE, DEADLINE_EXCEEDED]\n"
	slow := &repeatedly{answer: func(ctx context.Context, run int) error {
		if run < 3 {
			return trunkcall.Errorf(trunkcall.Unavailable, "not yet")
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	governed(t, file, slow, func(t *testing.T, c *trunkcall.Client, _ string) {
		began := time.Now()
		_, err := echo.Call(t.Context(), c, text("x"))
		wants(t, err, trunkcall.DeadlineExceeded, trunkcall.Executed) // the first attempts promise least
		if took := time.Since(began); took != time.Second || slow.count() != 3 {
			t.Errorf("it took %v and ran %d times", took, slow.count())
		}
	})
}

func TestRetriesStayWithinTheOneBudget(t *testing.T) {
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	governed(t, "budget:\n  percent: 20\n  least: 0\n"+fmt.Sprintf(retrying, true), a, func(t *testing.T, c *trunkcall.Client, _ string) {
		const calls = 100
		for range calls {
			_, err := echo.Call(t.Context(), c, text("x"))
			wants(t, err, trunkcall.Unavailable, trunkcall.Executed)
		}
		if n := a.count() - calls; n > calls*20/100 || n < 10 {
			t.Errorf("%d repetitions of %d calls, want at most %d", n, calls, calls*20/100)
		}
	})
}

func TestThePauseOfARetryEndsWithItsClient(t *testing.T) {
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	governed(t, "defaults:\n  idempotent: true\n  retries:\n    backoff: 1h\n    jitter: 0\n", a, func(t *testing.T, c *trunkcall.Client, _ string) {
		ended := make(chan error, 1)
		go func() {
			_, err := echo.Call(t.Context(), c, text("x"))
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		c.Close()
		wants(t, <-ended, trunkcall.Unavailable, trunkcall.Executed)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it ended after %v", took)
		}
	})
}

// keptLog keeps the records of a log.
type keptLog struct {
	mu      sync.Mutex
	records []string
}

func (l *keptLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func (l *keptLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, string(p))
	return len(p), nil
}

func (l *keptLog) with(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if strings.Contains(r, text) {
			n++
		}
	}
	return n
}

func TestAPolicyFileIsExchangedWhileCallsRun(t *testing.T) {
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	var log keptLog
	attempts := func(t *testing.T, c *trunkcall.Client) int {
		t.Helper()
		before := a.count()
		_, err := echo.Call(t.Context(), c, text("x"))
		wants(t, err, trunkcall.Unavailable, trunkcall.Executed)
		return a.count() - before
	}
	var toldMu sync.Mutex
	var told []string
	tell := func(text string) {
		toldMu.Lock()
		defer toldMu.Unlock()
		told = append(told, text)
	}
	observer := trunkcall.Observer{
		PolicyTaken:   func(file string) { tell("taken " + filepath.Base(file)) },
		PolicyRefused: func(file string, err error) { tell("refused " + filepath.Base(file) + ": " + err.Error()) },
	}
	governed(t, fmt.Sprintf(retrying, true), a, func(t *testing.T, c *trunkcall.Client, path string) {
		if n := attempts(t, c); n != 4 {
			t.Errorf("%d attempts", n)
		}
		running := make(chan int, 1)
		go func() { running <- attempts(t, c) }() // begins by what holds now
		time.Sleep(50 * time.Millisecond)
		exchangeFile(t, path, strings.Replace(fmt.Sprintf(retrying, true), "attempts: 4", "attempts: 2", 1))
		if n := <-running; n != 4 {
			t.Errorf("%d attempts of a call that began before", n)
		}
		time.Sleep(3 * time.Second)
		if n := attempts(t, c); n != 2 {
			t.Errorf("%d attempts by the new file", n)
		}
		exchangeFile(t, path, "defaults:\n  timeout: soon\n  retrys: none\n")
		time.Sleep(5 * time.Second)
		if n := attempts(t, c); n != 2 {
			t.Errorf("%d attempts though the file is at fault", n)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if n := attempts(t, c); n != 2 {
			t.Errorf("%d attempts though the file is gone", n)
		}
		exchangeFile(t, path, "defaults:\n  retries: none\n")
		time.Sleep(3 * time.Second)
		if n := attempts(t, c); n != 1 {
			t.Errorf("%d attempts by the last file", n)
		}
	}, trunkcall.WithLogger(log.logger()), trunkcall.WithObserver(observer))
	want := []string{
		"taken policy.yaml", "refused policy.yaml: line 3: defaults.timeout: want a duration",
		"refused policy.yaml: stat ", "taken policy.yaml",
	}
	if len(told) != len(want) {
		t.Fatalf("observers were told %q", told)
	}
	for i := range want {
		if !strings.HasPrefix(told[i], want[i]) {
			t.Errorf("observers were told %q, want %q", told[i], want[i])
		}
	}
	for text, want := range map[string]int{
		"policy file taken": 2, "policy file not taken": 2, pathIn(&log) + ` error="line 3: defaults.timeout: want a duration`: 1,
		"line 4: defaults.retrys: unknown field": 1, "no such file": 1,
	} {
		if n := log.with(text); n != want {
			t.Errorf("%d records say %q, want %d: %q", n, text, want, log.records)
		}
	}
}

// pathIn is that of the file in the log's records.
func pathIn(l *keptLog) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if _, rest, ok := strings.Cut(r, "file="); ok {
			return strings.Fields(rest)[0]
		}
	}
	return "no file"
}

func TestABadPolicyFileFailsAtOnce(t *testing.T) {
	bad := policyFile(t, "defaults:\n  timeout: soon\n")
	good := policyFile(t, "defaults:\n  timeout: 1s\n")
	for name, a := range map[string]struct {
		options []trunkcall.ClientOption
		want    []string
	}{
		"at fault":   {[]trunkcall.ClientOption{trunkcall.WithPolicyFile(bad)}, []string{bad, "line 3: defaults.timeout: want a duration", `found "soon"`}},
		"missing":    {[]trunkcall.ClientOption{trunkcall.WithPolicyFile(bad + "x")}, []string{bad + "x", "no such file"}},
		"empty path": {[]trunkcall.ClientOption{trunkcall.WithPolicyFile("")}, []string{"the path of the policy file is empty"}},
		"two":        {[]trunkcall.ClientOption{trunkcall.WithPolicyFile(good), trunkcall.WithPolicyFile(bad)}, []string{"two policy files", good, bad}},
		"two ways":   {[]trunkcall.ClientOption{trunkcall.WithPolicyFile(good), trunkcall.WithTimeout(time.Second)}, []string{"contradict each other"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trunkcall.NewClient("mem:nowhere", a.options...)
			if err == nil {
				t.Fatal("the client is made")
			}
			wantsText(t, err.Error(), a.want...)
		})
	}
	if _, err := trunkcall.NewServer(trunkcall.WithPolicyFile(bad)); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("server: %v", err)
	}
}

// A server's file is watched too, and its observers are told.
func TestAPolicyFileOfAServerIsExchanged(t *testing.T) {
	path := policyFile(t, "defaults:\n  server_rate:\n    per_second: 1\n    burst: 1\n")
	synctest.Test(t, func(t *testing.T) {
		told := make(chan string, 10)
		s := newServer(t, trunkcall.WithPolicyFile(path), trunkcall.WithObserver(trunkcall.Observer{
			PolicyTaken:   func(string) { told <- "taken" },
			PolicyRefused: func(_ string, err error) { told <- err.Error() },
		}))
		if err := s.Register(echo.Handler(func(_ context.Context, in *payload) (*payload, error) { return in, nil })); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Listen("mem:" + t.Name()); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := newClient(t, "mem:"+t.Name(), trunkcall.WithoutRepeating())
		defer c.Close()
		ran := func() (n int) {
			for range 10 {
				if _, err := echo.Call(t.Context(), c, text("x")); err == nil {
					n++
				}
			}
			return n
		}
		if n := ran(); n != 1 {
			t.Errorf("%d calls ran, want 1", n)
		}
		exchangeFile(t, path, "defaults:\n  server_rate: soon\n")
		time.Sleep(3 * time.Second)
		if got := <-told; !strings.HasPrefix(got, "line 3: defaults.server_rate: want a mapping or none") {
			t.Error(got)
		}
		if n := ran(); n != 1 {
			t.Errorf("%d calls ran by the file before, want 1", n)
		}
		exchangeFile(t, path, "defaults:\n  server_rate:\n    per_second: 5\n")
		time.Sleep(3 * time.Second)
		if got := <-told; got != "taken" {
			t.Error(got)
		}
		if n := ran(); n != 5 {
			t.Errorf("%d calls ran by the new file, want 5", n)
		}
	})
}

func TestAStateStaysWhereItsRulesDo(t *testing.T) {
	const breaker = "defaults:\n  breaker:\n    consecutive: 1\n    open: 1h\n"
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	governed(t, breaker, a, func(t *testing.T, c *trunkcall.Client, path string) {
		message := func() string {
			_, err := echo.Call(t.Context(), c, text("x"))
			return trunkcall.StatusOf(err).Message
		}
		for i, step := range []struct{ file, want string }{
			{"", "on purpose"},
			{breaker + "  timeout: 1s\n", "breaker of /test.Service/Echo is open"},
			{strings.Replace(breaker, "1h", "30m", 1), "on purpose"},
		} {
			if step.file != "" {
				exchangeFile(t, path, step.file)
				time.Sleep(3 * time.Second)
			}
			if got := message(); got != step.want {
				t.Errorf("step %d: %q, want %q", i, got, step.want)
			}
		}
	})
}

func TestAStateStaysThatNoMethodCalledSoFarShares(t *testing.T) {
	const limit = "defaults:\n  concurrency:\n    limit: 1\n"
	a := &repeatedly{answer: takes(time.Hour)}
	governed(t, limit, a, func(t *testing.T, c *trunkcall.Client, path string) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = echo.Call(ctx, c, text("x"))
		}()
		synctest.Wait()
		exchangeFile(t, path, limit+"services:\n  test.Service:\n    methods:\n      Echo:\n        concurrency: none\n")
		time.Sleep(3 * time.Second)
		_, err := block.Call(t.Context(), c, text("x"))
		if s := wants(t, err, trunkcall.ResourceExhausted, trunkcall.NotSent); s.Message != "concurrency of defaults is used up" {
			t.Errorf("%+v", s)
		}
		cancel()
		<-ended
		_, err = block.Call(t.Context(), c, text("x"))
		wants(t, err, trunkcall.Unimplemented, trunkcall.Refused)
	})
}

func TestTheBudgetStaysWhereItsRulesDo(t *testing.T) {
	const file = "budget:\n  percent: 0\n  least: 1\ndefaults:\n  idempotent: true\n  retries:\n    backoff: 1us\n"
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	governed(t, file, a, func(t *testing.T, c *trunkcall.Client, path string) {
		for i, step := range []struct {
			file string
			want int
		}{{"", 10}, {file + "  timeout: 1s\n", 0}, {strings.Replace(file, "least: 1", "least: 2", 1), 20}} {
			if step.file != "" {
				exchangeFile(t, path, step.file)
				time.Sleep(3 * time.Second) // less than the ten seconds of the budget
			}
			before := a.count()
			for range 10 {
				_, _ = echo.Call(t.Context(), c, text("x"))
			}
			if n := a.count() - before - 10; n != step.want {
				t.Errorf("step %d: %d repetitions, want %d", i, n, step.want)
			}
		}
	})
}
