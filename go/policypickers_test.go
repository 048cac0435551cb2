package trunkcall_test

import (
	"sync/atomic"
	"testing"

	"github.com/trunkcall/trunkcall/go"
)

// The key of a user's balancer panics where the policy file chooses among the endpoints: the call fails as with any
// picker that panics, and leaves nothing behind.
func TestAKeyThatPanicsFailsItsCall(t *testing.T) {
	key := func(p *trunkcall.Pick) string {
		user := p.Metadata.Get("user")
		if user == "bad" {
			panic("no such user")
		}
		return user
	}
	for name, file := range map[string]string{
		"plain":    "defaults:\n  retries:\n    attempts: 2\n",
		"outliers": "defaults:\n  concurrency:\n    limit: 2\n  outliers:\n    consecutive: 5\n",
		"hedging":  "defaults:\n  idempotent: true\n  outliers:\n    consecutive: 5\n  hedging:\n    delay: 10ms\n",
	} {
		t.Run(name, func(t *testing.T) {
			servers := []*repeatedly{{answer: succeeds}, {answer: succeeds}}
			several(t, file, servers, func(t *testing.T, c *trunkcall.Client) {
				bad := trunkcall.WithMetadata(t.Context(), trunkcall.Metadata{{Key: "user", Value: "bad"}})
				good := trunkcall.WithMetadata(t.Context(), trunkcall.Metadata{{Key: "user", Value: "good"}})
				for range 3 { // more than may be made at once
					_, err := echo.Call(bad, c, text("x"))
					wantsText(t, wants(t, err, trunkcall.Internal, trunkcall.NotSent).Message, "its picker panicked: no such user")
					_, err = trunkcall.OpenStream(bad, c, trunkcall.NewMethod("/test.Service/Chat", trunkcall.KindBidiStream))
					wants(t, err, trunkcall.Internal, trunkcall.NotSent)
				}
				if _, err := echo.Call(good, c, text("x")); err != nil {
					t.Error(err)
				}
			}, trunkcall.WithBalancer(trunkcall.Hash(key)))
		})
	}
}

// counting picks the first endpoint that is ready, and counts the calls that it has placed.
type placing struct {
	endpoints    []*trunkcall.EndpointState
	picks, ended *atomic.Int64
}

func (c *placing) Balance(endpoints []*trunkcall.EndpointState) trunkcall.Picker {
	return &placing{endpoints, c.picks, c.ended}
}

func (c *placing) Pick(*trunkcall.Pick) *trunkcall.EndpointState {
	for _, e := range c.endpoints {
		if e.State() == trunkcall.StateReady {
			c.picks.Add(1)
			return e
		}
	}
	return nil
}

func (c *placing) Ended(*trunkcall.EndpointState, trunkcall.Outcome) { c.ended.Add(1) }

// A picker is told of the ends of the calls that it has placed, and of no others.
func TestAPickerIsToldOfItsOwnCalls(t *testing.T) {
	const file = "services:\n  test.Service:\n    methods:\n      Echo:\n        balancer:\n          name: round_robin\n"
	for name, file := range map[string]string{"placed by the file": file, "placed by it": "defaults:\n  timeout: 1s\n"} {
		t.Run(name, func(t *testing.T) {
			c := &placing{picks: &atomic.Int64{}, ended: &atomic.Int64{}}
			servers := []*repeatedly{{answer: succeeds}, {answer: succeeds}}
			several(t, file, servers, func(t *testing.T, client *trunkcall.Client) {
				for range 10 {
					if _, err := echo.Call(t.Context(), client, text("x")); err != nil {
						t.Error(err)
					}
				}
			}, trunkcall.WithBalancer(c))
			if picks, ended := c.picks.Load(), c.ended.Load(); picks != ended || name == "placed by it" && ended != 10 {
				t.Errorf("it has placed %d calls, and was told of %d", picks, ended)
			}
		})
	}
}
