//go:build !linux

package load

import "time"

// alarm falls back on the runtime's timers where there is no timerfd. They are
// coarser, which shows in the latencies of an open loop on an idle machine.
type alarm struct{}

func newAlarm() (*alarm, error) { return &alarm{}, nil }

func (*alarm) sleep(d time.Duration) { time.Sleep(d) }

func (*alarm) close() {}
