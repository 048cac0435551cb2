package transport

import (
	"testing"
	"time"
)

func TestAMessageUnderWayHasTimeByWhatHasPassed(t *testing.T) {
	var u UnderWay
	u.Begin(1_000)
	u.Pass(3<<16 + 5)
	u.Wait(int64(time.Minute))
	if got, want := u.By(time.Minute), 1_000+int64(2*time.Minute+3*time.Second); got != want {
		t.Errorf("it must have passed by %d, not %d", got, want)
	}
}

// As when a peer gets credit again between two messages.
func TestNothingUnderWayIsNotLateForHavingWaited(t *testing.T) {
	var u UnderWay
	u.Wait(int64(time.Second))
	if u.Began() || u.By(time.Minute) != 0 {
		t.Errorf("a message that never began is under way: %+v", u)
	}
}
