package benchmsg

import (
	"flag"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// with has the handlers be of a kind for the length of a test.
func with(t *testing.T, kind string) {
	t.Helper()
	t.Cleanup(func() { handle = nil })
	if err := parse("--handler", kind); err != nil {
		t.Fatal(err)
	}
}

func parse(args ...string) error {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	HandlerFlags(fs)
	return fs.Parse(args)
}

func TestEveryKindOfHandlerAnswers(t *testing.T) {
	for _, h := range handlers {
		t.Run(h.name, func(t *testing.T) {
			with(t, h.name)
			var running sync.WaitGroup
			for range 20 {
				running.Go(func() {
					for range 20 {
						if number := Work(); number != AnswerNumber && (number != AnswerLong || h.name != "compute") {
							t.Errorf("the answer's number is %d", number)
						}
					}
				})
			}
			running.Wait()
		})
	}
}

func TestOneHandlerInAHundredComputes(t *testing.T) {
	with(t, "compute")
	long := 0
	for range 300 {
		if Work() == AnswerLong {
			long++
		}
	}
	if long != 3 {
		t.Errorf("%d of 300 computed for long, want 3", long)
	}
}

func TestHandlersThatWaitTakeThatLong(t *testing.T) {
	for kind, least := range map[string]time.Duration{"wait": time.Millisecond, "wait5": 5 * time.Millisecond} {
		with(t, kind)
		began := time.Now()
		Work()
		if took := time.Since(began); took < least {
			t.Errorf("%s took %v", kind, took)
		}
	}
}

func TestFlagsOfHandlersNameWhatTheyTake(t *testing.T) {
	for args, want := range map[string]string{
		"--handler nothing": "want one of plain, yield, handover",
		"--busy -1":         "want a number from 0 to",
		"--busy many":       "want a number from 0 to",
		"--busy 1000000":    "want a number from 0 to",
	} {
		if err := parse(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", args, err)
		}
	}
	if err := parse("--busy", "0"); err != nil {
		t.Error(err)
	}
}
