//go:build !unix

package load

import "time"

// processCPU is not measured here; cpu_us then reads 0.
func processCPU() time.Duration { return 0 }
