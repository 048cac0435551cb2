package trunkcall_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// How soon requests are refused that cannot be decoded says nothing of capacity (spec/policy.md 13).
func TestAnAdaptiveLimitOfAServerDoesNotCountRequestsThatCannotBeDecoded(t *testing.T) {
	path := policyFile(t, "defaults:\n  server_concurrency:\n    adaptive:\n      start: 8\n      samples: 2\n      window: 1ms\n")
	a := &repeatedly{answer: takes(10 * time.Millisecond)}
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, trunkcall.WithPolicyFile(path))
		if err := s.Register(a.handler()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Listen("mem:" + t.Name()); err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c := newClient(t, "mem:"+t.Name(), trunkcall.WithoutRepeating())
		defer c.Close()
		for range 80 {
			wants(t, undecodable(t, c, "/test.Service/Echo", trunkcall.KindUnary), trunkcall.InvalidArgument, trunkcall.Refused)
			time.Sleep(time.Millisecond)
		}
		for range 40 {
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				t.Error(err)
			}
		}
		ended := make(chan error, 9)
		for range 9 {
			go func() {
				_, err := echo.Call(t.Context(), c, text("x"))
				ended <- err
			}()
		}
		ok := 0
		for range 9 {
			if err := <-ended; err == nil {
				ok++
			} else {
				wants(t, err, trunkcall.ResourceExhausted, trunkcall.Refused)
			}
		}
		if ok != 8 {
			t.Errorf("%d of 9 calls at once ran, want 8", ok)
		}
	})
}
