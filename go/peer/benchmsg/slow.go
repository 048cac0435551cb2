package benchmsg

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// slow has some of the handlers of Say take their time, as handlers that wait
// for a database do: one in every handlers waits, asleep, for wait. It is set
// once, before anything is served.
var slow struct {
	every uint64 // 0: none
	wait  time.Duration
	calls atomic.Uint64
}

// SlowFlag registers --slow, which every server under measurement has.
func SlowFlag(fs *flag.FlagSet) {
	fs.Func("slow", "have a share of Say's handlers wait: `SHARE:TIME`, as 0.01:5ms", setSlow)
}

func setSlow(text string) error {
	first, second, _ := strings.Cut(text, ":")
	share, shareErr := strconv.ParseFloat(first, 64)
	wait, waitErr := time.ParseDuration(second)
	if shareErr != nil || waitErr != nil || !(share > 0 && share <= 1) || wait <= 0 {
		return fmt.Errorf("want SHARE:TIME with a share above 0 and up to 1, such as 0.01:5ms")
	}
	slow.every, slow.wait = uint64(1/share+0.5), wait
	return nil
}

// Work is what a handler of Say does besides its answer: nothing, or wait.
func Work() {
	if slow.every != 0 && slow.calls.Add(1)%slow.every == 0 {
		time.Sleep(slow.wait)
	}
}
