package trunkcall_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// deadlineOf is a handler that says how long its call may take.
func deadlineOf(told chan<- time.Duration) trunkcall.Handler {
	return block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		left := time.Duration(0)
		if d, ok := ctx.Deadline(); ok {
			left = time.Until(d)
		}
		told <- left
		return in, nil
	})
}

func TestTheMostSpecificTimeoutHolds(t *testing.T) {
	told := make(chan time.Duration, 1)
	_, target := serve(t, nil, deadlineOf(told))
	const method = "/test.Service/Block"
	policy := func(of string, d time.Duration) trunkcall.ClientOption {
		return trunkcall.WithPolicy(trunkcall.Policy{Method: of, Timeout: d})
	}
	for name, a := range map[string]struct {
		options []trunkcall.ClientOption
		call    []trunkcall.CallOption
		want    time.Duration
	}{
		"none":                 {nil, nil, 0},
		"default":              {[]trunkcall.ClientOption{trunkcall.WithTimeout(10 * time.Minute)}, nil, 10 * time.Minute},
		"not by stubs":         {[]trunkcall.ClientOption{trunkcall.WithTimeout(10 * time.Minute)}, []trunkcall.CallOption{trunkcall.WithoutDefaultTimeout()}, 0},
		"of the service":       {[]trunkcall.ClientOption{trunkcall.WithTimeout(10 * time.Minute), policy("/test.Service/", 20*time.Minute)}, nil, 20 * time.Minute},
		"of the method":        {[]trunkcall.ClientOption{policy(method, 30*time.Minute), policy("/test.Service/", 20*time.Minute), policy("", 10*time.Minute)}, nil, 30 * time.Minute},
		"of the call":          {[]trunkcall.ClientOption{policy(method, 30*time.Minute)}, []trunkcall.CallOption{trunkcall.CallTimeout(40 * time.Minute)}, 40 * time.Minute},
		"of the call: none":    {[]trunkcall.ClientOption{policy(method, 30*time.Minute)}, []trunkcall.CallOption{trunkcall.CallTimeout(0)}, 0},
		"of the call alone":    {nil, []trunkcall.CallOption{trunkcall.CallTimeout(40 * time.Minute)}, 40 * time.Minute},
		"for another method":   {[]trunkcall.ClientOption{policy("/test.Service/Other", 10*time.Minute)}, nil, 0},
		"that says other than": {[]trunkcall.ClientOption{policy("", 10*time.Minute), trunkcall.WithPolicy(trunkcall.Policy{Method: method, Repeat: new(false)})}, nil, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, target, a.options...)
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				if got := <-told; a.want == 0 && got != 0 || got > a.want || got < a.want-5*time.Minute {
					t.Fatalf("the call may take %v, want %v", got, a.want)
				}
			}
			for range 2 {
				_, err := block.Call(context.Background(), c, text("x"), a.call...)
				check(err)
				done := make(chan error, 1)
				trunkcall.InvokeFunc(context.Background(), c, unary(method), text("x"), &payload{}, func(err error) { done <- err }, a.call...)
				check(receive(t, done, "end"))
			}
		})
	}
}

func TestAPolicySaysWhetherCallsWait(t *testing.T) {
	c := newClient(t, "mem:"+t.Name(), trunkcall.WithPolicy(trunkcall.Policy{WaitForReady: new(true)}))
	t.Cleanup(c.Close)
	_, err := echo.Call(soon(t), c, text("x"), trunkcall.FailFast())
	wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
	ended := make(chan error, 1)
	go func() {
		_, err := echo.Call(soon(t), c, text("x"))
		ended <- err
	}()
	start(t, "mem:"+t.Name(), nil, standard()...)
	if err := receive(t, ended, "answer"); err != nil {
		t.Fatal(err)
	}
}

// told keeps what an attempt observer is told of.
type toldAttempts struct {
	mu           sync.Mutex
	began, ended []trunkcall.Attempt
	wrong        string
}

func (a *toldAttempts) observer() trunkcall.ClientOption {
	return trunkcall.WithAttemptObserver(trunkcall.AttemptObserver{
		Began: func(at *trunkcall.Attempt) {
			a.mu.Lock()
			defer a.mu.Unlock()
			at.State = len(a.began)
			a.began = append(a.began, *at)
		},
		Ended: func(at *trunkcall.Attempt) {
			a.mu.Lock()
			defer a.mu.Unlock()
			if _, ok := at.State.(int); !ok {
				a.wrong = "the state of an attempt is lost"
			}
			a.ended = append(a.ended, *at)
		},
	})
}

func (a *toldAttempts) last(t *testing.T, n int) trunkcall.Attempt {
	t.Helper()
	var last trunkcall.Attempt
	eventually(t, "the end is told", func() bool {
		runtime.GC() // a stream that was dropped ends with it
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.ended) == n {
			last = a.ended[n-1]
		}
		return len(a.ended) == n && len(a.began) == n
	})
	if a.wrong != "" {
		t.Fatal(a.wrong)
	}
	return last
}

func TestAttemptsAreTold(t *testing.T) {
	var told toldAttempts
	_, target := serve(t, nil, standard()...)
	c := dial(t, target, told.observer(), trunkcall.WithLogger(nil))
	n := 0
	next := func() trunkcall.Attempt {
		t.Helper()
		n++
		return told.last(t, n)
	}
	mustEcho(t, c, strings.Repeat("x", 100))
	if a := next(); a.Number != 1 || a.Method.Name != "/test.Service/Echo" || a.Endpoint.Addresses[0] != target ||
		a.Status.Code != trunkcall.OK || a.Duration <= 0 || a.SentBytes < 100 || a.ReceivedBytes != a.SentBytes || a.Peer.Remote.String() != target {
		t.Errorf("unary: %+v", a)
	}
	done := make(chan error, 1)
	trunkcall.InvokeFunc(soon(t), c, unary("/test.Service/Nothing"), text("x"), &payload{}, func(err error) { done <- err })
	if err := receive(t, done, "end"); err == nil {
		t.Error("it was served")
	}
	if a := next(); a.Status.Code != trunkcall.Unimplemented || a.Status.Delivery != trunkcall.Refused {
		t.Errorf("asynchronous: %+v", a)
	}
	checkBidi(t, c)
	if a := next(); a.Status.Code != trunkcall.OK || a.SentBytes == 0 || a.ReceivedBytes == 0 {
		t.Errorf("stream: %+v", a)
	}
	open := func(ctx context.Context) *trunkcall.BidiStream[payload, payload] {
		t.Helper()
		s, err := chat.Open(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	open(soon(t)).Close()
	if a := next(); a.Status.Code != trunkcall.Canceled {
		t.Errorf("closed: %+v", a)
	}
	ctx, cancel := context.WithCancel(context.Background())
	open(ctx)
	cancel()
	if a := next(); a.Status.Code != trunkcall.Canceled {
		t.Errorf("cancelled: %+v", a)
	}
	open(context.Background())
	if a := next(); a.Status.Code != trunkcall.Canceled || a.Status.Message != "the stream was dropped" {
		t.Errorf("dropped: %+v", a)
	}
}
