package trunkcall_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// Nothing that the process has once touches the channels and timers of a bubble of testing/synctest from outside, nor is
// it made in one bubble and used in the next: the runtime would end the process. So this one runs alone, with bubbles first.
func TestBubblesAndWhatIsOutsideDoNotMeet(t *testing.T) {
	if os.Getenv(childVariable) != t.Name() {
		if output, err := child(t, t.Name()).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	bubble(t)
	// Calls outside keep awake what looks after handlers there.
	s, c := join(t)
	defer s.Close()
	defer c.Close()
	var stop atomic.Bool
	var outside sync.WaitGroup
	defer outside.Wait()
	defer stop.Store(true)
	for range 2 {
		outside.Go(func() {
			for !stop.Load() {
				if _, err := echo.Call(context.Background(), c, text("x")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		bubble(t)
	}
}

// bubble makes calls in a bubble: at first quick ones, so that the server trusts the method, then such whose handlers take
// longer by a real clock than anybody waits for a trusted one, busy or blocked, while others are made. It ends as soon as
// client and server are closed.
func bubble(t *testing.T) {
	t.Helper()
	ticks := make(chan struct{}) // of a real clock, outside
	done := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		for {
			time.Sleep(3 * time.Millisecond)
			select {
			case ticks <- struct{}{}:
			case <-done:
				return
			}
		}
	})
	defer ticking.Wait()
	defer close(done)
	handler := echo.Handler(func(_ context.Context, in *payload) (*payload, error) {
		switch {
		case bytes.HasPrefix(in.Data, []byte("busy")):
			for begun := false; ; {
				select {
				case <-ticks:
					if begun {
						return in, nil
					}
					begun = true
				default:
				}
			}
		case bytes.HasPrefix(in.Data, []byte("blocked")):
			<-ticks
			<-ticks
		case bytes.HasPrefix(in.Data, []byte("asleep")):
			time.Sleep(time.Minute)
		}
		return in, nil
	})
	synctest.Test(t, func(t *testing.T) {
		server := newServer(t)
		defer server.Close()
		if err := server.Register(handler); err != nil {
			t.Fatal(err)
		}
		where := "mem:" + t.Name()
		if _, err := server.Listen(where); err != nil {
			t.Fatal(err)
		}
		client := newClient(t, where)
		defer client.Close()
		call := func(data string, options ...trunkcall.CallOption) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if out, err := echo.Call(ctx, client, text(data), options...); err != nil || string(out.Data) != data {
				t.Error(err)
			}
		}
		for range 1000 {
			call("quick")
		}
		call(strings.Repeat("long", 1000), trunkcall.CallCompression(trunkcall.Zstd))
		for range 10 {
			var calls sync.WaitGroup
			for _, kind := range []string{"busy", "quick", "blocked", "quick", "asleep", "quick"} {
				calls.Go(func() { call(kind) })
			}
			calls.Wait()
		}
	})
}
