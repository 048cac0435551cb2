package benchmsg

import (
	"flag"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"
)

// BusyFlag registers --busy, which every program under measurement has: as many
// goroutines do other work beside its own for as long as it runs.
func BusyFlag(fs *flag.FlagSet) {
	fs.Func("busy", "keep `N` goroutines of this process busy with other work", func(text string) error {
		count, err := strconv.Atoi(text)
		if err != nil || count < 0 || count > maxBusy {
			return fmt.Errorf("want a number from 0 to %d", maxBusy)
		}
		for range count {
			go func() {
				for {
					compute(time.Second)
				}
			}()
		}
		return nil
	})
}

const maxBusy = 1000

// computed keeps the compiler from leaving the computing out.
var computed atomic.Uint64

// compute works for about as long, if nothing else takes the processor: the same
// amount of work whatever else runs, and so equal for all who are measured.
func compute(about time.Duration) {
	const rounds = 0.6 // in a nanosecond
	x := uint64(1)
	for range int64(float64(about) * rounds) {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	computed.Store(x)
}
