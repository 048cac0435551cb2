package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var errBroken = errors.New("broken")

// counting makes callers that do nothing but count.
func counting(calls *atomic.Int64) Factory {
	return func(int) (Call, error) {
		return func() error { calls.Add(1); return nil }, nil
	}
}

func TestClosedLoopMakesExactlyTheCallsAskedFor(t *testing.T) {
	for _, calls := range []int64{1, 7, 1000, 100_003} {
		var made atomic.Int64
		result, err := Run(Config{Callers: 8, Calls: calls}, counting(&made))
		if err != nil {
			t.Fatal(err)
		}
		if made.Load() != calls || result.Calls != calls || result.Errors != 0 {
			t.Errorf("%d calls asked for: %d made, result %+v", calls, made.Load(), result)
		}
	}
}

func TestOpenLoopMakesExactlyTheCallsAskedFor(t *testing.T) {
	var made atomic.Int64
	result, err := Run(Config{Callers: 3, Calls: 500, Rate: 100_000}, counting(&made))
	if err != nil {
		t.Fatal(err)
	}
	if made.Load() != 500 || result.Calls != 500 {
		t.Errorf("500 calls asked for: %d made, result %+v", made.Load(), result)
	}
}

func TestOpenLoopMakesRateTimesDurationCalls(t *testing.T) {
	var made atomic.Int64
	result, err := Run(Config{Callers: 3, Duration: 50 * time.Millisecond, Rate: 4000}, counting(&made))
	if err != nil {
		t.Fatal(err)
	}
	if result.Calls != 200 {
		t.Errorf("%d calls, want 200", result.Calls)
	}
	// The last call is due at 49.75 ms, so a shorter run made calls early.
	if result.Seconds < 0.04975 {
		t.Errorf("the run took %v s: calls were made before they were due", result.Seconds)
	}
}

func TestClosedLoopEndsAfterItsDuration(t *testing.T) {
	var made atomic.Int64
	result, err := Run(Config{Callers: 2, Duration: 20 * time.Millisecond}, counting(&made))
	if err != nil {
		t.Fatal(err)
	}
	if result.Seconds < 0.02 || result.Calls == 0 || result.Calls != made.Load() {
		t.Errorf("%d calls made, result %+v", made.Load(), result)
	}
}

func TestAStallCountsAgainstAllWhoWaited(t *testing.T) {
	const stall = 100 * time.Millisecond
	var first sync.Once
	stalling := func(int) (Call, error) {
		return func() error { first.Do(func() { time.Sleep(stall) }); return nil }, nil
	}
	result, err := Run(Config{Callers: 1, Calls: 100, Rate: 1000}, stalling)
	if err != nil {
		t.Fatal(err)
	}
	// Calls were due every millisecond while the only caller stood still: they
	// waited from 99 ms downwards. A closed loop would have seen one slow call.
	if result.P50 < 40_000 {
		t.Errorf("the median is %v µs although half of the calls waited at least 50 ms", result.P50)
	}
	if result.Max < 100_000 {
		t.Errorf("the maximum is %v µs, shorter than the stall", result.Max)
	}
}

func TestFallingBehindIsSeen(t *testing.T) {
	for _, c := range []struct {
		result Result
		rate   float64
		behind bool
	}{
		{Result{Calls: 9, Rate: 860}, 1000, true},
		{Result{Calls: 9, Rate: 980}, 1000, false},
		{Result{Calls: 9, Rate: 1001}, 1000, false},
		{Result{Calls: 9, Rate: 860}, 0, false}, // the closed loop
		{Result{}, 1000, false},
	} {
		if got := c.result.FellBehind(c.rate); got != c.behind {
			t.Errorf("%v/s of %v/s: got %v", c.result.Rate, c.rate, got)
		}
	}
}

func TestWarmupIsNotCounted(t *testing.T) {
	var made atomic.Int64
	result, err := Run(Config{Callers: 4, Calls: 10, Warmup: time.Minute, WarmupCalls: 1000}, counting(&made))
	if err != nil {
		t.Fatal(err)
	}
	if made.Load() != 1010 || result.Calls != 10 {
		t.Errorf("%d calls made and %d counted, want 1010 and 10", made.Load(), result.Calls)
	}
}

func TestFailuresAreCounted(t *testing.T) {
	var made atomic.Int64
	everyThird := func(int) (Call, error) {
		return func() error {
			if made.Add(1)%3 == 0 {
				return errBroken
			}
			return nil
		}, nil
	}
	for name, rate := range map[string]float64{"closed loop": 0, "open loop": 10_000} {
		made.Store(0)
		result, err := Run(Config{Callers: 2, Calls: 30, Rate: rate}, everyThird)
		if err != nil {
			t.Fatal(err)
		}
		if result.Calls != 30 || result.Errors != 10 || !errors.Is(result.FirstError, errBroken) {
			t.Errorf("%s: %+v", name, result)
		}
	}
}

func TestUntimedCallsCountAndAreInNoLatency(t *testing.T) {
	for name, rate := range map[string]float64{"closed loop": 0, "open loop": 10_000} {
		var made atomic.Int64
		result, err := Run(Config{Callers: 1, Calls: 10, Rate: rate}, func(int) (Call, error) {
			return func() error {
				if made.Add(1) > 7 {
					time.Sleep(10 * time.Millisecond)
					return ErrUntimed
				}
				return nil
			}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if result.Calls != 10 || result.Errors != 0 || result.FirstError != nil {
			t.Errorf("%s: %+v", name, result)
		}
	}
	w := newWindow(0, time.Second, 1)
	c := &caller{}
	for range 3 {
		w.record(c, time.Millisecond, nil)
		w.record(c, time.Minute, ErrUntimed)
	}
	w.handIn(c)
	w.seconds = 2
	if r := w.result(); r.Calls != 6 || r.Rate != 3 || r.Mean != 1000 || r.Max != 1000 {
		t.Errorf("%+v", r)
	}
	all := newWindow(0, time.Second, 1)
	all.record(c, time.Minute, ErrUntimed)
	all.seconds = 1
	if r := all.result(); r.Calls != 1 || r.Max != 0 {
		t.Errorf("none timed: %+v", r)
	}
}

func TestFailingWarmupFailsTheRun(t *testing.T) {
	broken := func(int) (Call, error) {
		return func() error { return errBroken }, nil
	}
	if _, err := Run(Config{Callers: 1, Calls: 1, Warmup: time.Minute, WarmupCalls: 2}, broken); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

func TestFailingFactoryFailsTheRun(t *testing.T) {
	factory := func(caller int) (Call, error) {
		if caller == 3 {
			return nil, errBroken
		}
		return func() error { return nil }, nil
	}
	_, err := Run(Config{Callers: 5, Calls: 1}, factory)
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "caller 3") {
		t.Errorf("got %v", err)
	}
}

func TestBadConfigsAreTurnedDown(t *testing.T) {
	for name, config := range map[string]Config{
		"no callers":                {Calls: 1},
		"no end":                    {Callers: 1},
		"two ends":                  {Callers: 1, Calls: 1, Duration: 1},
		"a negative rate":           {Callers: 1, Calls: 1, Rate: -1},
		"a negative warm-up":        {Callers: 1, Calls: 1, Warmup: -1},
		"a negative number of runs": {Callers: 1, Calls: -1},
	} {
		if _, err := Run(config, counting(new(atomic.Int64))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPercentilesAreThoseOfTheSamples(t *testing.T) {
	w := newWindow(0, time.Second, 1)
	c := &caller{}
	for i := 1; i <= 10_000; i++ {
		w.record(c, time.Duration(i)*time.Microsecond, nil)
	}
	w.handIn(c)
	w.seconds = 2
	r := w.result()
	for name, figure := range map[string][2]float64{
		"mean": {r.Mean, 5000.5}, "p50": {r.P50, 5000}, "p90": {r.P90, 9000}, "p95": {r.P95, 9500},
		"p99": {r.P99, 9900}, "p99.9": {r.P999, 9990}, "max": {r.Max, 10_000}, "rate": {r.Rate, 5000},
	} {
		if got, want := figure[0], figure[1]; math.Abs(got-want) > want/1000 {
			t.Errorf("%s is %v, want %v to three digits", name, got, want)
		}
	}
}

func TestTimesOfAnsweredCallsAreToldApart(t *testing.T) {
	w := newWindow(0, time.Second, 1)
	c := &caller{}
	for i := range 100 {
		w.record(c, time.Duration(i+1)*time.Millisecond, nil)
		w.record(c, time.Second, errBroken)
	}
	w.handIn(c)
	r := w.result()
	for name, figure := range map[string][2]float64{
		"p50": {r.AnsweredP50, 50_000}, "p99": {r.AnsweredP99, 99_000}, "p99 of all": {r.P99, 1e6}, "max": {r.Max, 1e6}, "mean": {r.Mean, 525_250},
	} {
		if got, want := figure[0], figure[1]; math.Abs(got-want) > want/1000 {
			t.Errorf("%s is %v, want %v to three digits", name, got, want)
		}
	}
	if r.Calls != 200 || r.Errors != 100 {
		t.Errorf("%+v", r)
	}
}

func TestOddSamplesAreKept(t *testing.T) {
	w := newWindow(0, time.Second, 1)
	c := &caller{}
	w.record(c, -time.Nanosecond, nil)
	w.record(c, 2*longest, nil)
	w.handIn(c)
	if r := w.result(); r.Calls != 2 || r.Max != micros(2*longest) {
		t.Errorf("%+v", r)
	}
}

func TestResultIsOneLineWithTheKeysInOrder(t *testing.T) {
	var out bytes.Buffer
	if err := (Result{FirstError: errBroken}).Print(&out); err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(out.String(), "\n")
	if rest != "" {
		t.Errorf("more than one line: %q", out.String())
	}
	var keys []string
	decoder := json.NewDecoder(strings.NewReader(line))
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		if key, isString := token.(string); isString {
			keys = append(keys, key)
		}
	}
	want := "calls errors seconds rate mean_us p50_us p90_us p95_us p99_us p999_us max_us cpu_us allocations answered_p50_us answered_p99_us"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("keys %s\nwant %s", got, want)
	}
}

func BenchmarkClosedLoopOverhead(b *testing.B) {
	b.ReportAllocs()
	result, err := Run(Config{Callers: 1, Calls: int64(b.N)}, counting(new(atomic.Int64)))
	if err != nil || result.Calls != int64(b.N) {
		b.Fatal(result, err)
	}
}

func TestAsynchronousCallsAreMadeExactlyAsAskedFor(t *testing.T) {
	for _, rate := range []float64{0, 50_000} {
		var made atomic.Int64
		result, err := RunAsync(Config{Callers: 7, Calls: 1000, Rate: rate}, func(int) (AsyncCall, error) {
			return func(ended func(error)) {
				made.Add(1)
				go ended(nil)
			}, nil
		})
		if err != nil || result.Calls != 1000 || made.Load() != 1000 || result.Errors != 0 {
			t.Errorf("at rate %v: %+v, %d made, %v", rate, result, made.Load(), err)
		}
	}
}
