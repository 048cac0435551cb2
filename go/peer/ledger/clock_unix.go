//go:build unix

package ledger

import "golang.org/x/sys/unix"

// now is the machine's monotonic clock in nanoseconds, the same in all of its
// processes.
func now() int64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &at); err != nil {
		return 0
	}
	return at.Nano()
}
