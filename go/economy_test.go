package trunkcall

import (
	"testing"
	"time"
)

// outcome is a try as measured: bytes before and after, and time.
type outcome struct {
	plain, packed int
	took          time.Duration
}

var (
	good     = outcome{10_000, 5_000, 100 * time.Microsecond}      // saves 400 µs
	hardly   = outcome{10_000, 8_751, time.Microsecond}            // saves less than an eighth
	slow     = outcome{10_000, 5_000, 401 * time.Microsecond}      // saves less than it takes
	larger   = outcome{10_000, 10_020, 10 * time.Microsecond}      // random bytes
	justGood = outcome{10_000, 8_750, 1250 * 80 * time.Nanosecond} // an eighth, in just the time that saves
)

// send sends n messages with the same outcome and returns how many were tried.
func send(e *economy, n int, o outcome) (tried int) {
	for range n {
		if e.tries() {
			tried++
			e.note(o.plain, o.packed, o.took)
		}
	}
	return tried
}

func TestCompressingGoesOnWhileItPays(t *testing.T) {
	for _, o := range []outcome{good, justGood} {
		if n := send(newEconomy(), 1000, o); n != 1000 {
			t.Errorf("%+v: %d of 1000 tried", o, n)
		}
	}
}

func TestCompressingStopsWhereItDoesNotPay(t *testing.T) {
	for name, o := range map[string]outcome{"hardly": hardly, "slow": slow, "larger": larger} {
		e := newEconomy()
		if n := send(e, firstTrust, o); n != firstTrust {
			t.Errorf("%s: %d tried at first", name, n)
		}
		if n := send(e, firstRest, o); n != 0 {
			t.Errorf("%s: %d tried after that", name, n)
		}
		if n := send(e, 1, o); n != 1 {
			t.Errorf("%s: not tried again", name)
		}
		if n := send(e, 2*firstRest, o); n != 0 {
			t.Errorf("%s: the pause did not double", name)
		}
		if n := send(e, 100_000, o); n < 90 || n > 105 {
			t.Errorf("%s: %d of 100000 tried", name, n)
		}
	}
}

func TestCompressingBeginsAgainWhenItPaysAgain(t *testing.T) {
	e := newEconomy()
	send(e, 100_000, larger)
	send(e, longest, good) // some of these are sent plain
	if n := send(e, 1000, good); n != 1000 {
		t.Errorf("%d of 1000 tried", n)
	}
	if n := send(e, mostTrust+firstRest+1, larger); n != mostTrust+1 {
		t.Errorf("%d tried: the pause did not begin anew", n)
	}
}

func TestNowAndThenAMessageMayNotShrink(t *testing.T) {
	e, tried := newEconomy(), 0
	for range 1000 {
		tried += send(e, 2, good) + send(e, 1, larger)
	}
	if tried != 3000 {
		t.Errorf("%d of 3000 tried", tried)
	}
}

func TestWhatShrankIsSentThoughItTookLong(t *testing.T) {
	e := newEconomy()
	for o, worth := range map[outcome]bool{good: true, slow: true, justGood: true, hardly: false, larger: false} {
		if got := e.note(o.plain, o.packed, o.took); got != worth {
			t.Errorf("%+v: %v", o, got)
		}
	}
}

func TestEachMethodHasAnEconomyOfItsOwn(t *testing.T) {
	var all economies
	send(all.of("/a/A"), 100, larger)
	if n := send(all.of("/a/B"), 10, good); n != 10 {
		t.Errorf("%d tried", n)
	}
	if n := send(all.of("/a/A"), 3, good); n != 0 {
		t.Errorf("%d tried", n)
	}
	for i := range 3 * maxNames {
		all.of(string(rune('a'+i%26)) + time.Duration(i).String())
	}
	n := 0
	all.byMethod.Range(func(any, any) bool { n++; return true })
	if n != maxNames {
		t.Errorf("%d are kept", n)
	}
}
