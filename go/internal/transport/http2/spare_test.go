package http2

import (
	"testing"
	"time"
)

// spends spends one by one until the allowance is used up, and says how many that were.
func (c *Conn) spends(t *testing.T) (n int) {
	t.Helper()
	for ; n < 10*c.config.Spare; n++ {
		if c.spendLocked(1, "frames") != nil {
			return n
		}
	}
	t.Fatal("there is no end of it")
	return n
}

func TestTheAllowanceOfFramesWithoutUseIsWhatIsStated(t *testing.T) {
	config := Config{Spare: 200}.Complete()
	for name, since := range map[string]time.Duration{"at once": 0, "after an hour of silence": time.Hour} {
		t.Run(name, func(t *testing.T) {
			c := &Conn{config: config, lastRead: int64(time.Hour)}
			c.spare.left, c.spare.since = config.Spare, c.lastRead
			c.lastRead += int64(since)
			if n := c.spends(t); n != 200 {
				t.Errorf("%d frames", n)
			}
			c.spare.left = 0
			c.lastRead += int64(50*time.Millisecond + 900*time.Microsecond)
			if n := c.spends(t); n != 50 {
				t.Errorf("%d frames after 50.9 ms", n)
			}
			c.spare.left = 0
			c.lastRead += int64(200 * time.Microsecond)
			if n := c.spends(t); n != 1 {
				t.Errorf("%d frames after another 0.2 ms", n)
			}
		})
	}
}
