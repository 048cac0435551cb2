//go:build !unix

package ledger

import "time"

var start = time.Now()

// now is a monotonic clock in nanoseconds. It is this process's own: ledgers of
// different processes cannot be laid beside each other here.
func now() int64 { return int64(time.Since(start)) + 1 }
