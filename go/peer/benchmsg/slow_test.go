package benchmsg

import (
	"flag"
	"io"
	"testing"
	"time"
)

func TestSlowTakesAShareAndATime(t *testing.T) {
	defer func() { slow.every, slow.wait = 0, 0 }()
	for text, want := range map[string]uint64{"0.01:5ms": 100, "1:1ms": 1, "0.25:2s": 4} {
		if err := parse(text); err != nil || slow.every != want {
			t.Errorf("--slow %s: every %d, %v; want every %d", text, slow.every, err, want)
		}
	}
	for _, text := range []string{"", "0.01", "5ms", "0:5ms", "2:5ms", "-1:5ms", "NaN:5ms", "0.01:0s", "0.01:-1ms", "a:b"} {
		if err := parse(text); err == nil {
			t.Errorf("--slow %q was taken", text)
		}
	}
}

func TestOneHandlerInSoManyWaits(t *testing.T) {
	defer func() { slow.every, slow.wait = 0, 0 }()
	slow.every, slow.wait = 3, time.Millisecond
	slow.calls.Store(0)
	waited := 0
	for range 9 {
		began := time.Now()
		Work()
		if time.Since(began) >= time.Millisecond {
			waited++
		}
	}
	if waited < 3 { // more if the machine is busy
		t.Errorf("%d of 9 handlers waited, want 3", waited)
	}
}

func parse(text string) error {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	SlowFlag(fs)
	return fs.Parse([]string{"--slow", text})
}
