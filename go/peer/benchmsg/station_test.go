package benchmsg

import (
	"context"
	"errors"
	"flag"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stationed has handlers be of a server with these flags for the length of a test.
func stationed(t *testing.T, args ...string) error {
	t.Helper()
	reset := func() { station.work, station.number, station.trouble, station.slots = 0, 0, "", nil }
	reset()
	t.Cleanup(reset)
	station.calls.Store(0)
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	StationFlags(fs)
	if err := fs.Parse(args); err != nil {
		return err
	}
	return OpenStation()
}

func TestAStationTakesAsManyCallsAsItHasSlots(t *testing.T) {
	for trouble, want := range map[string]time.Duration{"": 50 * time.Millisecond, "--trouble=slow": 500 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			args := []string{"--work", "10ms", "--slots", "2"}
			if trouble != "" {
				args = append(args, trouble)
			}
			if err := stationed(t, args...); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			var running sync.WaitGroup
			for range 10 {
				running.Go(func() {
					if err := Station(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
			running.Wait()
			if took := time.Since(began); took != want {
				t.Errorf("%q: ten calls took %v, want %v", trouble, took, want)
			}
		})
	}
}

func TestAStationInTroubleAnswersLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if err := stationed(t, "--work", "10ms", "--slots", "1", "--trouble", "failing"); err != nil {
			t.Fatal(err)
		}
		if err := Station(context.Background()); !errors.Is(err, ErrFailing) {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		if err := stationed(t, "--work", "10ms", "--slots", "1", "--trouble", "half-dead"); err != nil {
			t.Fatal(err)
		}
		answered := 0
		for range 10 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			if err := Station(ctx); err == nil {
				answered++
			} else if !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
		if answered != 5 {
			t.Errorf("%d of 10 calls were answered", answered)
		}
	})
}

func TestStationsWantWorkAndSlots(t *testing.T) {
	for _, args := range [][]string{{"--slots", "1"}, {"--work", "1ms"}, {"--trouble", "slow"}, {"--slots", "-1", "--work", "1ms"}, {"--slots", "1", "--work", "1ms", "--trouble", "dull"}} {
		if err := stationed(t, args...); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	if err := stationed(t); err != nil || HasStation() {
		t.Errorf("without flags there is a station, or %v", err)
	}
}
