package load

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Result is what a run found, under the keys that every program that offers
// bench prints. Times are in microseconds; latencies cover all calls but
// the untimed, however they ended.
type Result struct {
	Calls   int64   `json:"calls"`
	Errors  int64   `json:"errors"` // how many of the calls failed
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"` // calls per second
	Mean    float64 `json:"mean_us"`
	P50     float64 `json:"p50_us"`
	P90     float64 `json:"p90_us"`
	P95     float64 `json:"p95_us"`
	P99     float64 `json:"p99_us"`
	P999    float64 `json:"p999_us"`
	Max     float64 `json:"max_us"`
	CPU     float64 `json:"cpu_us"`      // of this process, per call
	Allocs  float64 `json:"allocations"` // likewise

	// Of those calls alone that did not fail.
	AnsweredP50 float64 `json:"answered_p50_us"`
	AnsweredP99 float64 `json:"answered_p99_us"`

	// Attempts is how many there were for a call, if they were counted.
	Attempts float64 `json:"attempts,omitempty"`

	// FirstError is the first failure seen, nil when Errors is 0.
	FirstError error `json:"-"`
}

// keptUp is the share of the rate asked for that still counts as kept, as in the
// lab's reports: the last answer comes a little after the last call was due.
const keptUp = 0.97

// FellBehind reports whether an open loop of that rate was slower than asked.
func (r Result) FellBehind(rate float64) bool {
	return r.Calls > 0 && r.Rate < keptUp*rate
}

// Print writes the result as one line of JSON.
func (r Result) Print(w io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", line)
	return err
}

func (w *window) result() Result {
	answered := w.recorded
	all := newRecorder()
	all.merge(answered)
	all.merge(w.failed)
	timed := all.count
	calls := timed + w.untimed
	r := Result{
		Calls:      calls,
		Errors:     w.errors,
		Seconds:    round(w.seconds, 6),
		Max:        micros(all.max),
		FirstError: w.firstError,
	}
	if calls == 0 {
		return r
	}
	r.Rate = round(float64(calls)/w.seconds, 3)
	r.CPU = round(float64(w.cpu)/float64(calls)/1e3, 3)
	r.Allocs = round(float64(w.allocs)/float64(calls), 3)
	if timed == 0 {
		return r
	}
	r.Mean = micros(all.sum / time.Duration(timed))
	for percentile, field := range map[float64]*float64{50: &r.P50, 90: &r.P90, 95: &r.P95, 99: &r.P99, 99.9: &r.P999} {
		*field = micros(all.percentile(percentile))
	}
	r.AnsweredP50, r.AnsweredP99 = micros(answered.percentile(50)), micros(answered.percentile(99))
	return r
}

func micros(d time.Duration) float64 {
	return round(float64(d)/1e3, 3)
}

func round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

// recorder holds the latencies of a window: a histogram for the percentiles,
// and exact figures where they cost nothing.
type recorder struct {
	histogram *hdrhistogram.Histogram // in nanoseconds
	count     int64
	sum, max  time.Duration
}

// longest is the top of the histogram; what takes longer is filed there.
const longest = time.Hour

func newRecorder() recorder {
	return recorder{histogram: hdrhistogram.New(1, int64(longest), 3)}
}

func (r *recorder) add(samples []time.Duration) {
	for _, took := range samples {
		// A clock read on another core may lie a little in the past.
		took = max(took, 0)
		r.count++
		r.sum += took
		r.max = max(r.max, took)
		// Cannot fail: the value is within the histogram's range.
		_ = r.histogram.RecordValue(int64(min(took, longest)))
	}
}

func (r *recorder) merge(other recorder) {
	r.histogram.Merge(other.histogram)
	r.count += other.count
	r.sum += other.sum
	r.max = max(r.max, other.max)
}

// percentile is never above the maximum, although the histogram rounds up.
func (r *recorder) percentile(p float64) time.Duration {
	return min(time.Duration(r.histogram.ValueAtPercentile(p)), r.max)
}
