package trunkcall_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trunkcall/trunkcall/go"
)

// What is told by the numbers of spec/policy.md 13: a limit that begins at 8 falls to 4 while calls take a hundred times
// as long as without a queue, since 4 x 0.5 + 2 is 4, and grows again once they do not.
const adaptive = "    adaptive:\n      start: 8\n      samples: 4\n      window: 1ms\n      remeasure: 1h\n"

// atOnce makes calls at once, and returns how many succeeded. The others have been refused by the limit.
func atOnce(t *testing.T, c *trunkcall.Client, n int, delivery trunkcall.Delivery) (ok int) {
	t.Helper()
	ended := make(chan error, n)
	refusal := "concurrency of defaults is used up"
	if delivery == trunkcall.Refused {
		refusal = "concurrency of defaults of the server is used up"
	}
	for range n {
		go func() {
			_, err := echo.Call(t.Context(), c, text("x"))
			ended <- err
		}()
		synctest.Wait()
	}
	for range n {
		if err := <-ended; err == nil {
			ok++
		} else if s := wants(t, err, trunkcall.ResourceExhausted, delivery); s.Message != refusal {
			t.Errorf("%+v", s)
		}
	}
	return ok
}

// follows checks that a limit falls with a server that gets slower, and recovers with it.
func follows(t *testing.T, c *trunkcall.Client, a *repeatedly, delivery trunkcall.Delivery) {
	t.Helper()
	batches := func(n int, d time.Duration) {
		a.answer = takes(d)
		for range n {
			if ok := atOnce(t, c, 4, delivery); ok != 4 {
				t.Errorf("%d of 4 ran", ok)
			}
		}
	}
	batches(4, 10*time.Millisecond)
	if ok := atOnce(t, c, 8, delivery); ok != 8 {
		t.Errorf("%d of 8 ran at first", ok)
	}
	batches(100, time.Second)
	before := a.count()
	if ok := atOnce(t, c, 9, delivery); ok != 4 {
		t.Errorf("%d of 9 ran while the server is slow, want 4", ok)
	}
	if ran := a.count() - before; ran != 4 {
		t.Errorf("%d came to the handler", ran)
	}
	batches(30, 10*time.Millisecond)
	if ok := atOnce(t, c, 8, delivery); ok != 8 {
		t.Errorf("%d of 8 ran once the server is quick again", ok)
	}
}

func TestAnAdaptiveLimitOfAClientFollowsItsServer(t *testing.T) {
	a := &repeatedly{}
	governed(t, "defaults:\n  concurrency:\n"+adaptive, a, func(t *testing.T, c *trunkcall.Client, _ string) {
		follows(t, c, a, trunkcall.NotSent)
	})
}

func TestAnAdaptiveLimitOfAServerFollowsItsHandlers(t *testing.T) {
	path := policyFile(t, "defaults:\n  server_concurrency:\n"+adaptive)
	a := &repeatedly{}
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
		follows(t, c, a, trunkcall.Refused)
	})
}

// How long a stream stays open says nothing of capacity.
func TestAnAdaptiveLimitDoesNotTakeOpenStreamsForSlowCalls(t *testing.T) {
	for _, side := range []string{"concurrency", "server_concurrency"} {
		t.Run(side, func(t *testing.T) {
			a := &repeatedly{answer: takes(10 * time.Millisecond)}
			path := policyFile(t, "defaults:\n  "+side+":\n"+adaptive)
			synctest.Test(t, func(t *testing.T) {
				server, client, delivery := []trunkcall.ServerOption{}, []trunkcall.ClientOption{}, trunkcall.NotSent
				if side == "concurrency" {
					client = append(client, trunkcall.WithPolicyFile(path))
				} else {
					server, client, delivery = append(server, trunkcall.WithPolicyFile(path)), append(client, trunkcall.WithoutRepeating()), trunkcall.Refused
				}
				s := newServer(t, server...)
				if err := s.Register(append(standard()[1:], a.handler())...); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Listen("mem:" + t.Name()); err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				c := newClient(t, "mem:"+t.Name(), client...)
				defer c.Close()
				for range 10 {
					if ok := atOnce(t, c, 4, delivery); ok != 4 {
						t.Errorf("%d of 4 ran", ok)
					}
				}
				for range 40 {
					stream, err := chat.Open(t.Context(), c)
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
					_ = stream.CloseSend()
					_, _ = stream.Receive()
				}
				if ok := atOnce(t, c, 8, delivery); ok != 8 {
					t.Errorf("%d of 8 ran behind streams that were open for long", ok)
				}
			})
		})
	}
}

// A breaker that is half open lets as many calls pass as it has probes, and closes once all of them have succeeded.
func TestABreakerClosesAfterAllItsProbes(t *testing.T) {
	a := &repeatedly{answer: failsWith(trunkcall.Unavailable)}
	governed(t, "defaults:\n  breaker:\n    consecutive: 1\n    open: 5s\n    probes: 3\n", a, func(t *testing.T, c *trunkcall.Client, _ string) {
		probe := func(last error) {
			goesOn := make(chan error)
			a.answer = func(ctx context.Context, _ int) error { return <-goesOn }
			ended := make(chan error, 5)
			before := a.count()
			for range 5 {
				go func() {
					_, err := echo.Call(t.Context(), c, text("x"))
					ended <- err
				}()
				synctest.Wait()
			}
			if ran := a.count() - before; ran != 3 {
				t.Errorf("%d of 5 probes ran, want 3", ran)
			}
			for range 2 {
				if s := wants(t, <-ended, trunkcall.Unavailable, trunkcall.NotSent); s.Message != "breaker of /test.Service/Echo is open" {
					t.Errorf("%+v", s)
				}
			}
			goesOn <- nil
			goesOn <- nil
			for range 2 {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
			_, err := echo.Call(t.Context(), c, text("x")) // two of three are not enough
			wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
			goesOn <- last
			<-ended
		}
		_, err := echo.Call(t.Context(), c, text("x"))
		wants(t, err, trunkcall.Unavailable, trunkcall.Executed)
		time.Sleep(6 * time.Second)
		probe(trunkcall.Errorf(trunkcall.Unavailable, "on purpose"))
		_, err = echo.Call(t.Context(), c, text("x"))
		wants(t, err, trunkcall.Unavailable, trunkcall.NotSent)
		time.Sleep(6 * time.Second)
		probe(nil)
		a.answer = succeeds
		for range 9 {
			if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
				t.Error(err)
			}
		}
	})
}

// Of two endpoints in the zone one is ejected: whether calls go elsewhere is said by how many have to be well.
func TestAZoneIsLeftAsFarAsItIsNotHealthy(t *testing.T) {
	for healthy, most := range map[string]int{"50": 0, "100": 199} {
		t.Run(healthy, func(t *testing.T) {
			file := "defaults:\n  outliers:\n    consecutive: 1\n    eject: 1h\n    cap: 50\n  zones:\n    healthy: " + healthy + "\n"
			servers := []*repeatedly{{answer: succeeds}, {answer: succeeds}, {answer: failsWith(trunkcall.Unavailable)}}
			several(t, file, servers, func(t *testing.T, c *trunkcall.Client) { // the first and the last are here
				for servers[2].count() == 0 {
					_, _ = echo.Call(t.Context(), c, text("x"))
				}
				before := servers[1].count()
				for range 200 {
					if _, err := echo.Call(t.Context(), c, text("x")); err != nil {
						t.Error(err)
					}
				}
				if there := servers[1].count() - before; there > most || most > 0 && there == 0 {
					t.Errorf("%d of 200 calls went elsewhere, want at most %d", there, most)
				}
				if n := servers[2].count(); n != 1 {
					t.Errorf("%d calls went to the one that is ejected", n)
				}
			}, trunkcall.WithZone("here"))
		})
	}
}

// Of five servers four fail, and two may be ejected: the others are called as if none could be.
func TestNoMoreServersAreEjectedThanTheCapAllows(t *testing.T) {
	servers := make([]*repeatedly, 5)
	for i := range servers {
		servers[i] = &repeatedly{answer: failsWith(trunkcall.Internal)}
	}
	servers[4].answer = succeeds
	several(t, "defaults:\n  outliers:\n    consecutive: 2\n    eject: 30s\n    cap: 40\n", servers, func(t *testing.T, c *trunkcall.Client) {
		for range 2 {
			for range 20 { // so often that all are ejected that can be
				_, _ = echo.Call(t.Context(), c, text("x"))
			}
			runs := make([]int, len(servers))
			for i, s := range servers {
				runs[i] = -s.count()
			}
			for range 60 {
				_, _ = echo.Call(t.Context(), c, text("x"))
			}
			for i, s := range servers {
				runs[i] += s.count()
			}
			good := runs[4]
			slices.Sort(runs)
			if good != 20 || !slices.Equal(runs, []int{0, 0, 20, 20, 20}) {
				t.Errorf("of 60 calls %d went to the one that does not fail, and to each %v", good, runs)
			}
			time.Sleep(37 * time.Second) // both are back
		}
	})
}
