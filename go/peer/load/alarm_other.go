//go:build !linux

package load

import "time"

// Alarm falls back on the runtime's timers where there is no timerfd. They are
// coarser, which shows in the latencies of an open loop on an idle machine.
type Alarm struct{}

// NewAlarm makes an alarm, to be closed.
func NewAlarm() (*Alarm, error) { return &Alarm{}, nil }

// Sleep returns when the time has passed.
func (*Alarm) Sleep(d time.Duration) { time.Sleep(d) }

// Close gives the alarm up.
func (*Alarm) Close() {}
