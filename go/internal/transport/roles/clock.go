package roles

import "time"

var clockBase = time.Now()

// Clock is the time that connections reckon with: nanoseconds on a monotonic
// scale.
func Clock() int64 { return int64(time.Since(clockBase)) }

// TimeOf turns such a time into one of package time, with its monotonic reading.
func TimeOf(clock int64) time.Time { return clockBase.Add(time.Duration(clock)) }
