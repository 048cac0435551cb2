package trunkcall

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Calls refused or cut off are records of two levels: a flood of those that a logger
// leaves out keeps back none of the others.
func TestRecordsAreCountedByLevel(t *testing.T) {
	var j journal
	for i := range journalRate + 5 {
		if _, ok := j.admit(1, journalKind{slog.LevelDebug, "call cut off"}); ok != (i < journalRate) {
			t.Fatal(i, ok)
		}
	}
	if leftOut, ok := j.admit(1, journalKind{slog.LevelWarn, "call cut off"}); !ok || leftOut != 0 {
		t.Error(leftOut, ok)
	}
	if leftOut, ok := j.admit(2, journalKind{slog.LevelDebug, "call cut off"}); !ok || leftOut != 5 {
		t.Error(leftOut, ok)
	}
}

// Records that find no place in the queue of a logger that blocks are counted as left out.
func TestRecordsThatALogHasNoPlaceForAreCounted(t *testing.T) {
	var out bytes.Buffer
	j := journal{logger: slog.New(slog.NewTextHandler(&out, nil))}
	entered, leave := make(chan struct{}), make(chan struct{})
	j.records.add(func() {
		close(entered)
		<-leave
	})
	<-entered
	for i := range longestSequence {
		j.log(slog.LevelInfo, fmt.Sprint("kind ", i))
	}
	for range 3 {
		j.log(slog.LevelInfo, "left")
	}
	close(leave)
	<-j.records.drained()
	j.log(slog.LevelInfo, "left")
	<-j.records.drained()
	if got := out.String(); strings.Count(got, "msg=left") != 1 || !strings.Contains(got, "msg=left left_out=3") {
		t.Error(got[len(got)-200:])
	}
}

// A caller can make handlers panic as often as it likes: nobody waits for those records, and they are counted
// as all others.
func TestRecordsOfPanicsAreCountedAndDelayNobody(t *testing.T) {
	var out bytes.Buffer
	j := journal{logger: slog.New(slog.NewTextHandler(&out, nil))}
	entered, leave := make(chan struct{}), make(chan struct{})
	j.records.add(func() {
		close(entered)
		<-leave
	})
	<-entered
	began := time.Now().Unix()
	for range 20 * journalRate {
		func() {
			defer func() { j.panicked("handler panicked", recover(), "method", "/p.S/M") }()
			panic("a fault")
		}()
	}
	seconds := time.Now().Unix() - began + 1
	if out.Len() > 0 {
		t.Error("who panicked has written the record")
	}
	close(leave)
	<-j.records.drained()
	got := out.String()
	if n := strings.Count(got, "handler panicked"); n == 0 || int64(n) > seconds*journalRate {
		t.Errorf("%d records in %d s", n, seconds)
	}
	for _, part := range []string{`panic="a fault"`, "method=/p.S/M", "TestRecordsOfPanics"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got[:min(len(got), 300)])
		}
	}
}
