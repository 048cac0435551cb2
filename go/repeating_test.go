package trunkcall

import (
	"context"
	"testing"
	"time"

	"github.com/trunkcall/trunkcall/go/internal/policy"
	"github.com/trunkcall/trunkcall/go/internal/wire"
)

func TestAtMostATenthOfTheCallsOrTenASecondAreRepeated(t *testing.T) {
	r := newRepeats(policy.BudgetRules{Percent: repeatPercent, Least: leastRepeats})
	taken := func(second int64) (n int) {
		for r.take(time.Duration(second) * time.Second) {
			n++
		}
		return n
	}
	if n := taken(5); n != 100 {
		t.Errorf("%d without any calls, want 100", n)
	}
	r.made(5*time.Second, 999)
	if n := taken(5); n != 0 {
		t.Errorf("%d more with 999 calls", n)
	}
	r.made(6*time.Second, 1001)
	if n := taken(6); n != 100 {
		t.Errorf("%d more with 2000 calls, want 100", n)
	}
	if n := taken(14); n != 0 {
		t.Errorf("%d more while all that is within ten seconds", n)
	}
	if n := taken(15); n != 0 { // the 100 of second 6 and its 1001 calls remain
		t.Errorf("%d more when the first second is forgotten", n)
	}
	if n := taken(16); n != 100 {
		t.Errorf("%d when all is forgotten, want 100", n)
	}
	if n := taken(1_000_000); n != 100 {
		t.Errorf("%d much later, want 100", n)
	}
}

func TestStreamsCountAmongTheCallsOfTheBudget(t *testing.T) {
	c, _ := NewClient("mem:nowhere")
	defer c.Close()
	for {
		began := elapsed()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for range 2000 {
			if _, err := c.NewStream(ctx, NewMethod("/a.b/C", KindBidiStream)); err == nil {
				t.Fatal("a stream was opened")
			}
		}
		taken := 0
		for c.repeats.take(began) {
			taken++
		}
		if elapsed()-began < 9*time.Second { // else some of them are forgotten already
			if taken != 200 {
				t.Errorf("%d repetitions for 2000 streams, want 200", taken)
			}
			return
		}
	}
}

func TestACallIsRepeatedWhileTheBudgetLastsAndUnlessThatIsSwitchedOff(t *testing.T) {
	busy := &wire.Ending{Code: ResourceExhausted, Delivery: Refused, RetryAfter: 1}
	repeats := func(c *Client) bool {
		_, ok := c.pause(context.Background(), NewMethod("/a.B/C", KindUnary), busy)
		return ok
	}
	once, _ := NewClient("mem:nowhere", WithoutRepeating())
	defer once.Close()
	if repeats(once) {
		t.Error("it is repeated though that is switched off")
	}
	c, _ := NewClient("mem:nowhere")
	defer c.Close()
	if !repeats(c) {
		t.Error("it is not repeated")
	}
	for {
		began := elapsed()
		for c.repeats.take(began) {
			continue
		}
		refused := !repeats(c)
		if elapsed()-began < 9*time.Second { // else some of them are forgotten already
			if !refused {
				t.Error("it is repeated beyond the budget")
			}
			return
		}
	}
}
