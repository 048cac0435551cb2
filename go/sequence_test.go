package trunkcall

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// What an observer is not told, because too many events wait behind one that it blocks
// on, is counted and logged.
func TestEventsThatAnObserverHasNoPlaceForAreTold(t *testing.T) {
	var out bytes.Buffer
	entered, leave, told := make(chan struct{}, 1), make(chan struct{}), 0
	c, _ := NewClient("127.0.0.1:1", WithLogger(slog.New(slog.NewTextHandler(&out, nil))), WithObserver(Observer{
		ConnectFailed: func(string, error) {
			if told++; told == 1 {
				entered <- struct{}{}
				<-leave
			}
		},
	}))
	defer c.Close()
	failed := errors.New("failed")
	c.options.connectFailed(&c.events, "somewhere", failed)
	<-entered
	for range longestSequence + 3 {
		c.options.connectFailed(&c.events, "somewhere", failed)
	}
	if n := c.Gauges().DroppedEvents; n != 3 {
		t.Errorf("%d events are counted as dropped, want 3", n)
	}
	close(leave)
	<-c.events.drained()
	<-c.options.journal.records.drained()
	if told != longestSequence+1 {
		t.Errorf("%d events were told", told)
	}
	if got := out.String(); !strings.Contains(got, `level=WARN msg="observer events dropped" so_far=3`) {
		t.Error(got)
	}
}
