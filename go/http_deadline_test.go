package trunkcall_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// Deadlines of calls over HTTP/1.1 and HTTP/2.

func TestTheDeadlineOfAnHTTPCallEndsItThoughItsHandlerRunsOn(t *testing.T) {
	g := newGate(t)
	s, url := serveCalculator(t, nil, g.handler())
	for name, c := range overHTTP(t) {
		t.Run(name, func(t *testing.T) {
			runsOut(t, func(d time.Duration) bool {
				ms := strconv.Itoa(int(d.Milliseconds()))
				a := posts(t, c, url+"/test.Service/Block", "application/json", "{}", "Connect-Timeout-Ms", ms)
				a.wantsError(t, 504, "deadline_exceeded")
				if a.header.Get("Trunk-Delivery") == "refused" {
					return true
				}
				if a.header.Get("Trunk-Delivery") != "unknown" {
					t.Error(a.header)
				}
				return false
			})
			ctx := g.await(t)
			ends(t, ctx)
			if context.Cause(ctx) != context.DeadlineExceeded {
				t.Error(context.Cause(ctx))
			}
			posts(t, c, url+"/calc/div", "application/json", "[7,2]").wants(t, "[3,1]")
		})
	}
	if s.Running() != 2 {
		t.Error(s.Running(), "handlers run")
	}
	g.open()
	eventually(t, "they return", func() bool { return s.Running() == 0 })
}

func TestAnHTTPCallWithoutTimeIsRefused(t *testing.T) {
	_, url := serveCalculator(t, nil, block.Handler(func(_ context.Context, in *payload) (*payload, error) {
		t.Error("its handler runs")
		return in, nil
	}))
	for name, c := range overHTTP(t) {
		for range 200 {
			a := posts(t, c, url+"/test.Service/Block", "application/json", "{}", "Connect-Timeout-Ms", "0")
			if a.wantsError(t, 504, "deadline_exceeded"); t.Failed() || a.header.Get("Trunk-Delivery") != "refused" {
				t.Fatal(name, a.header)
			}
		}
	}
}

func TestAHandlerThatEndsWithItsDeadlineLosesNoAnswer(t *testing.T) {
	_, url := serveCalculator(t, nil, block.Handler(func(ctx context.Context, in *payload) (*payload, error) {
		<-ctx.Done()
		return in, nil
	}))
	for name, c := range overHTTP(t) {
		for range 50 {
			a := posts(t, c, url+"/test.Service/Block", "application/json", "{}", "Connect-Timeout-Ms", "1")
			if a.wantsError(t, 504, "deadline_exceeded"); t.Failed() {
				t.Fatal(name)
			}
		}
	}
}

func TestADeadlineHoldsWhileTheBodyIsOnItsWay(t *testing.T) {
	s, url := serveCalculator(t, nil)
	for name, c := range overHTTP(t) {
		body, feed := io.Pipe()
		r, _ := http.NewRequestWithContext(soon(t), "POST", url+"/test.Service/Echo", body)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Connect-Timeout-Ms", "30")
		response, err := c.Do(r)
		if err != nil {
			t.Fatal(name, err)
		}
		if response.StatusCode != 504 || response.Header.Get("Trunk-Delivery") != "refused" {
			t.Error(name, response.Status, response.Header)
		}
		_ = response.Body.Close()
		_ = feed.Close()
	}
	eventually(t, "no call is left", func() bool { return s.Running() == 0 })
}
