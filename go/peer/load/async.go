package load

import "time"

// AsyncCall makes one call and returns at once; ended is called when it has
// ended.
type AsyncCall func(ended func(error))

// AsyncFactory prepares the calls of one caller, as Factory does.
type AsyncFactory func(caller int) (AsyncCall, error)

// RunAsync is Run for calls that nobody waits for: in the closed loop, and so in
// the warm-up, the end of one call starts the caller's next.
func RunAsync(config Config, factory AsyncFactory) (Result, error) {
	return config.run((*window).asyncLoop, func(i int) (*caller, error) {
		start, err := factory(i)
		return &caller{start: start, call: func() error {
			ended := make(chan error, 1)
			start(func(err error) { ended <- err })
			return <-ended
		}}, err
	})
}

// asyncLoop is closedLoop without a goroutine that waits for each call: only for
// the last.
func (w *window) asyncLoop(c *caller) {
	granted := w.take()
	if granted == 0 {
		return
	}
	over := make(chan struct{})
	last := time.Since(w.start)
	var ended func(error)
	ended = func(err error) {
		last = w.ended(c, last, err)
		if granted--; granted == 0 {
			granted = w.take()
		}
		if granted == 0 || w.duration > 0 && last >= w.duration {
			close(over)
			return
		}
		c.start(ended)
	}
	c.start(ended)
	<-over
}
